"""plan: show what dist would change in the output folder, without writing anything."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from builder.cli import options, output, stages
from builder.emit import write
from builder.emit.figures import CODE, extensions, verdict_counts
from builder.emit.marker import Previous, read_previous
from builder.errors import CHANGES_PENDING
from builder.pipeline.answers.answer import plural
from builder.pipeline.changes import SIGNS, Changes, changes
from builder.pipeline.measure import Figures

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
        _as_table(figures, paths)
        click.echo(f"Plan: {len(done.cut.output):,} files to write; {out} holds no build.")
    else:
        _as_difference(difference, paths, figures.lines[CODE]["after"])
        _print_condition(out, previous, difference, pending)
    if pending:
        sys.exit(CHANGES_PENDING)


def _as_difference(difference: Changes, paths: bool, code: int) -> None:
    """The differences by batch or by path, what the surface gains and loses, and the totals."""
    if paths:
        for sign, path, batch in difference.paths:
            click.echo(f"{sign} {path}  [{batch}]")
    elif difference.by_batch:
        click.echo(f"{'batch':<24}{'+':>7}{'-':>7}{'~':>7}")
        for batch, counts in sorted(difference.by_batch.items()):
            click.echo(f"{batch:<24}" + "".join(f"{counts[sign]:>7,}" for sign in SIGNS))
    if not difference:
        click.echo("No changes.")
        return
    for sign, text, why in difference.surface if paths else difference.surface[:_MAX_LISTED]:
        click.echo(f"{sign} {text}" + (f"  [{why}]" if why else ""))
    more = len(difference.surface) - _MAX_LISTED
    if more > 0 and not paths:
        click.echo(f"  and {more:,} more of the surface (--paths lists all)")
    totals, gains = difference.totals, Counter(sign for sign, *_ in difference.surface)
    click.echo(
        f"Plan: {plural(totals['+'], 'file')} to add, {totals['-']:,} to remove, {totals['~']:,} to change; "
        f"the surface gains {gains['+']:,} and loses {gains['-']:,}; {code:,} lines of code after."
    )


def _print_condition(out: Path, previous: Previous, difference: Changes, pending: bool) -> None:
    """Why an output is written again although the build is the same."""
    if previous.changed:
        listed = ", ".join(previous.changed[:3]) + (" ..." if len(previous.changed) > 3 else "")
        click.echo(f"{out} is not as it was written: {listed}")
    elif pending and not difference:
        click.echo(f"{out} was made from other inputs (a manifest, a builder): `dist` writes it again.")


def _as_table(figures: Figures, paths: bool) -> None:
    click.echo(f"{'batch':<24}{'removed':>9}{'edited':>8}{'added':>7}{'lines less':>11}")
    for batch in figures.batches:
        files = batch.files
        if any(files.values()):
            click.echo(
                f"{batch.id:<24}{files['removed']:>9,}{files['edited']:>8,}{files['added']:>7,}{batch.less:>11,}"
            )
    counts = verdict_counts(figures.rows)
    click.echo("  ".join(f"{name} {number:,}" for name, number in counts.items()))
    for name in (*extensions(figures.lines), CODE):
        side = figures.lines[name]
        click.echo(f"{name:<6}{side['before']:>10,} -> {side['after']:>10,}")
    if paths:
        for row in figures.rows:
            click.echo(f"{row.verdict:<8}{row.path}  [{row.reason.batch}: {row.reason.rule}]")


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
