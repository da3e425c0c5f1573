"""Finds the offsets of the keys, values and array items of a TOML text.

tomlkit reads and renders values, but its array edits move comments and drop the wrong items, so
the text is edited by spans and the result is checked against an edit of the plain data.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from builder.native.text import Comment, Scanned, blank

Path = tuple[str, ...]

_LEXEME = re.compile(
    r'(?P<comment>#[^\n]*)|(?P<string>"""(?:\\.|[^\\])*?"{3,5}|' + r"'''.*?'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"' + r"|'[^'\n]*')",
    re.DOTALL,
)
_KEY = re.compile(
    r"""[ \t]*(?:(?P<bare>[A-Za-z0-9_-]+)|"(?P<basic>(?:\\.|[^"\\\n])*)"|'(?P<literal>[^'\n]*)')[ \t]*"""
)
_OPEN, _CLOSE = "[{", "]}"


@dataclass(frozen=True, slots=True)
class Pair:
    """`key = value`; an array item has the path of its array and no key."""

    path: Path
    start: int
    value: int
    end: int


@dataclass(frozen=True, slots=True)
class Table:
    """A `[header]` and what follows until the next one; the root table has an empty path."""

    path: Path
    start: int
    body: int
    end: int
    array: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    scanned: Scanned
    tables: tuple[Table, ...]
    pairs: tuple[Pair, ...]


def scan(text: str) -> Layout:
    """Read a text that tomlkit has accepted."""
    comments, strings = [], []
    for match in _LEXEME.finditer(text):
        if match["comment"] is not None:
            comments.append(Comment(*match.span()))
        else:
            strings.append((match.start() + 1, match.end() - 1))
    bare = blank(text, ((c.start, c.end) for c in comments))
    scanned = Scanned(text, bare, blank(bare, strings), tuple(comments))
    tables = tuple(_tables(scanned))
    pairs = tuple(pair for table in tables for pair in _pairs(scanned, table.path, table.body, table.end))
    return Layout(scanned, tables, pairs)


def items(scanned: Scanned, pair: Pair) -> list[tuple[int, int]]:
    """The spans of the items of an array."""
    start, end = pair.value + 1, pair.end - 1
    spans = []
    for left, right in _split(scanned.code, start, end):
        inner = scanned.bare[left:right]
        if inner.strip():
            spans.append((left + len(inner) - len(inner.lstrip()), left + len(inner.rstrip())))
    return spans


def split_key(key: str) -> Path | None:
    """A dotted key, quoted parts allowed; None when it is not one."""
    read = _key(key, 0)
    return read[0] if read and read[1] == len(key) else None


def _tables(scanned: Scanned) -> Iterator[Table]:
    code, at, depth = scanned.code, 0, 0
    heads: list[tuple[Path, int, int, bool]] = [((), 0, 0, False)]
    while at < len(code):
        end = code.find("\n", at)
        end = len(code) if end < 0 else end
        line = code[at:end]
        if depth == 0 and line.lstrip().startswith("["):
            double = line.lstrip().startswith("[[")
            inner = scanned.text.index("[", at) + (2 if double else 1)
            read = _key(scanned.text, inner)
            if read:
                heads.append((read[0], at, min(end + 1, len(code)), double))
        else:
            depth += sum(line.count(c) for c in _OPEN) - sum(line.count(c) for c in _CLOSE)
        at = end + 1
    for index, (path, start, body, double) in enumerate(heads):
        stop = heads[index + 1][1] if index + 1 < len(heads) else len(code)
        yield Table(path, start, body, stop, double)


def _pairs(scanned: Scanned, prefix: Path, start: int, end: int) -> Iterator[Pair]:
    """The pairs of a table body, and those of the inline tables in it."""
    at = start
    while at < end:
        if scanned.bare[at].isspace() or scanned.bare[at] == ",":
            at += 1
            continue
        read = _key(scanned.text, at)
        if read is None or scanned.text[read[1] : read[1] + 1] != "=":
            at += 1
            continue
        value = read[1] + 1
        while scanned.text[value] in " \t":
            value += 1
        stop = _value_end(scanned, value, end)
        path = prefix + read[0]
        yield Pair(path, at, value, stop)
        if scanned.text[value] == "{":
            yield from _pairs(scanned, path, value + 1, stop - 1)
        at = stop


def _value_end(scanned: Scanned, at: int, end: int) -> int:
    """After a value: to the line's end, or to the comma or brace that ends it in an inline table."""
    code, depth, start = scanned.code, 0, at
    while at < end:
        char = code[at]
        if char in _OPEN:
            depth += 1
        elif char in _CLOSE:
            depth -= 1
        elif depth == 0 and (char == "," or (char == "\n" and not _in_string(scanned, start, at))):
            break
        at += 1
    return start + len(scanned.bare[start:at].rstrip())


def _in_string(scanned: Scanned, start: int, at: int) -> bool:
    """Whether a multi-line string that begins at `start` is still open at `at`."""
    match = _LEXEME.match(scanned.text, start)
    return match is not None and at < match.end()


def _split(code: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    depth, left = 0, start
    for at in range(start, end):
        if code[at] in _OPEN:
            depth += 1
        elif code[at] in _CLOSE:
            depth -= 1
        elif code[at] == "," and depth == 0:
            yield left, at
            left = at + 1
    yield left, end


def _key(text: str, at: int) -> tuple[Path, int] | None:
    parts: list[str] = []
    while True:
        match = _KEY.match(text, at)
        if match is None:
            return None
        if match["basic"] is not None and "\\" in match["basic"]:
            return None  # an escaped key is nobody's target
        parts.append(next(g for g in (match["bare"], match["basic"], match["literal"]) if g is not None))
        at = match.end()
        if text[at : at + 1] != ".":
            return tuple(parts), at
        at += 1
