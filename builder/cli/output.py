"""Printing: data on stdout; problems and progress on stderr."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from builder.cli.display import Display, Volume, can_draw, on_terminal
from builder.errors import Problem
from builder.progress import Step

FORMATS = ("human", "json", "github")
SCHEMA_VERSION = 1
COLOURS = ("auto", "always", "never")


@dataclass(slots=True)
class _Settings:
    """What the command line asks for: the values of options that concern every verb."""

    form: str = "human"
    volume: Volume = "normal"
    colour: str = "auto"
    display: Display | None = None
    folder: str = ""  # the manifest's, in the repository that annotations are about
    debug: bool = False  # show the traceback of an internal error on the terminal, too
    cache: Path | None = None  # None: the default one


settings = _Settings()
_sources: dict[str, str] = {}
_BEGAN = time.monotonic()


def remember(texts: Mapping[str, str]) -> None:
    """Keep the texts of files, so that problems can show their lines of them."""
    _sources.update(texts)


def locate(folder: Path) -> None:
    """Set the manifest's folder. Annotations name files as seen from the top of the repository, which is
    GITHUB_WORKSPACE in a workflow, and the current folder elsewhere."""
    top = Path(os.environ.get("GITHUB_WORKSPACE") or ".").resolve()
    here = folder.resolve()
    if here.is_relative_to(top):
        settings.folder = here.relative_to(top).as_posix().removeprefix(".")


def colour() -> bool:
    """Whether to use colours: as --color says, or with FORCE_COLOR or on a terminal without NO_COLOR."""
    if settings.colour != "auto":
        return settings.colour == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or on_terminal()


def show(problems: Iterable[Problem]) -> None:
    """Print problems: as text on stderr, or as JSON or annotations on stdout."""
    from builder import report

    stage("")
    problems = report.ordered(problems)
    if settings.form == "json":
        data({"problems": [report.as_dict(p) for p in problems]})
    elif settings.form == "github":
        for problem in problems:
            click.echo(report.annotation(problem, settings.folder))
    else:
        # color=True: click would strip the colours without a terminal, against FORCE_COLOR
        click.echo(report.render_all(problems, _sources, colour()), err=True, color=True)


def data(values: dict[str, Any]) -> None:
    """Print a JSON document on stdout, with its schema version."""
    import json

    click.echo(json.dumps({"schema_version": SCHEMA_VERSION, **values}, indent=2))


def note(sentence: str) -> None:
    """Print a line for a person, only with --format human and not with --quiet."""
    stage("")
    if settings.form == "human" and settings.volume != "quiet":
        click.echo(sentence, err=True)


def stage(name: str) -> None:
    """Begin a stage; an empty name ends the current one. Only with --format human and not with --quiet."""
    if settings.display is None and name and settings.form == "human" and settings.volume != "quiet":
        settings.display = Display(can_draw(), settings.volume == "verbose", colour())
    if settings.display is not None:
        settings.display.stage(name)


def done(what: str) -> None:
    """End the last stage, and print what all of it took."""
    stage("")
    note(f"{what:<24}{time.monotonic() - _BEGAN:>7.1f} s")


def clear() -> None:
    """Remove what is drawn on the terminal, and show its cursor again."""
    if settings.display is not None:
        settings.display.clear()


def step(step: Step) -> None:
    """Show how far the stage is."""
    if settings.display is not None:
        settings.display.step(step)


def summary(text: str) -> None:
    """Keep what the stage came to, for the line that ends it."""
    if settings.display is not None:
        settings.display.summary = text
