"""Each setting of Python and the locale, and each stream that can be missing, in processes of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_world import World
from surroundings import harmless_without, quiet_without_reader, same_output


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
    same_output(shared, tmp_path, more)


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("words", [("dist",), ("rules",)])
def test_a_closed_stream_harms_nothing(shared: World, words: tuple[str, ...], number: int) -> None:
    harmless_without(shared, number, *words)


def test_a_reader_that_goes_away_ends_the_builder_quietly(shared: World) -> None:
    for words in (("rules", "--format", "json"), ("explain",)):
        quiet_without_reader(shared, *words)
