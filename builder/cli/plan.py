"""plan: show what dist would change in the output folder, without writing anything."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from builder.cli import options, output, stages
from builder.emit import write
from builder.emit.figures import CODE, extensions, verdict_counts
from builder.emit.marker import read_previous
from builder.errors import CHANGES_PENDING
from builder.pipeline.answers.answer import plural
from builder.pipeline.changes import SIGNS, Changes, changes
from builder.pipeline.measure import Figures
from builder.templates import ABSENT, THERE, filled

#: How many gains and losses of the surface are printed.
_MAX_LISTED = 20


@click.command("plan")
@options.upstream_options
@options.path_option("--out", default="dist", metavar="DIR", help="The output folder to compare with.")
@click.option("--paths", is_flag=True, help="Name every path.")
def command(out: Path, paths: bool, **shared: Any) -> None:
    """Show what a build would change in OUT: files by batch, and what the surface gains and loses.

    Where OUT holds no build, show what each batch removes from upstream, edits and adds, with line counts.

    Exit status 0: OUT already holds this build; 3: it does not.
    """
    request = options.ask(**shared)
    upstream = options.resolve(request)
    done = stages.recalled_outcome(request, upstream)
    figures = done.figures
    pending = not write.unchanged(out, stages.build_of(request, upstream).key)
    previous = read_previous(out)
    difference = changes(previous, done.cut, figures.rows, request.manifest) if previous else None
    output.stage("")
    if output.settings.form == "json":
        _as_json(figures, done.cut.output.tree.id, pending, paths, difference)
    elif previous is None or difference is None:
        click.echo(_as_table(figures, paths, out, len(done.cut.output)), nl=False)
    else:
        code = figures.lines[CODE]["after"]
        click.echo(_as_difference(difference, paths, code, out, previous.changed, pending), nl=False)
    if pending:
        sys.exit(CHANGES_PENDING)


def _as_difference(
    difference: Changes, paths: bool, code: int, out: Path, edited: Sequence[str], pending: bool
) -> str:
    """The differences by batch or by path, what the surface gains and loses, and the totals; why an output is
    written again although the build is the same."""
    totals, gains = difference.totals, Counter(sign for sign, *_ in difference.surface)
    surface = [(sign, text + (f"  [{why}]" if why else "")) for sign, text, why in difference.surface]
    shown = surface if paths else surface[:_MAX_LISTED]
    counts = totals["-"], totals["~"], gains["+"], gains["-"], code
    by_batch = () if paths else sorted(difference.by_batch.items())
    blocks: dict[str, Iterable[Sequence[object]]] = {
        "paths": difference.paths if paths else ABSENT,
        "batches": [(batch, *(number[sign] for sign in SIGNS)) for batch, number in by_batch],
        "nothing": ABSENT if difference else THERE,
        "surface": shown,
        "more": [(len(surface) - len(shown),)] if shown != surface else ABSENT,
        "totals": [(plural(totals["+"], "file"), *counts)] if difference else ABSENT,
        "edited": [(", ".join(edited[:3]) + (" ..." if len(edited) > 3 else ""),)] if edited else ABSENT,
        "inputs": THERE if pending and not edited and not difference else ABSENT,
    }
    return filled("plan-changes.txt", blocks, out=out)


def _as_table(figures: Figures, paths: bool, out: Path, files: int) -> str:
    """What each batch does to upstream, and the lines of both sides."""
    sides = {name: figures.lines[name] for name in (*extensions(figures.lines), CODE)}
    rows = figures.rows if paths else ()
    blocks: dict[str, Iterable[Sequence[object]]] = {
        "batches": [(b.id, *b.files.values(), b.less) for b in figures.batches if any(b.files.values())],
        "lines": [(name, side["before"], side["after"]) for name, side in sides.items()],
        "paths": [(row.verdict, row.path, row.reason.batch, row.reason.rule) for row in rows],
    }
    verdicts = "  ".join(f"{name} {number:,}" for name, number in verdict_counts(figures.rows).items())
    return filled("plan.txt", blocks, verdicts=verdicts, files=files, out=out)


def _as_json(figures: Figures, tree: str, pending: bool, paths: bool, difference: Changes | None) -> None:
    document: dict[str, Any] = {
        "output_tree": tree,
        "pending": pending,
        "verdicts": verdict_counts(figures.rows),
        "lines": figures.lines,
        "batches": [asdict(b) for b in figures.batches],
    }
    if difference is not None:
        document["changes"] = {
            "by_batch": {batch: dict(counts) for batch, counts in sorted(difference.by_batch.items())},
            "surface": [
                {"sign": sign, "what": what, **({"why": why} if why else {})}
                for sign, what, why in difference.surface
            ],
            "paths": [{"sign": sign, "path": path, "batch": batch} for sign, path, batch in difference.paths],
        }
    if paths:
        document["paths"] = [
            {"path": r.path, "verdict": r.verdict, "batch": r.reason.batch, "rule": r.reason.rule}
            for r in figures.rows
        ]
    output.data(document)
