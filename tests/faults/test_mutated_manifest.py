"""Every statement of the real manifest is accounted for: spoilt, repeated or without its overlay it is named.

The default profile tries the statements at one pin and a seeded few of the rest; the long one all. The
upstream is a local repository (SGLANG_MIRROR).
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from mutated import (
    Place,
    candidates,
    doubled,
    lines_of,
    misplace,
    misplaceable,
    problems_of,
    refused,
    unnoticed,
    without_overlay,
)
from small_world import ROOT

from builder.errors import BuildError
from builder.manifest.load import load
from builder.manifest.statements import WholeFile, stated

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
MIRROR = os.environ.get("SGLANG_MIRROR")
SEED = 20240229
Record = Callable[[str, object], None]


def place_of(pin: str, cache: Path) -> Place:
    """The pin in the mirror; a clone that is shallow or older may not have it."""
    try:
        return Place.at(pin, Path(str(MIRROR)), cache)
    except BuildError as error:
        pytest.skip(f"this mirror does not have the pin {pin}: {error}")


@pytest.mark.skipif(not MIRROR, reason="SGLANG_MIRROR is not set: the pins need upstream's history")
@pytest.mark.parametrize("pin", ["seed", "june"] if LONG else ["seed"])
def test_a_statement_that_matches_nothing_is_named(pin: str, tmp_path: Path, record_property: Record) -> None:
    place = place_of(pin, tmp_path)
    if LONG:  # the lock proves it, too
        assert problems_of(place, place.manifest) == []
    marks = candidates(place)
    assert len(marks) > 200
    record_property("cases", len(marks))
    silent = unnoticed(place, set(marks))
    # a file that is new has nothing to match
    added = {one.mark for one in stated(place.manifest) if isinstance(one, WholeFile) and not one.replaces}
    assert [mark for mark in silent if mark not in added] == []


@pytest.mark.skipif(not MIRROR, reason="SGLANG_MIRROR is not set: the pins need upstream's history")
def test_a_statement_about_a_module_that_is_not_there_is_named(
    tmp_path: Path, record_property: Record
) -> None:
    place = place_of("seed", tmp_path)
    marks = misplaceable(place)
    assert len(marks) > 50
    record_property("cases", len(marks))
    assert unnoticed(place, set(marks), misplace) == []


def test_a_statement_that_is_made_twice_is_named(record_property: Record) -> None:
    texts = {
        file: text for file, text in load(ROOT / "manifest.yaml").texts.items() if file != "docs/scope.yaml"
    }
    chosen = list(doubled(texts))
    if not LONG:
        chosen = random.Random(SEED).sample(chosen, 25)
    record_property("cases", len(chosen))
    accepted = []
    for one in chosen:
        said = lines_of(refused(one))
        if not any(file == one.file and abs(line - one.line) <= 40 for file, line in said):
            accepted.append(f"{one.file}:{one.line}")
    assert accepted == []


def test_an_overlay_that_is_deleted_is_named(record_property: Record) -> None:
    manifest = load(ROOT / "manifest.yaml")
    chosen = sorted(manifest.overlays)
    if not LONG:
        chosen = random.Random(SEED).sample(chosen, min(12, len(chosen)))
    record_property("cases", len(chosen))
    for path in chosen:
        problems = without_overlay(path)
        assert any(path in problem.message for problem in problems), path
