"""Progress: what a person sees of a build on a terminal, without one, and when nothing is wanted."""

from __future__ import annotations

import errno
import os
import re
import sys

import pytest
from small_world import World

from builder import progress
from builder.cli.output import Display
from builder.parallel import Future
from builder.progress import Step

pty = pytest.importorskip("pty", reason="pseudo-terminals are POSIX only")


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Heard:
    """Records what is reported."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def stage(self, name: str) -> None:
        self.told.append(name)

    def step(self, step: Step) -> None:
        self.told.append(tuple(step))

    def summary(self, text: str) -> None:
        self.told.append({"summary": text})


def test_each_item_is_counted_before_it_is_worked_on_and_the_last_one_after() -> None:
    heard = Heard()
    with progress.listening(heard):
        progress.stage("cutting")
        assert list(progress.counted("round 1", ["a", "b"])) == ["a", "b"]
        progress.summary("2 files")
    assert heard.told == [
        "cutting", ("round 1", 0, 2), ("round 1", 1, 2), ("round 1", 2, 2), {"summary": "2 files"},
    ]  # fmt: skip
    progress.stage("nobody listens")
    assert len(heard.told) == 5


def test_a_forked_process_reports_to_nobody() -> None:
    heard = Heard()

    def work() -> list[object]:
        progress.stage("in the child")
        return list(heard.told)

    with progress.listening(heard):
        assert Future(work).result() == []
    assert heard.told == []


def test_without_a_terminal_a_stage_is_one_line_with_its_time_and_what_it_came_to(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = Clock()
    display = Display(terminal=False, verbose=False, colour=False, clock=clock)
    display.stage("cutting")
    display.step(Step("round 1", 0, 9))
    clock.now += 12.34
    display.summary = "9 files"
    display.stage("verifying")
    clock.now += 0.2
    display.stage("")
    assert capsys.readouterr().err == "cutting                    12.3 s  9 files\n"


def test_without_a_terminal_a_long_stage_says_how_far_it_is_every_half_minute(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = Clock()
    display = Display(terminal=False, verbose=False, colour=False, clock=clock)
    display.stage("looking for upstream")
    clock.now += 40
    display.stage("cutting")
    for done in range(80):
        display.step(Step("round 1", done, 80))
        clock.now += 1
    display.step(Step("comparing with upstream"))
    clock.now += 20
    display.step(Step("comparing with upstream"))
    display.stage("")
    assert capsys.readouterr().err == (
        "looking for upstream       40.0 s\n"
        "cutting: round 1           30.0 s  30 of 80\n"
        "cutting: round 1           60.0 s  60 of 80\n"
        "cutting: comparing with upstream  100.0 s\n"
        "cutting                   100.0 s\n"
    )


def test_verbose_names_each_step_once(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    display = Display(terminal=False, verbose=True, colour=False, clock=clock)
    display.stage("cutting")
    for done in range(3):
        display.step(Step("round 1", done, 2))
    display.step(Step("round 2", 0, 1))
    assert capsys.readouterr().err == "  round 1\n  round 2\n"


def test_quiet_prints_nothing_but_problems(world: World) -> None:
    for words in (("dist", "-q"), ("-q", "dist")):
        done = world.good(*words)
        assert done.stderr == "" and done.stdout == ""
    assert "error[" in world.run("dist", "-q", "nowhere").stderr


def test_without_a_terminal_there_are_no_control_characters_and_a_last_line(world: World) -> None:
    told = world.good("dist").stderr
    assert "\x1b" not in told and "\r" not in told
    assert re.search(r"^built +\d+\.\d s$", told, re.M), told
    assert world.good("dist").stderr.endswith("\ndist is up to date\n")


def test_with_json_nothing_is_told_beside_the_data(world: World) -> None:
    world.good("dist")
    told = world.good("plan", "--format", "json")
    assert told.stderr == "" and told.stdout.startswith("{")


@pytest.mark.parametrize(
    ("words", "more", "coloured"),
    [
        ((), {}, False),
        (("--color", "always"), {}, True),
        (("--color", "always"), {"NO_COLOR": "1"}, True),
        ((), {"NO_COLOR": "1"}, False),
        ((), {"FORCE_COLOR": "1"}, True),
        ((), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (("--color", "never"), {"FORCE_COLOR": "1"}, False),
        (("--color", "auto"), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_colours_are_used_as_the_option_says_and_else_as_the_environment_says(
    world: World, words: tuple[str, ...], more: dict[str, str], coloured: bool
) -> None:
    done = world.run("plan", "nowhere", *words, **({"NO_COLOR": None, "FORCE_COLOR": None} | more))
    assert ("\x1b" in done.stderr) == ("\x1b[1;31merror[U001]" in done.stderr) == coloured


def terminal(world: World, *words: str, **more: str) -> tuple[int, str]:
    """Status and output of a builder whose stdout and stderr are a terminal."""
    child, fd = pty.fork()
    if child == 0:
        os.chdir(world.home)
        environment = world.environment(TERM="xterm-256color", NO_COLOR=None, FORCE_COLOR=None) | more
        os.execve(sys.executable, world.command(*words), environment)
    told = b""
    while True:
        try:
            piece = os.read(fd, 65536)
        except OSError as error:
            assert error.errno == errno.EIO
            break
        if not piece:
            break
        told += piece
    os.close(fd)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), told.decode()


def test_a_terminal_shows_a_bar_for_each_stage_and_gets_its_cursor_back(world: World) -> None:
    status, told = terminal(world, "dist")
    assert status == 0
    assert "cutting" in told and "verifying" in told
    assert told.count("\x1b[?25l") == told.count("\x1b[?25h") > 0
    assert re.search(r"built +\d+\.\d s\r\n$", told), told[-200:]
    assert "0/?" not in told


def test_a_terminal_gets_its_cursor_back_after_an_error(world: World) -> None:
    world.change("    remove: [python/acme/layers/awk.py]\n", "    remove: [python/acme/layers/gone.py]\n")
    status, told = terminal(world, "dist")
    assert status == 5 and "error[" in told.replace("\x1b[1m", "").replace("\x1b[31m", "")
    assert told.count("\x1b[?25l") == told.count("\x1b[?25h")


def test_no_color_takes_the_colours_from_the_bar(world: World) -> None:
    _, told = terminal(world, "dist", NO_COLOR="1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", told)
