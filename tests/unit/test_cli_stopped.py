"""A builder that is stopped leaves one whole output: a few places; tests/long/test_cli_killed.py has all."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from small_world import World, folder_bytes
from stopping import Outputs, beside, stopped

CUTTING, WRITING = "builder.pipeline.reduce:specialize", "half"


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Outputs:
    return Outputs.below(tmp_path_factory.mktemp("ready"))


@pytest.fixture
def world(outputs: Outputs, tmp_path: Path) -> World:
    return outputs.copied(tmp_path)


@pytest.mark.parametrize(
    ("place", "swap", "after"),
    [
        (CUTTING, "swap", "old"),
        (WRITING, "swap", "old"),
        ("swapped", "swap", "new"),
        ("between", "plain", "none"),
    ],
)
def test_sigkill_leaves_one_whole_output_and_the_next_run_cleans_up(
    world: World, outputs: Outputs, place: str, swap: str, after: str
) -> None:
    assert stopped(world, place, signal.SIGKILL, swap).returncode == -signal.SIGKILL
    if after == "none":  # what was there lies beside
        assert not (world.home / "dist").exists()
    else:
        assert folder_bytes(world.home / "dist") == getattr(outputs, after)
    world.good("dist")
    assert folder_bytes(world.home / "dist") == outputs.new and beside(world) == []


@pytest.mark.parametrize(
    ("place", "number", "status"),
    [(CUTTING, signal.SIGINT, 130), (WRITING, signal.SIGTERM, 143), ("fork", signal.SIGHUP, 129)],
)
def test_a_request_to_end_leaves_the_old_output_and_nothing_beside_it(
    world: World, outputs: Outputs, place: str, number: signal.Signals, status: int
) -> None:
    done = stopped(world, place, number)
    assert done.returncode == status and "interrupted" in done.stderr and done.stdout == "", done.stderr
    assert folder_bytes(world.home / "dist") == outputs.old and beside(world) == []


def test_two_builders_of_one_output_both_end_well(world: World, outputs: Outputs) -> None:
    running = [
        subprocess.Popen(
            world.command("dist"), cwd=world.home, env=world.environment(),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for _ in range(3)
    ]  # fmt: skip
    for one in running:
        _, said = one.communicate(timeout=120)
        assert one.returncode == 0, said
    assert folder_bytes(world.home / "dist") == outputs.new and beside(world) == []


#: A finalizer swallows the exception; the hook that schedules it again takes longer than the timer.
PROGRAM = """
import os, signal, sys, time
from builder.cli import signals

signals.listen()
hook, timer = sys.unraisablehook, signal.setitimer

def slow(*args):
    signal.setitimer = timer
    timer(*args)
    time.sleep({delay})

signal.setitimer = slow

class Swallows:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        for _ in range(1000):
            pass

try:
    one = Swallows()
    del one
    time.sleep(5)
except signals.Ended as ended:
    signals.ignore_signals()
    print("ended by", ended.args[0])
else:
    print("lost")
"""


@pytest.mark.parametrize("delay", [0, 0.1])
def test_a_request_in_a_finalizer_comes_again_however_long_the_hook_takes(delay: float) -> None:
    command = [sys.executable, "-c", PROGRAM.format(delay=delay)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == "ended by 15\n", done.stderr
