"""Identifiers per file, found in bytes: a cheap over-approximation of what a file may refer to."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

_WORD = re.compile(rb"[A-Za-z_][A-Za-z_0-9]*")


class Words:
    """Counts of identifiers (comments and strings included) for a changing set of files."""

    def __init__(self) -> None:
        self._by_content: dict[int, tuple[bytes, Counter[bytes]]] = {}

    def of(self, data: bytes) -> Counter[bytes]:
        found = self._by_content.get(id(data))
        if found is None or found[0] is not data:
            found = (data, Counter(_WORD.findall(data)))
            self._by_content[id(data)] = found
        return found[1]

    def total(self, files: Iterable[bytes]) -> Counter[bytes]:
        total: Counter[bytes] = Counter()
        for data in files:
            total.update(self.of(data))
        return total


_DEFINES = re.compile(
    rb"^[ \t]*(?:async[ \t]+def|def|class)[ \t]+([A-Za-z_]\w*)|^([A-Za-z_]\w*)[ \t]*(?::[^=\n]+)?=[^=]", re.M
)


def defines(data: bytes) -> list[bytes]:
    """Names of what looks like definitions and module-level assignments."""
    return [one or two for one, two in _DEFINES.findall(data)]


def mentions(data: bytes, name: bytes) -> bool:
    """Does a line refer to `name` other than in a comment or where it defines it?"""
    pattern = re.compile(rb"(?<![A-Za-z0-9_])" + name + rb"(?![A-Za-z0-9_])")
    for match in pattern.finditer(data):
        start = data.rfind(b"\n", 0, match.start()) + 1
        before = data[start : match.start()]
        if b"#" not in before and not re.search(rb"(?:def|class)[ \t]+\Z", before):
            return True
    return False


def holding(files: Mapping[str, bytes], needles: Iterable[str]) -> set[str]:
    """The files that hold one of the needles, as plain bytes (a superset of those that use it)."""
    wanted = sorted({n.encode() for n in needles if n})
    if not wanted:
        return set()
    return {path for path, data in files.items() if any(n in data for n in wanted)}
