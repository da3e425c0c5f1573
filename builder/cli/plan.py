"""plan: show what dist would remove, edit and add, without writing anything."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import Any

import click

from builder.cli import options, output, stages
from builder.emit import write
from builder.emit.build_json import batch_record
from builder.emit.figures import CODE, EXTENSIONS, verdict_counts
from builder.errors import CHANGES_PENDING
from builder.pipeline import build, tools
from builder.pipeline.measure import Figures


@click.command("plan")
@options.upstream_options
@click.option(
    "--out", type=click.Path(path_type=Path), default="dist", show_default=True, metavar="DIR",
    help="The output folder to compare with.",
)  # fmt: skip
@click.option("--paths", is_flag=True, help="Name every path with its verdict and rule.")
def command(out: Path, paths: bool, **shared: Any) -> None:
    """Show what each batch would remove, edit and add, with line counts.

    Exit status 0: OUT already holds this build; 3: it does not.
    """
    gc.disable()
    request = options.ask(**shared)
    upstream = options.resolve(request)
    done = stages.recalled_outcome(request, upstream)
    figures = done.figures
    key = build.key(upstream, request.manifest, request.without, tools.versions())
    pending = not write.unchanged(out, key)
    output.stage("")
    if output.form() == "json":
        _as_json(figures, done.cut.output.tree.id, pending, paths)
    else:
        _as_table(figures, paths)
    if pending:
        sys.exit(CHANGES_PENDING)


def _as_table(figures: Figures, paths: bool) -> None:
    click.echo(f"{'batch':<24}{'removed':>9}{'edited':>8}{'added':>7}{'lines less':>11}")
    for batch in figures.batches:
        if batch.files_removed or batch.files_edited or batch.files_added:
            click.echo(
                f"{batch.id:<24}{batch.files_removed:>9,}{batch.files_edited:>8,}{batch.files_added:>7,}"
                f"{batch.lines:>11,}"
            )
    counts = verdict_counts(figures.rows)
    click.echo("  ".join(f"{name} {number:,}" for name, number in counts.items()))
    for name in (*EXTENSIONS, CODE):
        side = figures.lines[name]
        click.echo(f"{name:<6}{side['before']:>10,} -> {side['after']:>10,}")
    if paths:
        for row in figures.rows:
            click.echo(f"{row.verdict:<8}{row.path}  [{row.reason.batch}: {row.reason.rule}]")


def _as_json(figures: Figures, tree: str, pending: bool, paths: bool) -> None:
    document = {
        "output_tree": tree,
        "pending": pending,
        "verdicts": verdict_counts(figures.rows),
        "lines": figures.lines,
        "batches": [batch_record(b) for b in figures.batches],
    }
    if paths:
        document["paths"] = [
            {"path": r.path, "verdict": r.verdict, "batch": r.reason.batch, "rule": r.reason.rule}
            for r in figures.rows
        ]
    output.data(document)
