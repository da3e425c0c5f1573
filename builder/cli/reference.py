"""`docs/verbs.md`: every verb with its arguments and options, read from the command line itself."""

from __future__ import annotations

import click

from builder.adapter import PROGRAM

_HEAD = f"""\
# Verbs and options

<!-- Made by `python -m builder explain --verbs` from the command line itself: edit builder/cli. -->

`python -m builder VERB` runs a verb; the console script `{PROGRAM}` of the environment is the same.
`make` alone prints what its targets do. `--debug` before a verb shows the traceback of an internal error.
These options stand before or after every verb:

"""


def verbs_page(group: click.Group) -> str:
    """All verbs as Markdown, in the order of `--help`."""
    context = click.Context(group, info_name="python -m builder", **group.context_settings)
    shared = [p for p in group.params if isinstance(p, click.Option) and p.name not in ("version", "debug")]
    names = {option.name for option in shared}
    parts = [_HEAD + _options(context, shared)]
    for verb in group.list_commands(context):
        command = group.get_command(context, verb)
        assert command is not None
        below = click.Context(command, info_name=verb, parent=context)
        usage = f"{below.command_path} {' '.join(command.collect_usage_pieces(below))}"
        own = [p for p in command.params if isinstance(p, click.Option) and p.name not in names]
        text_of_help = "\n\n".join(" ".join(part.split()) for part in (command.help or "").split("\n\n"))
        parts.append(f"## {verb}\n\n```text\n{usage}\n```\n\n{text_of_help}\n\n{_options(below, own)}")
    return "\n".join(parts)


def _options(context: click.Context, options: list[click.Option]) -> str:
    rows = ""
    for option in options:
        value = "" if option.is_flag else f" {option.make_metavar(context)}".replace("|", " \\| ")
        *others, name = option.opts
        names = ", ".join(f"`{one}`" for one in (*others, name + value, *option.secondary_opts))
        text = " ".join((option.help or "").split()).replace("|", "\\|").replace("<", "&lt;")
        if option.show_default and option.default is not None:
            text += f" Default: `{option.default}`."
        rows += "" if option.hidden else f"| {names} | {text} |\n"
    return f"| option | meaning |\n| --- | --- |\n{rows}" if rows else ""
