"""A limit on the processor time of a piece of work: a regular expression may need centuries for one line."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class TimeLimitExceeded(Exception):
    """The work took more processor time than it may."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Run the block for at most so much processor time of this process; raises TimeLimitExceeded.

    Python's `re` looks for signals while it matches. Only the main thread gets them; others have no limit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def expire(number: int, frame: FrameType | None) -> None:
        raise TimeLimitExceeded

    former = signal.signal(signal.SIGVTALRM, expire)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, former)
