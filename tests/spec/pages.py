"""Reads the specs: Markdown pages whose sections hold facts, a program before, and the program after.

A fence says what it is:

    yaml              the facts of this section, or of all sections when it stands above the first
    python            the first of a path is the program before, the second the one after
    python same       before and after
    python removed    before; nothing of it is left
    python upstream   the text that an edit has changed into the program before
    text leftovers    `line: name` of every use that is an error

A path other than `pkg/mod.py` follows as `path=...`; `crlf` and `bom` change the bytes of both
texts, `prune` (at the yaml) lets dead definitions leave.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.M | re.S)
_TITLE = re.compile(r"^## (.+)$", re.M)


@dataclass
class Section:
    """One example."""

    page: str
    title: str
    facts: str = ""
    prune: bool = False
    upstream: dict[str, bytes] = field(default_factory=dict)
    before: dict[str, bytes] = field(default_factory=dict)
    after: dict[str, bytes] = field(default_factory=dict)
    leftovers: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.page}: {self.title}"


def sections(folder: Path) -> list[Section]:
    """Every section of every page, in order."""
    return [section for page in sorted(folder.glob("*.md")) for section in _page(page)]


def _page(page: Path) -> Iterator[Section]:
    parts = _TITLE.split(page.read_text(encoding="utf-8"))
    common = Section(page.stem, "")
    for kind, words, body in _FENCE.findall(parts[0]):
        _add(common, kind, words, body)
    for title, text in zip(parts[1::2], parts[2::2], strict=True):
        section = Section(page.stem, title, common.facts, common.prune)
        for kind, words, body in _FENCE.findall(text):
            _add(section, kind, words, body)
        if set(section.before) != set(section.after):
            raise ValueError(f"{section}: a program has no counterpart")
        yield section


def _add(section: Section, kind: str, words: str, body: str) -> None:
    flags = words.split()
    if kind == "yaml":
        section.facts = body
        section.prune = "prune" in flags
    elif kind == "text" and "leftovers" in flags:
        section.leftovers = tuple(body.splitlines())
    elif kind == "python":
        path = next((f.removeprefix("path=") for f in flags if f.startswith("path=")), "pkg/mod.py")
        data = body.encode()
        if "crlf" in flags:
            data = data.replace(b"\n", b"\r\n")
        if "bom" in flags:
            data = b"\xef\xbb\xbf" + data
        if "upstream" in flags:
            section.upstream[path] = data
        elif "same" in flags:
            section.before[path] = section.after[path] = data
        elif "removed" in flags:
            section.before[path], section.after[path] = data, b""
        elif path in section.before:
            section.after[path] = data
        else:
            section.before[path] = data
