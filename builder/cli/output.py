"""What verbs print: data on stdout; problems and progress on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

import click

from builder.errors import Problem

FORMATS = ("human", "json", "github")
_state = {"format": "human"}
_sources: dict[str, str] = {}


def choose(form: str) -> None:
    """Set the form in which problems are shown."""
    _state["format"] = form


def form() -> str:
    return _state["format"]


def remember(name: str, text: str) -> None:
    """Keep a file's text, so that problems can show the line that they are about."""
    _sources[name] = text


def colour() -> bool:
    """Colours: never with NO_COLOR, always with FORCE_COLOR, else on a terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or sys.stderr.isatty()


def show(problems: Iterable[Problem]) -> None:
    """Print problems: for people on stderr, as data on stdout, or as annotations."""
    from builder import report

    found = report.ordered(problems)
    if form() == "json":
        import json

        click.echo(
            json.dumps({"schema_version": 1, "problems": [report.as_dict(p) for p in found]}, indent=2)
        )
    elif form() == "github":
        for problem in found:
            click.echo(report.annotation(problem))
    else:
        click.echo(report.render_all(found, _sources, colour()), err=True)


def note(sentence: str) -> None:
    """One line of progress, for people only."""
    if form() == "human":
        click.echo(sentence, err=True)
