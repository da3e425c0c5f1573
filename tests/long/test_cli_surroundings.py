"""Each setting of Python and the locale, and each stream that can be missing, in processes of their own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from closed_streams import harmless_without
from small_world import World, folder_bytes, small_world


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A world with an output that no test here may change."""
    found = small_world(tmp_path_factory.mktemp("world"))
    found.good("dist")
    return found


@pytest.mark.parametrize(
    "more",
    [
        {"HOME": None, "BUILDER_CACHE": None},
        {"LANG": "C", "LC_ALL": "C"},
        {"LC_ALL": "xx_XX.UTF-8"},
        {"COLUMNS": "40", "TERM": "dumb"},
        {"TZ": "Nowhere/Atall"},
        {"PATH": "/usr/bin:/bin"},
        {"PYTHONWARNINGS": "error"},
        {"PYTHONIOENCODING": "ascii"},
    ],
    ids=lambda more: " ".join(f"{k}={v}" for k, v in more.items()),
)
def test_a_bare_environment_gives_the_same_output(
    shared: World, tmp_path: Path, more: dict[str, str | None]
) -> None:
    built = shared.process("dist", "--out", str(tmp_path / "out"), **more)
    assert built.returncode == 0, built.stderr
    one = folder_bytes(tmp_path / "out", [".sglang-deepseek.index"])
    assert one == folder_bytes(shared.home / "dist", [".sglang-deepseek.index"])
    # what has no letters in the locale is written out
    done = shared.process("why", "docs/logo.bin", **more)
    assert done.returncode == 0 and "docs/a name with " in done.stdout, done.stderr


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("words", [("dist",), ("rules",)])
def test_a_closed_stream_harms_nothing(shared: World, words: tuple[str, ...], number: int) -> None:
    harmless_without(shared, number, *words)


def test_a_reader_that_goes_away_ends_the_builder_quietly(shared: World) -> None:
    for words in (("rules", "--format", "json"), ("explain",)):
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run(
            shared.command(*words), cwd=shared.home, env=shared.environment(), stdout=writing,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        os.close(writing)
        assert done.returncode == 141, done.stderr
        assert not [line for line in done.stderr.splitlines() if not line.startswith("upstream ")]
