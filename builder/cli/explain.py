"""explain: print the meaning of error codes, and the pages about errors and verbs."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import click

from builder.adapter import PROGRAM
from builder.cli import output
from builder.errors import CODES
from builder.report import table
from builder.templates import filled

_FAMILIES = {
    "M": "The manifest, as it is written",
    "R": "Rules against the upstream tree",
    "G": "Gates on the output",
    "L": "Moving the pin",
    "U": "The upstream",
    "K": "The published kernel wheel",
    "E": "The environment",
    "C": "The command line",
}


#: The file of an example that stands in none.
COMMAND = "command"


class Example(NamedTuple):
    """What gives an error and what stands there as it should be: see examples.yaml."""

    wrong: str
    right: str
    file: str = "manifest.yaml"
    when: str = ""


def examples() -> dict[str, Example | str]:
    """For each error code an example, or what to do about it where no text and no command gives it."""
    import yaml

    rows = yaml.safe_load(Path(__file__).with_name("examples.yaml").read_text("utf-8"))
    return {code: row if isinstance(row, str) else Example(**row) for code, row in rows.items()}


@click.command("explain")
@click.argument("code", required=False)
@click.option("--markdown", is_flag=True, help="Print docs/errors.md.")
@click.option("--verbs", is_flag=True, help="Print docs/verbs.md.")
@click.option("--format", "form", type=click.Choice(output.FORMATS), default="human", show_default=True)
def command(code: str | None, markdown: bool, verbs: bool, form: str) -> None:
    """Print the exit status and the meaning of CODE; without CODE, of every code."""
    output.settings.form = form
    if markdown:
        click.echo(page(), nl=False)
        return
    if verbs:
        from builder.cli import cli

        click.echo(verbs_page(cli), nl=False)
        return
    asked = (code or "").upper()
    wanted = CODES if code is None else {k: v for k, v in CODES.items() if k == asked}
    if not wanted:
        import difflib

        near = difflib.get_close_matches(asked, CODES, 1)
        more = f" Did you mean {near[0]}?" if near else ""
        raise click.UsageError(f"no error code '{code}'.{more}")
    if form == "json":
        output.data({"codes": {k: {"exit_status": s, "meaning": m} for k, (s, m) in wanted.items()}})
        return
    for name, (status, meaning) in wanted.items():
        click.echo(f"{name}  exit {status:<3} {meaning}")
    if code is None:
        return
    example = examples()[asked]
    if isinstance(example, str):
        click.echo(f"\n{example}")
    else:
        where = "" if example.file == COMMAND else f" ({example.file})"
        if example.when:
            click.echo(f"\nwhere {example.when}:")
        for title, text in zip(("wrong", "right"), _sides(example), strict=True):
            click.echo(f"\n{title}{where}:\n" + "\n".join(f"  {line}" for line in text.splitlines()))


def page() -> str:
    """All codes as Markdown, a table for each family, then the examples."""
    tables = []
    for family, title in _FAMILIES.items():
        rows = [(code, str(s), meaning) for code, (s, meaning) in CODES.items() if code.startswith(family)]
        tables.append(f"## {title}\n\n{table(('code', 'exit', 'meaning'), rows)}")
    shown = [
        f"### {code}\n\n{example if isinstance(example, str) else _shown(example)}\n"
        for code, example in examples().items()
    ]
    return filled("errors.md", tables="\n".join(tables), examples="\n".join(shown).rstrip())


def _shown(example: Example) -> str:
    """An example as Markdown."""
    wrong, right = _sides(example)
    kind = {"yaml": "yaml", "py": "python", "patch": "diff"}.get(example.file.rpartition(".")[2], "sh")
    where = "" if example.file in ("manifest.yaml", COMMAND) else f"In {example.file}:\n\n"
    where += f"Where {example.when}:\n\n" if example.when else ""
    return f"{where}```{kind}\n# wrong\n{wrong}\n# right\n{right}\n```"


def _sides(example: Example) -> tuple[str, str]:
    """What is wrong and what is right, a command as it is typed."""
    prefix = "python -m builder " if example.file == COMMAND else ""
    return f"{prefix}{example.wrong}".rstrip("\n"), f"{prefix}{example.right}".rstrip("\n")


def verbs_page(group: click.Group) -> str:
    """All verbs as Markdown, in the order of `--help`."""
    context = click.Context(group, info_name="python -m builder", **group.context_settings)
    shared = [p for p in group.params if isinstance(p, click.Option) and p.name not in ("version", "debug")]
    names = {option.name for option in shared}
    parts = []
    for verb in group.list_commands(context):
        described = group.get_command(context, verb)
        assert described is not None
        below = click.Context(described, info_name=verb, parent=context)
        usage = f"{below.command_path} {' '.join(described.collect_usage_pieces(below))}"
        own = [p for p in described.params if isinstance(p, click.Option) and p.name not in names]
        text_of_help = "\n\n".join(" ".join(part.split()) for part in (described.help or "").split("\n\n"))
        parts.append(f"## {verb}\n\n```text\n{usage}\n```\n\n{text_of_help}\n\n{_options(below, own)}")
    return filled(
        "verbs.md", program=PROGRAM, shared=_options(context, shared), verbs="\n".join(parts).rstrip()
    )


def _options(context: click.Context, options: list[click.Option]) -> str:
    rows = []
    for option in options:
        value = "" if option.is_flag else f" {option.make_metavar(context)}".replace("|", " | ")
        *others, name = option.opts
        names = ", ".join(f"`{one}`" for one in (*others, name + value))
        text = " ".join((option.help or "").split()).replace("<", "&lt;")
        if option.show_default and option.default is not None:
            text += f" Default: `{option.default}`."
        rows.append((names, text))
    return table(("option", "meaning"), rows) if rows else ""
