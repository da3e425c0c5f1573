"""An exception that nobody foresaw: coded, its traceback in a file, on the terminal only when asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest
from small_world import World, codes

BROKEN = """
import builder.manifest.load as load

def broken(path):
    raise KeyError("a bug")

load.load = broken
from builder.cli import main
main()
"""


def broken(world: World, *words: str, program: str = BROKEN) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *words],
        cwd=world.home, env=world.environment(), capture_output=True, text=True, timeout=60,
    )  # fmt: skip


def test_the_traceback_goes_to_a_file_whose_path_is_printed(world: World) -> None:
    done = broken(world, "dist")
    log = world.home.parent / "cache" / "internal-error.log"
    assert (done.returncode, codes(done.stderr)) == (70, ["E070"])
    assert "Internal error: KeyError: 'a bug' (" in done.stderr and str(log) in done.stderr
    assert "Traceback" not in done.stderr
    assert "Traceback" in log.read_text() and "in broken" in log.read_text()


def test_the_cache_of_the_command_line_has_the_file(world: World) -> None:
    done = broken(world, "plan", "--cache", "other")
    assert done.returncode == 70 and (world.home / "other/internal-error.log").is_file()


def test_debug_shows_the_traceback_beside_the_problem(world: World) -> None:
    done = broken(world, "--debug", "dist", "--format", "json")
    assert done.returncode == 70 and "Traceback" in done.stderr and '"code": "E070"' in done.stdout


def test_without_a_place_for_the_file_debug_is_the_remedy(world: World) -> None:
    (world.home.parent / "cache").write_text("no folder")
    done = broken(world, "dist")
    assert done.returncode == 70 and "`--debug`" in done.stderr


@pytest.mark.parametrize("error", ["OSError(9, 'closed twice')", "fail('E003', 'The tool was ended.')"])
def test_an_error_of_the_clean_up_after_a_signal_is_an_interruption(world: World, error: str) -> None:
    program = BROKEN.replace(
        'raise KeyError("a bug")',
        f"""import os, signal
    from builder.errors import fail
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        signal.pause()
    finally:
        raise {error}""",
    )
    done = broken(world, "dist", program=program)
    assert done.returncode == 143 and "interrupted" in done.stderr and "error" not in done.stderr, done.stderr
