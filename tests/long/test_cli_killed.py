"""A builder that is interrupted, ended or killed at any stage leaves the old output or the new one, whole.

`tests/unit/test_cli_stopped.py` tries a few of these places.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from small_world import World, codes, folder_bytes, small_world
from stopping import Outputs, beside, stopped

from builder.emit.write import STAGES

#: what a build calls, in order, and where it is looked up: the places to stop at besides the write's own
CALLS = (
    "builder.pipeline.cut:prune",
    "builder.pipeline.cut:overlay",
    "builder.pipeline.reduce:specialize",
    "builder.pipeline.reduce:lockstep.follow",
    "builder.pipeline.verify:true_places",
    "builder.pipeline.build:build_wheel",
    "builder.emit.lock:drift",
)

#: where folders cannot be exchanged, the last stages are others
LAST = STAGES[STAGES.index("written") :]
PLACES = [
    *((place, "swap") for place in (*CALLS, *STAGES) if place != "between"),
    *((place, "plain") for place in LAST),
]


def output_after(place: str, outputs: Outputs) -> object:
    return outputs.new if place in ("swapped", "cleaned") else outputs.old


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Outputs:
    return Outputs.below(tmp_path_factory.mktemp("ready"))


@pytest.fixture
def world(outputs: Outputs, tmp_path: Path) -> World:
    return outputs.copied(tmp_path)


@pytest.mark.parametrize(("place", "swap"), PLACES)
def test_sigkill_anywhere_leaves_one_whole_output_and_the_next_run_cleans_up(
    world: World, outputs: Outputs, place: str, swap: str
) -> None:
    done = stopped(world, place, signal.SIGKILL, swap)
    assert done.returncode == -signal.SIGKILL
    if place == "between":
        # the one moment without an output: what was there lies beside, and the next run knows
        assert not (world.home / "dist").exists()
    else:
        assert folder_bytes(world.home / "dist") == output_after(place, outputs)
    world.good("dist")
    assert folder_bytes(world.home / "dist") == outputs.new
    assert beside(world) == []


@pytest.mark.parametrize(("place", "swap"), PLACES)
def test_an_interruption_anywhere_is_130_and_leaves_nothing_behind(
    world: World, outputs: Outputs, place: str, swap: str
) -> None:
    done = stopped(world, place, signal.SIGINT, swap)
    assert done.returncode == 130, done.stderr
    assert "interrupted" in done.stderr and done.stdout == ""
    assert folder_bytes(world.home / "dist") == output_after(place, outputs)
    assert beside(world) == []


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=["SIGTERM", "SIGHUP"]
)
@pytest.mark.parametrize("place", ["builder.pipeline.reduce:specialize", "half", "swapped"])
def test_a_request_to_end_is_an_interruption_with_its_own_status(
    world: World, place: str, number: signal.Signals, status: int
) -> None:
    done = stopped(world, place, number)
    assert done.returncode == status, done.stderr
    assert beside(world) == []


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interruption_that_python_swallows_comes_again(
    world: World, outputs: Outputs, number: signal.Signals, status: int
) -> None:
    done = stopped(world, "fork", number)
    assert done.returncode == status, done.stderr
    assert folder_bytes(world.home / "dist") == outputs.old and beside(world) == []


def test_a_first_build_that_is_interrupted_leaves_no_output(tmp_path: Path) -> None:
    world = small_world(tmp_path)
    assert stopped(world, "half", signal.SIGINT).returncode == 130
    assert not (world.home / "dist").exists() and beside(world) == []


def test_an_interruption_of_the_whole_process_group_at_any_time_is_quiet(
    world: World, outputs: Outputs
) -> None:
    """As a terminal does it: to the builder and to the git and ruff that it runs."""
    for delay in (0.0, 0.04, 0.08, 0.12, 0.18, 0.24):
        running = subprocess.Popen(
            world.command("dist"), cwd=world.home, env=world.environment(), start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert running.stderr is not None and running.stderr.readline().startswith("upstream seed")
        time.sleep(delay)
        os.killpg(running.pid, signal.SIGINT)
        out, said = running.communicate(timeout=60)
        assert running.returncode in (0, 130), said
        assert "Traceback" not in said and "error[" not in said and out == "", said
        assert folder_bytes(world.home / "dist") in (outputs.old, outputs.new)
        assert beside(world) == []
        world.good("dist", "--without", "awk")


def test_two_builders_of_different_outputs_leave_one_of_them_whole(world: World, outputs: Outputs) -> None:
    commands = [world.command("dist"), world.command("dist", "--without", "awk")] * 2
    running = [
        subprocess.Popen(
            c, cwd=world.home, env=world.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True,
        )
        for c in commands
    ]  # fmt: skip
    for one in running:
        _, said = one.communicate(timeout=120)
        assert one.returncode == 0, said
    assert folder_bytes(world.home / "dist") in (outputs.old, outputs.new) and beside(world) == []


def test_a_builder_that_waits_too_long_for_another_says_so(world: World) -> None:
    hold = (
        "import sys, time\nfrom filelock import FileLock\n"
        "with FileLock(sys.argv[1]):\n    print('held', flush=True)\n    time.sleep(60)\n"
    )
    lock = world.home / ".dist.sglang-deepseek.lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", hold, str(lock)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        before = folder_bytes(world.home / "dist")
        done = world.run("dist")
        assert (done.returncode, codes(done.stderr)) == (7, ["E004"])
        assert folder_bytes(world.home / "dist") == before
    finally:
        holder.kill()
        holder.communicate()
    # its lock died with it
    world.good("dist")
    assert beside(world) == []
