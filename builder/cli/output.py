"""Printing: data on stdout; problems and progress on stderr, as a bar on a terminal, as lines elsewhere."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from builder.errors import Problem
from builder.progress import Step

if TYPE_CHECKING:
    from rich.progress import Progress

Volume = Literal["quiet", "normal", "verbose"]

FORMATS = ("human", "json", "github")
SCHEMA_VERSION = 1
COLOURS = ("auto", "always", "never")
#: Seconds between two pictures of the bar: more often cannot be seen.
_REFRESH_S = 0.1
#: A stage that takes less is not worth a line.
_SHORT_S = 0.5
#: Seconds without a line after which a stage says how far it is where there is no bar.
_LONG_S = 30


class Display:
    """Shows the stages on stderr; `clock` gives seconds.

    The bar is drawn when a step is reported and not by a thread: work runs in forked processes, and a
    process with threads cannot be forked safely.
    """

    def __init__(
        self, terminal: bool, verbose: bool, colour: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._terminal, self._verbose, self._colour, self._clock = terminal, verbose, colour, clock
        self.summary = ""  # what the stage came to
        self._name = ""
        self._began = 0.0
        self._last = Step("")
        self._drawn = 0.0  # when the bar was, or a line
        self._bar: Progress | None = None

    def stage(self, name: str) -> None:
        """End the current stage with its line, and begin another; an empty name begins none."""
        if self._name == name:
            return
        self.end()
        self._name, self._last = name, Step("")
        self._began = self._drawn = self._clock()
        if name and self._terminal:
            self._draw()

    def step(self, step: Step) -> None:
        """Show how far the stage is."""
        if not self._name:
            return
        if self._verbose and step.what != self._last.what:
            self._line(f"  {step.what}")
        self._last = step
        if self._clock() - self._drawn >= (_REFRESH_S if self._terminal else _LONG_S):
            self._draw()

    def end(self) -> None:
        """End the current stage: remove the bar, and print what the stage took."""
        self.clear()
        if self._name and self._clock() - self._began >= _SHORT_S:
            self._timed(self._name, self.summary)
        self._name = self.summary = ""

    def clear(self) -> None:
        """Remove the bar; the stage goes on."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _draw(self) -> None:
        self._drawn = self._clock()
        step = self._last
        text = self._name + (f": {step.what}" if step.what else "")
        counted = f"{step.done:,} of {step.total:,}  " if step.total else ""
        if not self._terminal:
            self._timed(text, counted)
            return
        minutes, seconds = divmod(int(self._drawn - self._began), 60)
        rest = f"{counted}{minutes}:{seconds:02}"
        if self._bar is None:
            self._bar = self._start(text, rest)
        bar = self._bar
        bar.update(
            bar.task_ids[0], description=text, completed=step.done, total=step.total or None, rest=rest
        )
        bar.refresh()

    def _start(self, text: str, rest: str) -> Progress:
        # loaded for terminals only: it takes longer than everything that an up-to-date output needs
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        console = Console(stderr=True, force_terminal=True, no_color=not self._colour, highlight=False)
        bar = Progress(
            TextColumn("{task.description}", markup=False), BarColumn(20),
            TextColumn("{task.fields[rest]}", markup=False), console=console, transient=True,
            auto_refresh=False, redirect_stdout=False, redirect_stderr=False,
        )  # fmt: skip
        bar.add_task(text, total=None, rest=rest)
        bar.start()
        return bar

    def _timed(self, text: str, more: str) -> None:
        self._line(f"{text:<24}{self._clock() - self._began:>7.1f} s  {more}".rstrip())

    def _line(self, text: str) -> None:
        self.clear()
        click.echo(text, err=True)


def on_terminal() -> bool:
    """Whether stderr is a terminal."""
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # stderr is closed
        return False


def can_draw() -> bool:
    """Whether stderr is a terminal that can move its cursor."""
    return on_terminal() and os.environ.get("TERM") != "dumb"


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
