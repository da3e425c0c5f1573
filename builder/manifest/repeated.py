"""Finds list items that are stated twice: the second does nothing, and deleting one changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from builder.errors import Problem
from builder.manifest.nodes import Document, Path, real

#: the value that an edit writes into a file of upstream may be any list
_FREE = frozenset(["value"])


def repeated(document: Document) -> Iterator[Problem]:
    """M002 for each item of a list that is already in the same list."""
    yield from _walk(document, document.data, ())


def _walk(document: Document, value: Any, path: Path) -> Iterator[Problem]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in _FREE:
                yield from _walk(document, inner, (*path, key))
    elif isinstance(value, list):
        first: dict[str, int] = {}
        for number, inner in enumerate(value):
            said = json.dumps(inner, sort_keys=True, default=repr)
            if said in first and _plain(document, (*path, first[said])) == _plain(document, (*path, number)):
                line = document.mark((*path, first[said])).line
                yield Problem(
                    "M002",
                    f"This item of the list is already on line {line}.",
                    document.mark((*path, number)),
                    hint="delete one of the two",
                )
            first.setdefault(said, number)
            yield from _walk(document, inner, (*path, number))


def _plain(document: Document, path: Path) -> set[Path]:
    """Which numbers below `path` have no quotes: `0.5` and `"0.5"` are different values of a program."""
    below = len(path)
    plain = (one for one in document.plain if one[:below] == path)
    return {one[below:] for one in plain if real(document.value(one)) is not None}
