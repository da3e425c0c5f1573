"""The command line in the process of the tests says what it says in one of its own."""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
from pathlib import Path

import pytest
from small_world import World, folder_bytes, small_world


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return small_world(tmp_path_factory.mktemp("world"))


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("plan", "--paths"), 3),
        (("why", "grpc", "--format", "json"), 0),
        (("why", "acme.servr"), 2),
        (("rules",), 0),
        (("check", "seed"), 0),
        (("explain", "M001"), 0),
        (("dist", "--help"), 0),
        (("dist", "--nope"), 2),
        (("dist", "--without", "fanzy", "--format", "github"), 4),
        (("dist", "no-such-branch", "--format", "json"), 6),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_process_of_its_own_says_the_same(world: World, words: tuple[str, ...], status: int) -> None:
    here, apart = world.run(*words), world.process(*words)
    assert (here.returncode, apart.returncode) == (status, status)
    assert (here.stdout, untimed(here.stderr)) == (apart.stdout, untimed(apart.stderr))


def test_a_process_of_its_own_builds_the_same(world: World) -> None:
    here, apart = world.good("dist", "--out", "here"), world.process("dist", "--out", "apart")
    assert apart.returncode == 0, apart.stderr
    one, other = (folder_bytes(world.home / out, [".sglang-deepseek.index"]) for out in ("here", "apart"))
    assert one == other
    assert untimed(here.stderr) == untimed(apart.stderr).replace("apart", "here")


def untimed(said: str) -> str:
    """Without the lines of stages: one has its time, and is there only if that is long enough."""
    return re.sub(r"(?m)^.* \d+\.\d s\b.*\n", "", said)


def test_a_run_here_leaves_the_process_of_the_tests_as_it_was(world: World) -> None:
    def state() -> object:
        handlers = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
        return handlers, Path.cwd(), dict(os.environ), sys.argv, sys.stdout, sys.stderr, gc.isenabled()

    before = state()
    world.run("dist", "-q", "--format", "json", "nowhere")
    world.run("plan")
    assert state() == before
    assert world.run("dist", "nowhere").stderr.startswith("error[U001]")  # neither quiet nor data
