"""Runs work in a forked child process, which leaves its pickled result in a file that both have open.

Without `fork`, or if the child dies, this process does the work. What the child remembered comes back with
its result. With a pipe, a child that is done would keep its memory until somebody reads.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import tempfile
import warnings
import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import IO, Generic, TypeVar

from builder import memo, progress

A = TypeVar("A")
T = TypeVar("T")


class Future(Generic[T]):
    """The result of work in a child process. It must depend on memory only; its result must be picklable."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._value: T
        self._known = self._pending = False
        if hasattr(os, "fork"):
            # a signal that raises before the child is known here would leave it behind
            unblocked = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
            try:
                self._start(unblocked)
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)

    def _start(self, unblocked: Iterable[int]) -> None:
        global _in_child
        result = _file()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # 3.12 warns when other threads exist
            child = os.fork()
        alone = not _in_child
        if child == 0:
            status = 1
            try:
                _in_child = True
                signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)
                if alone:
                    os.setpgid(0, 0)
                progress.silence()
                before = set(memo.added())
                value = self._work()
                remembered = {key: data for key, data in memo.added().items() if key not in before}
                pickle.dump((value, remembered), result, pickle.HIGHEST_PROTOCOL)
                result.flush()
                status = 0
            except BaseException:  # the parent does the work again, and raises it there
                pass
            finally:
                os._exit(status)  # no exit handlers, no flushing of the parent's buffers
        if alone:
            with contextlib.suppress(OSError):  # the child did it already, or has ended
                os.setpgid(child, child)
        self._child, self._file, self._pending = child, result, True
        self._unused = weakref.finalize(self, _end, child, result, alone)

    def result(self) -> T:
        """The value; waits for the child. Raises whatever the work raises."""
        if self._pending:
            _, status = os.waitpid(self._child, 0)  # when this is interrupted, the child is still abandoned
            self._pending = False
            self._unused.detach()
            with self._file as result:
                if status == 0:
                    result.seek(0)
                    self._value, remembered = pickle.load(result)
                    self._known = True
                    memo.add(remembered)
        # a child killed for lack of memory costs time, but does not fail the build
        if not self._known:
            self._value, self._known = self._work(), True
        return self._value


def _file() -> IO[bytes]:
    """A file without a name: in memory where the system has such, else in the folder for temporary files."""
    try:
        return os.fdopen(os.memfd_create("result"), "w+b")
    except (AttributeError, OSError):  # another system, or one that forbids it
        return tempfile.TemporaryFile()


#: Whether this process is a child: then its own children are in its process group.
_in_child = False


def _end(child: int, result: IO[bytes], group: bool) -> None:
    """Kill and reap a child whose result is abandoned; `group`: with all that it started."""
    result.close()
    (os.killpg if group else os.kill)(child, signal.SIGKILL)
    os.waitpid(child, 0)


#: With fewer items, or bytes of source in all of them, another process costs more than it saves: it copies
#: what it touches of this one's memory. Each process has half of that at least.
FORK_FROM = 24
MIN_WEIGHT = 5_000_000


def map_parallel(
    items: Sequence[A], work: Callable[[Sequence[A]], Sequence[T]], weigh: Callable[[A], int]
) -> list[T]:
    """`work(items)`, shared with a child process for each further core; results keep the order of the items.

    `work` gives one result for each item, independent of the other items. `weigh` gives the cost of an
    item in bytes of source.
    """
    total = sum(map(weigh, items))
    count = min(_cores(), total // MIN_WEIGHT + 1, 2 * len(items) // FORK_FROM)
    if count < 2:
        return list(work(items))
    shares: list[list[int]] = [[] for _ in range(count)]
    weights = [0] * count
    for index in sorted(range(len(items)), key=lambda index: (-weigh(items[index]), index)):
        lightest = weights.index(min(weights))
        shares[lightest].append(index)
        weights[lightest] += weigh(items[index])
    theirs = [Future(partial(work, [items[index] for index in share])) for share in shares[1:]]
    results = dict(zip(shares[0], work([items[index] for index in shares[0]]), strict=True))
    for share, future in zip(shares[1:], theirs, strict=True):
        results.update(zip(share, future.result(), strict=True))
    return [results[index] for index in range(len(items))]


def _cores() -> int:
    """How many processes may run at a time: what BUILDER_JOBS says, or one for each core."""
    given = os.environ.get("BUILDER_JOBS", "")
    if given.isdigit():
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 2
