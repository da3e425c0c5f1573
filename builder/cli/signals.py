"""A request to end, from a terminal or another program, is one exception wherever it arrives."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

#: Seconds after which an interruption that Python swallowed comes again.
_AGAIN = 0.01


class Ended(KeyboardInterrupt):
    """A signal asks the builder to end; its number is the only argument."""


def listen() -> None:
    """Turn each request to end into `Ended`, also where Python itself would swallow it.

    SIGINT too: where Python's own KeyboardInterrupt passes through `exec`, as a dataclass does it, Python
    kills itself in the end, handled or not.
    """
    for number in _requests():
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _end)
    sys.unraisablehook = _unraisable


def ignore_signals() -> None:
    """Pass over what comes while Python shuts down."""
    for number in (*_requests(), signal.SIGALRM):
        if signal.getsignal(number) is not signal.SIG_DFL:
            signal.signal(number, signal.SIG_IGN)


def _requests() -> tuple[signal.Signals, ...]:
    return signal.SIGINT, signal.SIGTERM, signal.SIGHUP


def _end(number: int, frame: object) -> None:
    raise Ended(number)


def _unraisable(what: UnraisableHookArgs) -> None:
    """Let a request to end come again where Python only prints what is raised: in finalizers, around a fork.

    It cannot be raised from here: what a hook raises is printed as well.
    """
    if not isinstance(what.exc_value, Ended):
        sys.__unraisablehook__(what)
        return
    number = what.exc_value.args[0]
    signal.signal(signal.SIGALRM, lambda *_: _end(number, None))
    signal.setitimer(signal.ITIMER_REAL, _AGAIN)
