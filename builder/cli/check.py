"""check: say what is wrong with the manifest and the files beside it, in a second and without a build."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from builder.cli import options, output
from builder.errors import BuildError

if TYPE_CHECKING:
    from builder.manifest.model import Manifest
    from builder.pipeline.ranges import About
    from builder.select.rules import Selection
    from builder.upstream.model import Upstream


@click.command("check")
@options.upstream_options
def command(**shared: Any) -> None:
    """Check the manifest with its overlays and its lock: what is written, what it names, whether Python and
    patches of ours can be read. With UPSTREAM, also that every path rule matches a path of it and every path
    has a rule. Nothing is cut; `plan` finds the rest."""
    from builder.emit import lock
    from builder.overlay import sound

    request = options.ask(**shared)
    manifest = request.manifest
    lock.every_scope(request.root)
    problems = list(sound.problems(manifest))
    rules = sum(len(batch.rules) for batch in manifest.batches)
    edits = sum(len(batch.edits) + len(batch.files) + len(batch.patches) for batch in manifest.batches)
    if shared["upstream"]:
        from builder.pipeline.ranges import mistakes

        selection, asked, _ = verdicts(request, options.resolve(request, quiet=True))
        problems += mistakes(selection.problems, asked)
    if problems:
        raise BuildError(problems)
    batches = len(manifest.batches) - 1
    if output.settings.form == "json":
        output.data({"problems": [], "batches": batches, "rules": rules, "edits": edits})
    output.note(f"{manifest.file}: {batches} batches, {rules:,} path rules and {edits:,} edits are in order")


def verdicts(request: options.Request, upstream: Upstream) -> tuple[Selection, Manifest, About]:
    """What the path rules decide at an upstream, of which only the names are read; the statements that must
    match there, and what is known of it."""
    from builder.pipeline.prune import partial_paths, require_project
    from builder.pipeline.ranges import about, excused
    from builder.select.families import with_paths
    from builder.select.rules import select

    require_project(upstream.tree, request.manifest)
    known = about(upstream, request.manifest, request.off)
    within = partial_paths(upstream.tree, request.manifest.upstream.project.folder, known.kind)
    asked = excused(request.manifest, known, within)
    return select(upstream.tree, with_paths(asked, upstream.tree), within=within), asked, known
