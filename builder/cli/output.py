"""Printing: data on stdout; problems and progress on stderr."""

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
    """Set the --format of problems and data."""
    _state["format"] = form


def form() -> str:
    return _state["format"]


def remember(name: str, text: str) -> None:
    """Keep the text of a file, so that problems can show their line of it."""
    _sources[name] = text


def colour() -> bool:
    """Whether to use colours: not with NO_COLOR, with FORCE_COLOR, and on a terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or _terminal()


def show(problems: Iterable[Problem]) -> None:
    """Print problems: as text on stderr, or as JSON or annotations on stdout."""
    from builder import report

    stage("")
    problems = report.ordered(problems)
    if form() == "json":
        data({"problems": [report.as_dict(p) for p in problems]})
    elif form() == "github":
        for problem in problems:
            click.echo(report.annotation(problem))
    else:
        # color=True: click would strip the colours without a terminal, against FORCE_COLOR
        click.echo(report.render_all(problems, _sources, colour()), err=True, color=True)


def data(values: dict[str, Any]) -> None:
    """Print a JSON document on stdout, with its schema version."""
    import json

    click.echo(json.dumps({"schema_version": SCHEMA_VERSION, **values}, indent=2))


def note(sentence: str) -> None:
    """Print a line of progress, only with --format human."""
    stage("")
    if form() == "human":
        click.echo(sentence, err=True)


def stage(name: str) -> None:
    """Show the current step on a terminal, in place of the last one; an empty name clears it."""
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
