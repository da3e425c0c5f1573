"""A syntax tree of a few lines of a file: statements that span none of them are not parsed.

Only statements of the module and of its classes are left out. What is there has the places that it has in
the tree of the whole file.
"""

from __future__ import annotations

import ast
import warnings
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from builder.source.layout import first_line, starts_line
from builder.source.parse import Module, line_starts

#: Where the statements of a module and its classes are, as `extents` gives them.
Extents = bytes

_Lines = tuple[int, int]


def extents(module: Module) -> Extents:
    """The first and the last line of each statement of a module, and of each in a class of the module.

    Statements that share a line are one. As numbers: for each statement its lines, the number of statements
    in it that can be left out, and their lines.
    """
    found: list[tuple[_Lines, list[_Lines]]] = []
    for stmt in module.tree.body:
        lines = _lines(stmt)
        inner: list[_Lines] = []
        if isinstance(stmt, ast.ClassDef) and starts_line(module, stmt.body[0]):
            for member in map(_lines, stmt.body):
                if inner and member[0] <= inner[-1][1]:
                    inner[-1] = inner[-1][0], member[1]
                else:
                    inner.append(member)
        if found and lines[0] <= found[-1][0][1]:
            found[-1] = (found[-1][0][0], lines[1]), []
        else:
            found.append((lines, inner))
    numbers = array("I")
    for lines, inner in found:
        numbers.extend((*lines, len(inner)))
        for member in inner:
            numbers.extend(member)
    return numbers.tobytes()


def glimpse(data: bytes, where: Extents, lines: Sequence[int]) -> tuple[ast.Module, int] | None:
    """The tree of the statements that span one of the 1-based, sorted `lines` of the text `data`, and how
    many bytes they are.

    None where that is most of the file, or does not parse alone.
    """
    starts = line_starts(data)
    text, at = bytearray(), 1
    for first, last in _kept(where, lines):
        text += b"\n" * (first - at) + data[starts[first - 1] : starts[last]]
        if text.endswith(b"\r"):  # with the end of a line after it, it would be one end
            text[-1:] = b"\n"
        at = last + 1
        if 2 * (len(text) - first) > len(data):
            return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(bytes(text)), len(text) - at
    except SyntaxError:  # `a = 1; \` goes on in the next line
        return None


def _kept(where: Extents, lines: Sequence[int]) -> Iterator[_Lines]:
    numbers = array("I")
    numbers.frombytes(where)
    at = 0
    while at < len(numbers):
        first, last, inner = numbers[at : at + 3]
        members = numbers[at + 3 : at + 3 + 2 * inner]
        at += 3 + 2 * inner
        if not spans(lines, first, last):
            continue
        if not inner:
            yield first, last
            continue
        yield first, members[0] - 1
        pairs = list(zip(members[::2], members[1::2], strict=True))
        yield from [pair for pair in pairs if spans(lines, *pair)] or pairs[:1]


def spans(lines: Sequence[int], low: int, high: int) -> bool:
    """Is one of the sorted lines in [low, high]?"""
    at = bisect_left(lines, low)
    return at < len(lines) and lines[at] <= high


def _lines(stmt: ast.stmt) -> _Lines:
    """The first and the last line of a statement, 1-based."""
    return first_line(stmt) + 1, stmt.end_lineno or stmt.lineno
