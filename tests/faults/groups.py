"""The groups of faults that the builder must hold under, and the tests that try each of them.

groups.yaml names whole files or single tests, as pytest spells them; a prefix stands for all tests below it.
docs/reliability.md counts what ran.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml


@dataclass(frozen=True, slots=True)
class Group:
    """Faults of one kind: what is tried, what must come of it, and where."""

    title: str
    holds: str
    tests: tuple[str, ...]
    apart: str = ""  # what is not tried, and why


def _read() -> Iterator[tuple[str, Group]]:
    text = Path(__file__).with_name("groups.yaml").read_text("utf-8")
    for name, group in yaml.load(text, yaml.CSafeLoader).items():
        files = group.pop("tests").items()
        tests = [f"{file}::{test}" if test else file for file, some in files for test in some or [""]]
        yield name, Group(**group, tests=tuple(tests))


GROUPS = dict(_read())


def groups_of(node: str) -> Iterator[str]:
    """The groups that a test belongs to; `node` is its id, from the repository's root."""
    name = node.removeprefix("tests/")
    for group, stated in GROUPS.items():
        if name.startswith(stated.tests):
            yield group
