"""Which lines of a file the facts can say anything of: all other statements are skipped unread."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache

from builder.graph.names import absolute
from builder.source.fields import bound_name
from builder.source.layout import suites
from builder.source.words import file_counts
from builder.specialize.text_index.content import Content
from builder.specialize.text_index.text_search import Lines, lines_with, statements, touches
from builder.specialize.unit import Unit

_WORD = re.compile(rb"[A-Za-z_][A-Za-z_0-9]*")
#: A module and a name of it, as in a table of what may be unpickled.
_PAIR = re.compile(rb"\(\s*[\"']((?:[A-Za-z_]\w*\.)+[A-Za-z_]\w*)[\"'],\s*[\"'][A-Za-z_]\w*[\"'],?\s*\)")
_INNER_WORD = re.compile(rb"(?<=[^A-Za-z_0-9])[A-Za-z_][A-Za-z_0-9]*(?=[^A-Za-z_0-9])")


def import_hits(content: Content, package: str, gone: Callable[[str], bool]) -> list[int]:
    """Offsets of the imports, and of the pairs of texts, that name a module for which `gone` holds."""
    found: list[int] = []
    for offset, written, names in content.statements:
        module = absolute(written, package)
        if gone(module) or any(gone(f"{module}.{name}") for name in names):
            found.append(offset)
    return found + [pair.start() for pair in _PAIR.finditer(content.data) if gone(pair[1].decode())]


class RelevantLines:
    """The 1-based lines that hold a needle, or a name that a statement with a needle binds."""

    def __init__(self, unit: Unit, needles: Iterable[str], offsets: Iterable[int]) -> None:
        starts = unit.starts
        shift = len(unit.content.data) - len(unit.text)
        lines = {bisect_right(starts, max(0, o - shift)) for o in offsets}
        wanted = {n.encode() for n in needles}
        fresh = lines | lines_with(unit, _present(unit, wanted))
        lines |= fresh
        while fresh:
            names = {n.encode() for n in bound(unit.module.tree.body, sorted(fresh))} - wanted
            wanted |= names
            fresh = lines_with(unit, names) - lines
            lines |= fresh
        self.lines = sorted(lines)

    def touch(self, node: ast.AST) -> bool:
        return touches(self.lines, node)


def _present(unit: Unit, needles: Iterable[bytes]) -> list[bytes]:
    """Those of the needles that the file holds: identifiers by its set of words, others by search."""
    words = file_counts(unit.text).keys()
    data, wanted = unit.text, frozenset(needles)
    texts = (n for n in wanted - words if not _is_word(n) and words >= _inner_words(n))
    return [*(wanted & words), *(n for n in texts if n in data)]


@cache
def _is_word(needle: bytes) -> bool:
    return needle.isalnum() or _WORD.fullmatch(needle) is not None


@cache
def _inner_words(needle: bytes) -> frozenset[bytes]:
    """The words that every text with a needle has: those to which no letter outside of it can be joined."""
    return frozenset(_INNER_WORD.findall(needle))


def bound(suite: Sequence[ast.stmt], lines: Lines) -> Iterator[str]:
    """The names that assignments and imports which span one of the lines bind, in whatever scope."""
    for stmt in statements(suite, lines):
        if isinstance(stmt, ast.Assign):
            yield from (t.id for t in stmt.targets if isinstance(t, ast.Name))
        elif isinstance(stmt, ast.AnnAssign):
            if stmt.value is not None and isinstance(stmt.target, ast.Name):
                yield stmt.target.id
        elif isinstance(stmt, (ast.Import, ast.ImportFrom)):
            yield from (bound_name(stmt, alias) for alias in stmt.names if alias.name != "*")
        else:
            for inner in suites(stmt):
                yield from bound(inner, lines)
