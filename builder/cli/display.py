"""How far the work is, for a person: a bar on a terminal, lines elsewhere, more than one for a long stage."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import click

from builder.progress import Step

if TYPE_CHECKING:
    from rich.progress import Progress

Volume = Literal["quiet", "normal", "verbose"]

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
