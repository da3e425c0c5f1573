"""Reads pages of test cases: YAML lists of mappings, each with a `name`.

Of the `tries` of a case, each is a case that has the rest in common. A page may be a mapping with `cases` and
what they share; a case has it as `page`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml


def load(name: str) -> Any:
    return yaml.load((Path(__file__).parent / name).read_text("utf-8"), yaml.CSafeLoader)


def cases(*names: str) -> Iterator[Any]:
    """The cases of pages, as parameters of a test."""
    for name in names:
        page = load(name)
        common = {"page": {**page, "name": Path(name).stem}} if isinstance(page, dict) else {}
        for case in page["cases"] if common else page:
            for number, each in enumerate(case.get("tries", [{}]), 1):
                title = f"{Path(name).stem}: {case['name']}" + (f" ({number})" if "tries" in case else "")
                yield pytest.param({**common, **case, **each}, id=title)


def changed(old: Any, new: Any) -> Any:
    """Another text in place of one, or the same with parts replaced."""
    for part, other in new.items() if isinstance(new, Mapping) else ():
        assert part in old, part
        old = old.replace(part, other)
    return old if isinstance(new, Mapping) else new


def lacking(said: list[str], wanted: list[list[str]]) -> list[str]:
    """The texts of each row that the message in its place does not have."""
    assert len(said) == len(wanted), said
    return [part for text, parts in zip(said, wanted, strict=True) for part in parts if part not in text]
