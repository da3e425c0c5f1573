"""init: write a first manifest for a project, one that keeps everything, and build it once."""

from __future__ import annotations

import contextlib
import os
import shlex
from dataclasses import replace
from pathlib import Path

import click

from builder.cli import options, output, stages
from builder.errors import BuildError, fail
from builder.templates import filled


@click.command("init")
@click.argument("source", default=".", metavar="[SOURCE]")
@options.path_option(
    "--out", default="manifest.yaml", help="The manifest to write; a file that is there is never replaced."
)
@click.option("--no-build", is_flag=True, help="Write the manifest without building it.")
@options.CACHE
@options.OFFLINE
@options.PYTHON
@options.FORMAT
def command(
    source: str, out: Path, no_build: bool, cache: Path | None, offline: bool, python: str | None, form: str
) -> None:
    """Write a manifest for the project in SOURCE (a repository PATH or PATH@REF, by default the current
    folder, or pypi:NAME==VERSION) that keeps everything, and build it once with every gate.

    The manifest names packages, roots from entry points and imports by value; comments list what its
    conditions ask most and its registries.
    """
    output.settings.form = form
    from builder.analysis.indexed_tree import world
    from builder.manifest.load import load, parse, read_overlays, read_schema
    from builder.scaffold import project
    from builder.scaffold import source as sources
    from builder.scaffold.survey import survey, unimported
    from builder.scaffold.text import NO_REPOSITORY, manifest_text
    from builder.upstream.cache import default_cache
    from builder.upstream.model import snapshot

    if out.exists() or out.is_symlink():
        raise _taken(out)
    output.stage(f"looking for {source}")
    upstream, origin, name, mirror = sources.find(source, cache or default_cache(), offline, python)
    output.note(f"upstream {source}: {upstream.origin}")
    output.stage("reading")
    files = snapshot(upstream)
    described = project.find(files, name)
    if origin.repository == NO_REPOSITORY and described.repository:
        origin = replace(origin, repository=described.repository)
    tree = world(files, described.packages)
    seen = survey(tree, described.packages, described.entries, described.extras)
    first = manifest_text(described, seen, files, origin)
    beside = out.resolve().parent
    # what lies beside the manifest is part of it: a fault there stops before anything is written
    overlays, others = read_overlays(beside)
    manifest = parse(first.encode(), out.name, overlays, read_schema(beside), others)
    text = manifest_text(described, seen, files, origin, unimported(tree, manifest))
    _write(out, text)
    names = " and ".join(described.packages)
    output.note(f"manifest {out}: {names}, {len(files):,} files, all kept")
    request = options.Request(load(out), (), origin.pin, mirror, cache, offline, python, beside)
    same = None if no_build else _build(request)
    if form == "json":
        packages = dict(described.packages)
        output.data({"manifest": str(out), "packages": packages, "tree": upstream.tree.id, "same": same})
        return
    for line in _next_steps(out, mirror, bool(seen.dynamic)):
        output.note(line)


def _taken(out: Path) -> BuildError:
    hint = "name another file with --out"
    return fail("C001", f"{out} is there already, and init replaces no file.", hint=hint)


def _write(out: Path, text: str) -> None:
    """Write the file whole, unless one is there. Raises BuildError C001, E002."""
    part = out.with_name(f".{out.name}.{os.getpid()}.new")
    try:
        part.write_text(text, "utf-8")
        os.link(part, out)  # unlike a renaming, it never replaces
    except FileExistsError:
        raise _taken(out) from None
    except OSError as error:
        raise fail("E002", f"{out} cannot be written: {error.strerror or error}.") from None
    finally:
        with contextlib.suppress(OSError):
            part.unlink()


def _build(request: options.Request) -> bool:
    """Build the manifest once: whether the output is upstream's tree. Raises BuildError."""
    output.stage("building it once")
    upstream = options.resolve(request, quiet=True)
    done = stages.recalled_outcome(request, upstream)
    stages.build_of(request, upstream, proves=True).assemble(done)
    same = done.cut.output.tree.id == upstream.tree.id
    verdict = "is upstream's tree" if same else f"is not upstream's tree {upstream.tree.id}"
    output.note(f"build: every gate accepts it; its tree {done.cut.output.tree.id} {verdict}")
    return same


def _next_steps(out: Path, mirror: Path | None, dynamic: bool) -> list[str]:
    """What to do next, as a person types it. `dynamic`: the manifest lists imports by value."""
    more = "" if out == Path("manifest.yaml") else f" --manifest {shlex.quote(str(out))}"
    more += f" --mirror {shlex.quote(str(mirror))}" if mirror is not None else ""
    first = "say what each import under `dynamic` loads, and " if dynamic else ""
    return filled("next-steps.txt", more=more, out=out, first=first).splitlines()
