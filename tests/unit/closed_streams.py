"""A builder that is started with a closed stream."""

from __future__ import annotations

import functools
import os
import subprocess

from small_world import World


def harmless_without(world: World, number: int, *words: str) -> None:
    """The builder does its work although the stream of this number, 0 to 2, is closed."""
    done = subprocess.run(
        world.command(*words), cwd=world.home, env=world.environment(), capture_output=True,
        preexec_fn=functools.partial(os.close, number),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr and b"E070" not in done.stderr
