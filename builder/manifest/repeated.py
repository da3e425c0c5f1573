"""Finds list items that are stated twice: the second does nothing, and deleting one changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator

from builder.errors import Problem
from builder.manifest.nodes import Node, real


def repeated(node: Node) -> Iterator[Problem]:
    """M002 for each item of a list that is already in the same list."""
    lines: dict[str, int] = {}
    for part in node.parts:
        if part.key == "value":
            continue  # what an edit writes into a file of upstream may be any list
        if isinstance(part.key, int):
            # `0.5` and `"0.5"` are different values of a program
            bare = [path for path, one in part.walk() if one.plain and real(one.data) is not None]
            stated = json.dumps([part.data, sorted(map(repr, bare))], sort_keys=True, default=repr)
            if stated in lines:
                message = f"This item of the list is already on line {lines[stated]}."
                yield Problem("M002", message, part.mark, hint="delete one of the two")
            lines.setdefault(stated, part.mark.line)
        yield from repeated(part)
