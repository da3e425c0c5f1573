"""Turns SIGINT, SIGTERM and SIGHUP into one exception, wherever they arrive."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs
    from types import FrameType

#: Seconds after which an interruption that Python swallowed is raised again.
_AGAIN = 0.01
_REQUESTS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP


class Ended(KeyboardInterrupt):
    """A signal asked the builder to stop; its number is the only argument."""


def listen() -> None:
    """Raise `Ended` for each of these signals, also where Python itself would swallow the exception.

    SIGINT is included: when Python's own KeyboardInterrupt passes through `exec`, as in a dataclass, Python
    kills itself at exit even if the exception was handled.
    """
    for number in _REQUESTS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _end)
    sys.unraisablehook = _unraisable


def request_behind(error: BaseException | None) -> Ended | None:
    """The request to stop during whose clean-up an error was raised, if there was one.

    Python's own clean-up may fail where a signal came in the middle of it: `shutil.rmtree` closes a folder
    twice.
    """
    while error is not None and not isinstance(error, Ended):
        error = error.__context__
    return error


def ignore_signals() -> None:
    """Ignore these signals while Python shuts down."""
    for number in (*_REQUESTS, signal.SIGALRM):
        if signal.getsignal(number) is not signal.SIG_DFL:
            signal.signal(number, signal.SIG_IGN)


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

    def again(_: int, frame: FrameType | None) -> None:
        while frame is not None and frame.f_code is not _unraisable.__code__:
            frame = frame.f_back
        if frame is None:
            _end(number, None)
        else:  # on a busy machine the time can be over before this hook is
            signal.setitimer(signal.ITIMER_REAL, _AGAIN)

    signal.signal(signal.SIGALRM, again)
    signal.setitimer(signal.ITIMER_REAL, _AGAIN)
