"""Turns SIGINT, SIGTERM and SIGHUP into one exception, wherever they arrive."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

#: Seconds after which an interruption that Python swallowed is raised again.
_AGAIN = 0.01


class Ended(KeyboardInterrupt):
    """A signal asked the builder to stop; its number is the only argument."""


def listen() -> None:
    """Raise `Ended` for each of these signals, also where Python itself would swallow the exception.

    SIGINT is included: when Python's own KeyboardInterrupt passes through `exec`, as in a dataclass, Python
    kills itself at exit even if the exception was handled.
    """
    for number in _requests():
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _end)
    sys.unraisablehook = _unraisable


def ignore_signals() -> None:
    """Ignore these signals while Python shuts down."""
    for number in (*_requests(), signal.SIGALRM):
        if signal.getsignal(number) is not signal.SIG_DFL:
            signal.signal(number, signal.SIG_IGN)


def _requests() -> tuple[signal.Signals, ...]:
    return signal.SIGINT, signal.SIGTERM, signal.SIGHUP


def _end(number: int, frame: object) -> None:
    raise Ended(number)


def _unraisable(what: UnraisableHookArgs) -> None:
    """Schedule `Ended` again where Python only prints exceptions: in finalizers, around a fork.

    Raising it here would not help: Python prints the exceptions of this hook, too.
    """
    if not isinstance(what.exc_value, Ended):
        sys.__unraisablehook__(what)
        return
    number = what.exc_value.args[0]
    signal.signal(signal.SIGALRM, lambda *_: _end(number, None))
    signal.setitimer(signal.ITIMER_REAL, _AGAIN)
