"""report: write the page of a build, without its distribution."""

from __future__ import annotations

import contextlib
import gc
import os
from pathlib import Path
from typing import Any

import click

from builder.cli import options, output, stages
from builder.emit import report_html
from builder.errors import fail
from builder.pipeline import build, tools


@click.command("report")
@options.upstream_options
@click.option(
    "--to", type=click.Path(path_type=Path), default=report_html.NAME, show_default=True, metavar="FILE",
    help="The file to write; `-` is stdout.",
)  # fmt: skip
def command(to: Path, **shared: Any) -> None:
    """Write report.html of a build of UPSTREAM: the file that `dist` puts beside the tree."""
    gc.disable()
    request = options.ask(**shared)
    upstream = options.resolve(request)
    done = stages.recalled_outcome(request, upstream)
    output.stage("packing")
    result, _ = build.assemble(done, upstream, request.manifest, request.without, tools.versions())
    page = result.files[report_html.NAME]
    output.stage("")
    if str(to) == "-":
        click.echo(page, nl=False)
        return
    part = to.with_name(f".{to.name}.part")
    try:
        part.write_bytes(page)
        os.replace(part, to)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink()
        message = f"'{to}' cannot be written: {error.strerror}."
        raise fail("E002", message, hint="give another --to") from error
    output.note(f"{to}  {len(page):,} bytes")
