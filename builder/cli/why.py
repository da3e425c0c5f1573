"""why: the reason that a path or symbol is in the output, or is not."""

from __future__ import annotations

import gc
from typing import Any

import click

from builder.cli import options, output
from builder.cli.cache_file import recalled
from builder.errors import fail


@click.command("why", short_help="Say why a path or symbol is in the output, or is not.")
@click.argument("what", metavar="PATH[:SYMBOL]")
@click.option("--upstream", metavar="UPSTREAM", help="The upstream; the manifest's default pin if not given.")
@options.upstream_without_argument
def command(what: str, **shared: Any) -> None:
    """Say why PATH (or SYMBOL in it, or a qualified name) is kept, edited or removed.

    Kept: the shortest way from a root. Removed: the rule, its reason, and what else it takes.
    """
    gc.disable()
    asked = options.ask(**shared)

    from builder.pipeline import explanation
    from builder.pipeline.cut import cut
    from builder.pipeline.ranges import about
    from builder.upstream.model import snapshot

    upstream = options.resolve(asked)
    output.stage("cutting")
    with recalled(asked.cache) as known:
        done = cut(
            snapshot(upstream),
            asked.manifest,
            about=about(upstream, asked.manifest, asked.without),
            recall=known,
        )
    output.stage("")
    found = explanation.explain(done, asked.manifest, what)
    if found is None:
        near = explanation.near(done, asked.manifest, what)
        raise fail(
            "C001",
            f"'{what}' is neither a path nor a name in the packages of upstream or of the output.",
            hint=f"did you mean {' or '.join(near)}?" if near else None,
        )
    if output.form() == "json":
        output.data(explanation.record(found))
        return
    for line in explanation.sentences(found):
        click.echo(line)
