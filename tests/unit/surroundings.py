"""A builder in a process with other surroundings: variables, closed streams, a reader that is gone."""

from __future__ import annotations

import functools
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from small_world import World, folder_bytes


def same_output(world: World, folder: Path, more: Mapping[str, str | None]) -> None:
    """With these variables the builder writes the output of `world` again, and `why` tells all it has to."""
    built = world.process("dist", "--out", str(folder / "out"), **more)
    assert built.returncode == 0, built.stderr
    assert folder_bytes(folder / "out") == folder_bytes(world.home / "dist")
    # what has no letters in the locale is written out
    done = world.process("why", "docs/logo.bin", **more)
    assert done.returncode == 0 and "docs/a name with " in done.stdout, done.stderr


def harmless_without(world: World, number: int, *words: str) -> None:
    """The builder does its work although the stream of this number, 0 to 2, is closed."""
    done = subprocess.run(
        world.command(*words), cwd=world.home, env=world.environment(), capture_output=True,
        preexec_fn=functools.partial(os.close, number),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr and b"E070" not in done.stderr


def quiet_without_reader(world: World, *words: str) -> None:
    """The builder ends without a word when nobody reads what it prints."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        world.command(*words), cwd=world.home, env=world.environment(), stdout=writing,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    os.close(writing)
    assert done.returncode == 141, done.stderr
    assert not [line for line in done.stderr.splitlines() if not line.startswith("upstream ")]
