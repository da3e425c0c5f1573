"""why: explain why a path or symbol is in the output, or is not."""

from __future__ import annotations

import gc
from typing import Any

import click

from builder.cli import options, output, stages
from builder.errors import fail
from builder.pipeline import explanation


@click.command("why")
@click.argument("what", metavar="PATH[:SYMBOL]")
@click.option("--upstream", metavar="UPSTREAM", help="The upstream (default: the manifest's default pin).")
@options.upstream_without_argument
def command(what: str, **shared: Any) -> None:
    """Explain why PATH (or SYMBOL in it, or a qualified name) is kept, edited or removed.

    Kept: the shortest import chain from a root. Removed: the rule, its reason, and what else it removes.
    """
    gc.disable()
    request = options.ask(**shared)
    done = stages.recalled_outcome(request, options.resolve(request))
    output.stage("")
    answer = explanation.explain(done, request.manifest, what)
    if answer is None:
        near = explanation.near(done.cut, request.manifest, what)
        raise fail(
            "C001",
            f"'{what}' is neither a path nor a name in the packages of upstream or of the output.",
            hint=f"did you mean {' or '.join(near)}?" if near else None,
        )
    if output.form() == "json":
        output.data(explanation.record(answer))
        return
    for line in explanation.sentences(answer):
        click.echo(line)
