"""A builder that is interrupted, ended or killed at any stage leaves the old output or the new one, whole."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from small_world import World, codes, folder_bytes, small_world

from builder.emit.write import STAGES

#: what a build calls, in order, and where it is looked up: the places to stop at besides the write's own
CALLS = (
    "builder.pipeline.cut:prune",
    "builder.pipeline.cut:overlay",
    "builder.pipeline.reduce:specialize",
    "builder.pipeline.reduce:lockstep.follow",
    "builder.pipeline.verify:check",
    "builder.pipeline.build:build_wheel",
    "builder.pipeline.lockfile:confirm",
)

#: runs the command line with a signal to itself at one place; the exchange of folders can be forbidden
DRIVER = """
import functools, importlib, os, sys
import builder.emit.write as writing
place, number, plain = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "plain"
sys.argv = ["builder", *sys.argv[4:]]

def stop():
    os.kill(os.getpid(), number)

original = writing.write

def write(out, output, **more):
    if plain:
        more["swap"] = lambda one, other: False
    return original(out, output, checkpoint=lambda stage: stop() if stage == place else None, **more)

writing.write = write
if place == "fork":
    # here Python prints what is raised and goes on
    os.register_at_fork(before=stop)
if ":" in place:
    module, _, name = place.partition(":")
    holder = importlib.import_module(module)
    for part in name.split(".")[:-1]:
        holder = getattr(holder, part)
    name = name.rpartition(".")[2]
    called = getattr(holder, name)

    @functools.wraps(called)
    def stopping(*args, **more):
        stop()
        return called(*args, **more)

    setattr(holder, name, stopping)
from builder.cli import main
main()
"""


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A world whose output is that of the manifest without a batch, and two outputs to compare with."""
    found = small_world(tmp_path_factory.mktemp("ready"))
    found.good("dist", "--without", "awk")
    found.good("dist", "--out", "../new")
    shutil.copytree(found.home / "dist", found.home.parent / "old", symlinks=True)
    return found


@pytest.fixture
def world(ready: World, tmp_path: Path) -> World:
    shutil.copytree(ready.home, tmp_path / "home", symlinks=True)
    return World(ready.repository, ready.commit, tmp_path / "home")


@pytest.fixture(scope="module")
def outputs(ready: World) -> tuple[object, object]:
    """The old output and the new one, for comparison."""
    return contents(ready.home.parent / "old"), contents(ready.home.parent / "new")


def contents(folder: Path) -> object:
    return folder_bytes(folder, [".sglang-deepseek.index"])


def beside(world: World) -> list[str]:
    """What a run left in the manifest's folder that was not there before it."""
    return sorted(p.name for p in world.home.iterdir() if p.name not in ("manifest.yaml", "overlays", "dist"))


def stopped(
    world: World, place: str, number: signal.Signals, swap: str = "swap"
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, place, str(int(number)), swap, "dist"],
        cwd=world.home, env=world.environment(), capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return done


#: where folders cannot be exchanged, the last stages are others
LAST = STAGES[STAGES.index("written") :]
PLACES = [
    *((place, "swap") for place in (*CALLS, *STAGES) if place != "between"),
    *((place, "plain") for place in LAST),
]


@pytest.mark.parametrize(("place", "swap"), PLACES)
def test_sigkill_anywhere_leaves_one_whole_output_and_the_next_run_cleans_up(
    world: World, outputs: tuple[object, object], place: str, swap: str
) -> None:
    done = stopped(world, place, signal.SIGKILL, swap)
    assert done.returncode == -signal.SIGKILL
    old, new = outputs
    if place == "between":
        # the one moment without an output: what was there lies beside, and the next run knows
        assert not (world.home / "dist").exists()
    else:
        assert contents(world.home / "dist") == (new if place in ("swapped", "cleaned") else old)
    world.good("dist")
    assert contents(world.home / "dist") == new
    assert beside(world) == []


@pytest.mark.parametrize(("place", "swap"), PLACES)
def test_an_interruption_anywhere_is_130_and_leaves_nothing_behind(
    world: World, outputs: tuple[object, object], place: str, swap: str
) -> None:
    done = stopped(world, place, signal.SIGINT, swap)
    assert done.returncode == 130, done.stderr
    assert "interrupted" in done.stderr and done.stdout == ""
    old, new = outputs
    assert contents(world.home / "dist") == (new if place in ("swapped", "cleaned") else old)
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
    world: World, outputs: tuple[object, object], number: signal.Signals, status: int
) -> None:
    done = stopped(world, "fork", number)
    assert done.returncode == status, done.stderr
    assert contents(world.home / "dist") == outputs[0] and beside(world) == []


def test_a_first_build_that_is_interrupted_leaves_no_output(tmp_path: Path) -> None:
    world = small_world(tmp_path)
    assert stopped(world, "half", signal.SIGINT).returncode == 130
    assert not (world.home / "dist").exists() and beside(world) == []


def test_an_interruption_of_the_whole_process_group_at_any_time_is_quiet(
    world: World, outputs: tuple[object, object]
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
        assert contents(world.home / "dist") in outputs
        assert beside(world) == []
        world.good("dist", "--without", "awk")


def test_two_builders_of_one_output_both_end_well(world: World, outputs: tuple[object, object]) -> None:
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
    assert contents(world.home / "dist") == outputs[1] and beside(world) == []


def test_two_builders_of_different_outputs_leave_one_of_them_whole(
    world: World, outputs: tuple[object, object]
) -> None:
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
    assert contents(world.home / "dist") in outputs and beside(world) == []


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
        before = contents(world.home / "dist")
        done = world.run("dist")
        assert (done.returncode, codes(done.stderr)) == (7, ["E004"])
        assert contents(world.home / "dist") == before
    finally:
        holder.kill()
        holder.communicate()
    # its lock died with it
    world.good("dist")
    assert beside(world) == []
