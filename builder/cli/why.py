"""why: explain why something is in the output, or is not."""

from __future__ import annotations

from typing import Any

import click

from builder.cli import options, output, stages
from builder.cli.cache_file import recalled
from builder.errors import fail
from builder.pipeline.answers import readings
from builder.pipeline.answers.answer import record, sentences
from builder.pipeline.answers.context import Context


@click.command("why", context_settings={"ignore_unknown_options": True})
@click.argument("words", metavar="WHAT", nargs=-1, required=True)
@click.option("--upstream", metavar="UPSTREAM", help="The upstream (default: the manifest's default pin).")
@options.upstream_without_argument
def command(words: tuple[str, ...], **shared: Any) -> None:
    """Explain why WHAT is kept, edited or removed, and how to change that.

    WHAT is a path or folder (of upstream or of an output), a module, a class, function or PATH:NAME, an
    architecture, a flag, an environment variable, a route, a value of a flag, a requirement, a batch. A
    word that names contain is answered with these names: those that stay, and those that left.
    """
    # a flag with its value and a method with its route are two words of a command line
    what = " ".join(words)
    request = options.ask(**shared)
    _on_elsewhere(request, what)
    upstream = options.resolve(request)
    with recalled(request.cache) as recall:  # an answer may make summaries, which the next one then has
        done = stages.recalled_outcome(request, upstream, recall)
        output.stage("")
        context = Context(done, request.manifest)
        answers = readings.answers(context, what)
        if not answers:
            near = [words[0]] if readings.answers(context, words[0]) else readings.suggestions(context, what)
            message = f"'{what}' is unknown: upstream, the output and the manifest have nothing of this name."
            raise fail("C001", message, hint=f"did you mean {' or '.join(near)}?" if near else None)
    if output.settings.form == "json":
        output.data({"what": what, "answers": [record(answer) for answer in answers]})
        return
    click.echo("\n\n".join("\n".join(sentences(answer)) for answer in answers))


def _on_elsewhere(request: options.Request, what: str) -> None:
    """Raises BuildError C001 for a batch that is on in other scopes alone."""
    scopes = [scope.name for scope in request.manifest.scopes.values() if what in scope.only_here]
    if scopes and what not in [batch.id for batch in request.manifest.batches]:
        names = " and ".join(f"`{name}`" for name in scopes)
        message = f"The batch `{what}` is on only in the scope {names}; here what it names is kept."
        hint = f"`dist --with {what}` removes it; `why {what} --with {what}` says what leaves"
        raise fail("C001", message, hint=hint)
