"""A second process changes when a value is there, never what it is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder import parallel
from builder.parallel import Future, map_parallel

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


def test_the_value_comes_from_another_process() -> None:
    assert Future(os.getpid).result() != os.getpid()


def test_a_value_can_be_asked_for_twice() -> None:
    asked = Future(lambda: [1, 2])
    assert asked.result() is asked.result()


def test_nothing_is_a_value_too() -> None:
    calls: list[int] = []
    asked = Future(lambda: calls.append(1))
    assert asked.result() is None


def test_what_the_work_raises_is_raised_where_it_is_asked_for() -> None:
    def work() -> int:
        raise ValueError("no")

    asked = Future(work)
    with pytest.raises(ValueError, match="no"):
        asked.result()


def test_a_child_that_is_done_ends_before_its_large_result_is_asked_for() -> None:
    asked = Future(lambda: bytes(1 << 20))
    waited = os.WEXITED | os.WNOWAIT | os.WNOHANG
    until = time.monotonic() + 20
    while not (ended := os.waitid(os.P_PID, asked._child, waited)) and time.monotonic() < until:
        time.sleep(0.01)
    assert ended and ended.si_status == 0
    assert asked.result() == bytes(1 << 20)


def test_the_result_waits_in_a_file_where_memory_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "memfd_create", raising=False)
    assert Future(lambda: [os.getpid()]).result() != [os.getpid()]


def test_a_child_that_dies_costs_time_and_not_the_value() -> None:
    parent = os.getpid()

    def work() -> int:
        if os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return 7

    assert Future(work).result() == 7


def test_what_cannot_be_sent_is_worked_out_here() -> None:
    assert Future(lambda: lambda: 3).result()() == 3


def test_without_fork_the_work_is_done_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "fork")
    assert Future(os.getpid).result() == os.getpid()


@pytest.mark.parametrize("interrupted", [False, True], ids=["abandoned", "interrupted"])
def test_what_a_child_started_ends_with_it(interrupted: bool) -> None:
    reading, writing = os.pipe()

    def inner() -> None:
        os.write(writing, b"%d" % os.getpid())
        time.sleep(60)

    asked = Future(lambda: Future(inner).result())
    inside = int(os.read(reading, 20))
    if interrupted:
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            asked.result()
    del asked
    until = time.monotonic() + 20
    while Path(f"/proc/{inside}").exists() and time.monotonic() < until:
        if "State:\tZ" in Path(f"/proc/{inside}/status").read_text():
            break  # it has ended, and waits for whoever inherited it
        time.sleep(0.01)
    else:
        assert not Path(f"/proc/{inside}").exists()
    os.close(reading)
    os.close(writing)


def test_a_value_that_nobody_asks_for_leaves_no_process() -> None:
    asked = Future(lambda: time.sleep(60))
    child = asked._child
    del asked
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def test_a_large_value_comes_whole() -> None:
    assert Future(lambda: b"x" * 5_000_000).result() == b"x" * 5_000_000


@given(st.lists(st.integers(0, 50), max_size=80), st.integers(1, 60))
def test_divided_work_gives_what_undivided_work_gives(items: list[int], least: int) -> None:
    def work(share: Sequence[int]) -> list[int]:
        return [item * item for item in share]

    usual, parallel.FORK_FROM = parallel.FORK_FROM, least
    try:
        assert map_parallel(items, work, lambda item: item * parallel.MIN_WEIGHT) == work(items)
    finally:
        parallel.FORK_FROM = usual


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_environment_says_how_many_processes_do_divided_work(
    monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    monkeypatch.setenv("BUILDER_JOBS", str(jobs))
    found = map_parallel(
        range(parallel.FORK_FROM),
        lambda share: [os.getpid() for _ in share],
        lambda item: parallel.MIN_WEIGHT,
    )
    assert len(set(found)) == jobs
    assert found.count(os.getpid()) == parallel.FORK_FROM // jobs


_INTERRUPTED = """
import os, signal, time
from builder.parallel import Future
fork, children = os.fork, []
def interrupted():
    if child := fork():
        children.append(child)
        os.kill(os.getpid(), signal.SIGTERM)
    return child
def end(number, frame):
    raise KeyboardInterrupt
os.fork = interrupted
signal.signal(signal.SIGTERM, end)
try:
    Future(lambda: time.sleep(60))
except KeyboardInterrupt:
    pass
try:
    os.kill(children[0], signal.SIGKILL)
except ProcessLookupError:
    print("gone")
"""


def test_a_signal_that_comes_during_the_fork_leaves_no_child() -> None:
    # in a process of one thread: another thread of this one could take the signal
    ended = subprocess.run([sys.executable, "-c", _INTERRUPTED], check=True, capture_output=True, text=True)
    assert ended.stdout == "gone\n"
