"""Finds the offsets of the keys, values and members of a TOML text.

tomlkit reads and renders values, but its array edits move comments and drop the wrong items, so
the text is edited by spans and the result is checked against an edit of the plain data.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from builder.native.text import Comment, Scanned, blank, closing

Path = tuple[str, ...]

_STRINGS = r'"""(?:\\.|[^\\])*?"{3,5}|' + r"'''.*?'{3,5}" + r'|"(?:\\.|[^"\\\n])*"' + r"|'[^'\n]*'"
_STRING = re.compile(_STRINGS, re.DOTALL)
_LEXEME = re.compile(rf"(?P<comment>#[^\n]*)|{_STRINGS}", re.DOTALL)
_KEY = re.compile(r"""[ \t]*(?:([A-Za-z0-9_-]+)|"((?:\\.|[^"\\\n])*)"|'([^'\n]*)')[ \t]*""")
_EQUALS = re.compile(r"=[ \t]*")
_HEADER = re.compile(r"\[\[?")
_VISIBLE = re.compile(r"\S")


@dataclass(frozen=True, slots=True)
class Part:
    """`key = value`, in a table or an inline table; or a `[header]` with the pairs below it.

    The root table has an empty path. `value`: where the value begins; for a table, its start.
    """

    path: Path
    start: int
    value: int
    end: int


@dataclass(frozen=True, slots=True)
class Layout:
    scanned: Scanned
    tables: tuple[Part, ...]
    pairs: tuple[Part, ...]


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
    tables: list[Part] = [Part((), 0, 0, 0)]
    pairs: list[Part] = []
    at = 0
    while visible := _VISIBLE.search(bare, at):
        at = visible.start()
        end = _line_end(text, at)
        if header := _HEADER.match(text, at):
            path, _ = _key(text, header.end()) or ((), 0)
            tables.append(Part(path, at, at, end))
        elif more := list(_pairs(scanned, tables[-1].path, at)):
            pairs += more
            end = more[0].end
        at = end
        tables[-1] = replace(tables[-1], end=end)
    return Layout(scanned, tuple(tables), tuple(pairs))


def members(scanned: Scanned, pair: Part) -> list[tuple[int, int]]:
    """The spans of what the commas of an array or an inline table separate."""
    spans = []
    at = left = pair.value + 1
    while at < pair.end:
        if scanned.code[at] in "[{":
            at = closing(scanned.code, at)
            continue
        if scanned.code[at] == "," or at == pair.end - 1:
            inner = scanned.bare[left:at]
            if inner.strip():
                spans.append((at - len(inner.lstrip()), left + len(inner.rstrip())))
            left = at + 1
        at += 1
    return spans


def split_key(key: str) -> Path | None:
    """A dotted key, quoted parts without escapes allowed; None when it is not one."""
    read = _key(key, 0)
    return read[0] if read and read[1] == len(key) and "\\" not in key else None


def _pairs(scanned: Scanned, prefix: Path, start: int, end: int = 0) -> Iterator[Part]:
    """The pair that begins at an offset, and those of the inline tables in its value."""
    key = _key(scanned.text, start)
    equals = _EQUALS.match(scanned.text, key[1]) if key else None
    if key and equals:
        value = equals.end()
        pair = Part(prefix + key[0], start, value, end or _value_end(scanned, value))
        yield pair
        if scanned.text[value] == "{":
            for member in members(scanned, pair):
                yield from _pairs(scanned, pair.path, *member)


def _value_end(scanned: Scanned, at: int) -> int:
    """After a value that its line ends, unless it is a string or has brackets."""
    if string := _STRING.match(scanned.text, at):
        return string.end()
    return closing(scanned.code, at) if scanned.text[at] in "[{" else _line_end(scanned.bare, at)


def _line_end(text: str, at: int) -> int:
    """After the last visible character of a line."""
    return at + len(text[at:].partition("\n")[0].rstrip())


def _key(text: str, at: int) -> tuple[Path, int] | None:
    """A dotted key and the offset after it; the escapes in a quoted part stay as they are written."""
    parts: list[str] = []
    while match := _KEY.match(text, at):
        parts.append(next(group for group in match.groups() if group is not None))
        at = match.end()
        if text[at : at + 1] != ".":
            return tuple(parts), at
        at += 1
    return None
