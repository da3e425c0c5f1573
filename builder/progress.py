"""Reports the progress of the work to a listener. No result depends on whether there is one.

Only this process reports: a forked child is silenced, so that two never write to one terminal.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from typing import NamedTuple, Protocol, TypeVar

T = TypeVar("T")


class Step(NamedTuple):
    """How far a stage is: what is done, and how many of how many; a total of 0 is unknown."""

    what: str
    done: int = 0
    total: int = 0


class Listener(Protocol):
    """Receives the progress of the work."""

    def stage(self, name: str) -> None:
        """A stage begins, and the one before it has ended."""

    def step(self, step: Step) -> None:
        """The stage came further."""

    def summary(self, text: str) -> None:
        """What the stage came to."""


_listener: Listener | None = None


@contextlib.contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Report to `listener` inside."""
    global _listener
    before, _listener = _listener, listener
    try:
        yield
    finally:
        _listener = before


def silence() -> None:
    """Report to nobody from now on."""
    global _listener
    _listener = None


def stage(name: str) -> None:
    """A stage begins."""
    if _listener is not None:
        _listener.stage(name)


def step(what: str, done: int = 0, total: int = 0) -> None:
    """The stage came further."""
    if _listener is not None:
        _listener.step(Step(what, done, total))


def summary(text: str) -> None:
    """What the stage came to, in a few words, for the line that ends it."""
    if _listener is not None:
        _listener.summary(text)


def counted(what: str, items: Collection[T]) -> Iterator[T]:
    """The items; a step is reported before each, and after the last."""
    total = len(items)
    for number, item in enumerate(items):
        step(what, number, total)
        yield item
    step(what, total, total)
