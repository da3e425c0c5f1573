"""report: write the page of a build, without its distribution."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from builder.cli import options, output, stages
from builder.emit import report_html
from builder.emit.place import write_whole
from builder.pipeline.answers import traces
from builder.pipeline.answers.context import Context


@click.command("report")
@options.upstream_options
@options.path_option("--to", default=report_html.NAME, help="The file to write; `-` is stdout.")
@click.option(
    "--foreign", "foreign_only", is_flag=True,
    help="Print what stays under the names of models that left, as a Markdown table, and write nothing.",
)  # fmt: skip
@click.option(
    "--mentions", "mentions_only", is_flag=True,
    help="Print the comments that have a word of what left, and write nothing.",
)  # fmt: skip
def command(to: Path, foreign_only: bool, mentions_only: bool, **shared: Any) -> None:
    """Write report.html of a build of UPSTREAM: the file that `dist` puts beside the tree."""
    request = options.ask(**shared)
    upstream = options.resolve(request)
    done = stages.recalled_outcome(request, upstream)
    if foreign_only or mentions_only:
        output.stage("")
        context = Context(done, request.manifest)
        if foreign_only:
            click.echo("\n".join(traces.foreign(context, done.figures.rows)))
        if mentions_only:
            click.echo("\n".join(traces.mentions(context)))
        return
    output.stage("packing")
    result, _ = stages.build_of(request, upstream).assemble(done)
    page = result.files[report_html.NAME]
    output.stage("")
    if str(to) == "-":
        click.echo(page, nl=False)
        return
    write_whole(to, page, f"'{to}'", "give another --to")
    output.note(f"{to}  {len(page):,} bytes")
