"""What verbs print: data on stdout; problems and progress on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Any

import click

from builder.errors import Problem

FORMATS = ("human", "json", "github")
SCHEMA_VERSION = 1
_state = {"format": "human", "stage": ""}
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
    return bool(os.environ.get("FORCE_COLOR")) or _terminal()


def show(problems: Iterable[Problem]) -> None:
    """Print problems: for people on stderr, as data on stdout, or as annotations."""
    from builder import report

    stage("")
    found = report.ordered(problems)
    if form() == "json":
        data({"problems": [report.as_dict(p) for p in found]})
    elif form() == "github":
        for problem in found:
            click.echo(report.annotation(problem))
    else:
        # click takes colours away where there is no terminal; that has been decided already
        click.echo(report.render_all(found, _sources, colour()), err=True, color=True)


def data(values: dict[str, Any]) -> None:
    """A JSON document on stdout, with the version of its form."""
    import json

    click.echo(json.dumps({"schema_version": SCHEMA_VERSION, **values}, indent=2))


def note(sentence: str) -> None:
    """One line of progress, for people only."""
    stage("")
    if form() == "human":
        click.echo(sentence, err=True)


def stage(name: str) -> None:
    """Say on a terminal what is being done; the next line takes its place. Nothing: it is done."""
    if not _terminal() or form() != "human" or os.environ.get("TERM") == "dumb":
        return
    if name or _state["stage"]:
        sys.stderr.write("\r\x1b[K" + (f"{name} ..." if name else ""))
        sys.stderr.flush()
    _state["stage"] = name


def _terminal() -> bool:
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # stderr is closed
        return False
