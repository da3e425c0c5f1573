"""verify: compare the behaviour of an output with upstream's."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from builder.cli import options, output
from builder.emit.place import no_parent
from builder.errors import GATE_FAILED, Problem, fail
from builder.upstream.cache import default_cache

if TYPE_CHECKING:
    from verification.results import Check

_SHOWN = 12  # lines of a failed check, for people


@click.command("verify")
@options.upstream_without_argument
@options.path_option("--out", default="dist", metavar="DIR", help="The output folder to verify.")
@click.option(
    "--check", "checks", multiple=True, metavar="NAME", help="Only this check; an unknown name lists all."
)
@click.option(
    "--only", multiple=True, metavar="NAME",
    help="Only forward passes and servers whose names start with this.",
)  # fmt: skip
@click.option("--quick", is_flag=True, help="Run only a small set of forward passes.")
@click.option(
    "--upstream-tree", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="DIR",
    help="Upstream's tree in a folder, instead of looking for the commit that build.json names.",
)  # fmt: skip
@click.option(
    "--jobs", type=click.IntRange(1), default=os.cpu_count() or 1, help="Number of parallel processes."
)
@click.option("--interpreter", default=sys.executable, metavar="FILE", help="Python 3.11 or newer.")
@options.path_option("--work", metavar="DIR", help="Keep logs and answers in this folder.")
@options.path_option(
    "--evidence", help="Where the result is written (by default verification.json beside DIR)."
)
@click.option(
    "--coverage", is_flag=True,
    help="Also write coverage.json and coverage.md beside the result: what the checks execute of the output.",
)  # fmt: skip
@click.option(
    "--mutants", type=click.IntRange(1), default=200, show_default=True, metavar="COUNT",
    help="How many random mutants the check `mutants` draws.",
)  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, help="The seed of the draw.")
def command(
    out: Path,
    checks: tuple[str, ...],
    only: tuple[str, ...],
    quick: bool,
    upstream_tree: Path | None,
    evidence: Path | None,
    **others: Any,
) -> None:
    """Import, start and run an output beside the upstream that it was made from; exit status 1 when they
    differ. No GPU is needed. The environment for it is created once, in the cache."""
    harness_options = {name: others.pop(name) for name in ("coverage", "jobs", "mutants", "seed", "work")}
    interpreter = others.pop("interpreter")
    request = options.ask(**others)
    _find_harness()

    from verification import coverage, matrix, run, servers, subjects
    from verification.evidence import NAME, statement
    from verification.page import page
    from verification.results import FAILED

    for name in checks:
        if name not in run.CHECKS:
            raise click.UsageError(f"'{name}' is no check; the checks are {', '.join(run.CHECKS)}")
    try:
        built = subjects.output(out)
    except (OSError, KeyError, ValueError):
        raise fail("C001", f"'{out}' holds no output of the builder.", hint="run `dist` first") from None
    for name in only:
        if not matrix.chosen((name,)) and not servers.chosen((name,)):
            raise click.UsageError(f"no forward pass and no server has a name that starts with '{name}'")
    place = evidence or out.resolve().parent / NAME
    folder = os.fsencode(place.absolute().parent)
    if not os.path.isdir(folder):
        raise no_parent(place, folder, "the evidence", "give another --evidence")
    package = coverage.PACKAGE.partition("/")[0]
    if package not in request.manifest.packages:
        message = f"`verify` runs the package {package}, which this manifest does not build."
        raise fail("E003", message, hint="run the project's own tests on OUT/tree")
    cache = (request.cache or default_cache()).absolute() / "verification"
    upstream = _upstream(request, built, upstream_tree, cache)
    ours = subjects.ours(out)
    checks = checks or tuple(name for name in run.CHECKS if name not in run.SLOW)
    chosen = matrix.chosen(only, quick), servers.chosen(only)
    plan = run.Plan(checks, *chosen, cache=cache, python=interpreter, **harness_options)
    output.stage("verifying")
    results, harness, executed = run.run(plan, built, upstream, ours, _tell)
    left_out = run.left_out(plan)
    if executed is not None:
        _write_coverage({"upstream": built.upstream, "tree": built.tree, **executed}, place.parent)
    data = statement(built, upstream, ours, results, left_out, harness)
    place.write_bytes(data)
    as_page = page(f"Verification of {built.upstream}", [json.loads(data)])
    place.with_suffix(".md").write_text(as_page, "utf-8")
    for what, why in left_out.items():
        output.note(f"not run: {what} ({why})")
    output.note(f"evidence: {place}, as a page: {place.with_suffix('.md').name}")
    if output.settings.form != "human":
        output.show([Problem("G013", line) for line in run.problems(results)])
    if any(check.verdict == FAILED for check in results):
        sys.exit(GATE_FAILED)


def _write_coverage(known: Mapping[str, Any], folder: Path) -> None:
    from verification import coverage

    place = folder / coverage.NAME
    place.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", "utf-8")
    place.with_suffix(".md").write_text(coverage.page(known), "utf-8")
    output.note(f"coverage: {place}, as a page: {place.with_suffix('.md').name}")


def _find_harness() -> None:
    """Make `verification` importable: it is not part of an installed builder, only of the repository."""
    root = Path(__file__).resolve().parents[2]
    if not (root / "verification" / "requirements.txt").exists():
        message = "The package `verification` is missing: `verify` runs only from the builder's repository."
        raise fail("E003", message)
    sys.path.insert(0, str(root))


def _upstream(request: options.Request, built: Any, folder: Path | None, cache: Path) -> Any:
    from verification import subjects

    if folder is not None:
        return subjects.Subject("upstream", folder.resolve(), subjects.tree_of(folder.resolve()).id)
    resolved = options.resolve(replace(request, upstream=built.upstream))
    return subjects.upstream(resolved.tree, resolved.blobs.read, cache)


def _tell(check: Check) -> None:
    """Print a line for a check, and its problems."""
    from verification.run import problems

    counts = ", ".join(f"{count} {verdict}" for verdict, count in check.counts.items() if count)
    output.note(f"{check.verdict:8} {check.name}: {counts or 'nothing ran'}")
    wrong = problems([check])
    for line in wrong[:_SHOWN]:
        output.note(f"         {line}")
    if len(wrong) > _SHOWN:
        output.note(f"         ... and {len(wrong) - _SHOWN} more lines, in the evidence")
