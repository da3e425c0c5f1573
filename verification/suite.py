"""The list of upstream's own tests, suite.txt."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class File:
    """One file of tests, by its path in upstream's tree."""

    path: str
    without: str = ""  # tests whose name contains this are left out
    why: str = ""


def parse(text: str) -> tuple[File, ...]:
    """Read a list. Raises ValueError, with the line, for tests that are left out without a reason."""
    found = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        words, _, why = (part.strip() for part in line.partition(" - "))
        path, _, without = words.partition(" ")
        if bool(without) != bool(why):
            raise ValueError(f"line {number}: what is left out needs a reason, and nothing else has one")
        found.append(File(path, without.strip(), why))
    return tuple(found)


def read() -> tuple[File, ...]:
    """The tests of this repository's list."""
    return parse((Path(__file__).parent / "suite.txt").read_text())
