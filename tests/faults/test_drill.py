"""A fault at any system call leaves the old output or the new one, whole, and the next run succeeds.

The default profile tries a seeded few, HYPOTHESIS_PROFILE=long hundreds.
"""

from __future__ import annotations

import errno
import os
import random
import signal
from collections.abc import Callable, Iterator

import pytest
from drill import SCENES, Drill, Outcome, Scene

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
SEED = 20240229
ERRORS = ("ENOSPC", "EIO", "EMFILE", "EACCES", "EROFS", "EXDEV", "EAGAIN")
ENDS = {"SIGINT": 130, "SIGTERM": 143, "SIGHUP": 129}
Check = Callable[[Drill, Outcome, str, str], None]
CAUSES = {os.strerror(getattr(errno, name)).lower() for name in ERRORS}


@pytest.fixture(scope="module")
def drill(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drill]:
    made = Drill(tmp_path_factory.mktemp("drill"))
    yield made
    made.close()


def rounds(drill: Drill, scene: Scene, faults: tuple[str, ...], count: int, check: Check) -> int:
    """Try `count` seeded faults; returns how many of them came about."""
    drill.reset(scene)
    calls = drill.run(scene).calls
    assert calls > 40, "the faults are installed where nothing is called"
    chosen = random.Random(f"{SEED} {scene.name} {faults}")
    begun = "old" if scene.old else "none"
    happened = 0
    for number in range(count):
        # stratified, so that a few cases already reach from the start to the end
        at = int((number + chosen.random()) * calls / count)
        fault = faults[number % len(faults)]
        drill.reset(scene)
        outcome = drill.run(scene, at, fault)
        told = f"{scene.name}: {fault} at call {at} of {calls}: {outcome}"
        happened += outcome.status != 0
        check(drill, outcome, begun, told)
        again = drill.run(scene)
        assert again.status == 0, f"{told}\nand then {again}"
        assert drill.state() == "new" and drill.left() == [], f"{told}\nand then {drill.left()}"
    return happened


def killed(drill: Drill, outcome: Outcome, begun: str, told: str) -> None:
    assert outcome.status in (-signal.SIGKILL, 0), told
    if drill.state() == "none":
        # without an exchange of folders there is one moment without an output; the old one is beside it
        assert begun == "none" or (drill.world.home / ".dist.sglang-deepseek.old").is_dir(), told


def ended(drill: Drill, outcome: Outcome, begun: str, told: str) -> None:
    assert outcome.status in (*ENDS.values(), 0), told
    assert drill.state() in (begun, "new"), told
    assert drill.left() == [], f"{told}\nleft {drill.left()}"


def refused(drill: Drill, outcome: Outcome, begun: str, told: str) -> None:
    # 4 and 6: the manifest, the upstream; 7: the environment
    assert outcome.status in (0, 4, 6, 7), told
    assert outcome.status == 0 or "error[" in outcome.stderr, told
    assert outcome.status == 0 or any(cause in outcome.stderr.lower() for cause in CAUSES), told
    assert drill.state() in (begun, "new"), told


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_sigkill_at_any_call_leaves_one_whole_output(
    drill: Drill, scene: Scene, record_property: Callable[[str, object], None]
) -> None:
    count = 52 if LONG else 4
    record_property("cases", count)
    assert rounds(drill, scene, ("SIGKILL",), count, killed) > count // 2


@pytest.mark.parametrize("scene", SCENES[:3], ids=lambda scene: scene.name)
def test_a_request_to_end_at_any_call_leaves_nothing_beside_the_output(
    drill: Drill, scene: Scene, record_property: Callable[[str, object], None]
) -> None:
    count = 30 if LONG else 3
    record_property("cases", count)
    rounds(drill, scene, tuple(ENDS), count, ended)


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_a_system_call_that_fails_is_told_and_harms_nothing(
    drill: Drill, scene: Scene, record_property: Callable[[str, object], None]
) -> None:
    count = 35 if LONG else 7
    record_property("cases", count)
    rounds(drill, scene, ERRORS, count, refused)


def test_the_state_of_a_mixed_output_is_told(drill: Drill) -> None:
    """The drill itself can fail."""
    drill.reset(SCENES[0])
    (drill.out / "tree/README.md").write_bytes(b"another")
    with pytest.raises(AssertionError, match="a mix"):
        drill.state()


def test_the_fork_server_installs_what_it_is_told(drill: Drill) -> None:
    drill.reset(SCENES[0])
    assert drill.run(SCENES[0], 5, "SIGKILL").status == -signal.SIGKILL
    assert drill.run(SCENES[0], 0, "ENOSPC").status == 7
    assert drill.run(SCENES[0]).status == 0
