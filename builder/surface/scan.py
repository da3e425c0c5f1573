"""Finds what may be surface in one file, with its scope and its conditions.

Only statements on whose lines the text has a telling word are read: most of a tree is not looked at.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from builder.adapter import ENTRY
from builder.source.parse import Module
from builder.surface.model import Condition, Place

#: What a statement of the surface holds in its text: words, and what their line must be for them to count.
_WORDS: tuple[tuple[bytes, re.Pattern[bytes] | None], ...] = (
    (b"add_argument(", None),
    (b"environ", None),
    (b"env_var", None),
    (b"getenv", None),
    (ENTRY.encode(), None),
    (b"Enum)", None),
    (b"Flag)", None),
    (b"_route(", None),
    (b".mount(", None),
    (b"= Env", re.compile(rb".*= Env[A-Z]\w*\(")),
    (
        b"register",
        re.compile(rb".*register(?!_(?:buffer|parameter|fake|forward|hook|custom_op|module))\w*\("),
    ),
    # a field that is an option: `port: A[int, "..."] = 1`
    (b": A[", re.compile(rb" +\w+: A\[")),
    (b"Annotated[", re.compile(rb" +\w+: (?:\w+\.)?Annotated\[")),
    (b"@", re.compile(rb" *@[\w.]+\.(?:get|post|put|delete|patch|head|options|websocket|api_route|route)\(")),
    # a registry is spelled as a constant or as a type
    (b"= {", re.compile(rb" *_?[A-Z]\w* *(?::[^=\n]+)?= \{")),
    (b".update(", re.compile(rb" *_?[A-Z]\w*\.update\(")),
    (b"] = ", re.compile(rb" *_?[A-Z]\w*\[[\"']")),
)


def telling(data: bytes) -> list[int]:
    """The offsets of lines that hold one of the words, in order."""
    found: set[int] = set()
    for word, wanted in _WORDS:
        at = data.find(word)
        while at >= 0:
            start = data.rfind(b"\n", 0, at) + 1
            end = data.find(b"\n", at)
            if wanted is None or wanted.match(data, start, end if end >= 0 else len(data)):
                found.add(start)
            at = data.find(word, end) if end >= 0 else -1
    return sorted(found)


Function = ast.FunctionDef | ast.AsyncFunctionDef
_EXITS = (ast.Return, ast.Raise, ast.Continue, ast.Break)


class Around(NamedTuple):
    """The context of a node: enclosing names, the nearest function, the conditions under which it runs."""

    scope: tuple[str, ...] = ()
    function: Function | None = None
    owner: ast.ClassDef | None = None  # the class whose body this is
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Sight:
    """A node that may be surface, with its context. `decorated`: the definition that it decorates."""

    node: ast.AST
    around: Around
    decorated: Function | ast.ClassDef | None = None


#: A line that begins a statement of the module: no clause, no closing bracket, no comment.
_TOP = re.compile(rb"^(?!(?:else|elif|except|finally)\b)[A-Za-z_@\"'(\[{]", re.MULTILINE)
_QUOTES = re.compile(rb"\"\"\"|\'\'\'")


def telling_part(data: bytes, offsets: Sequence[int]) -> bytes:
    """The statements of a module at these offsets, each on its line; the others blank.

    A file of which this cannot be said with certainty comes back whole.
    """
    tops = [match.start() for match in _TOP.finditer(data)]
    quotes = [match.start() for match in _QUOTES.finditer(data)]
    wanted = sorted({bisect_right(tops, offset) - 1 for offset in offsets})
    if not tops or b"\r" in data or b"\f" in data:
        return data
    parts: list[bytes] = []
    end_of_last = 0
    for index in wanted:
        if index < 0:
            return data
        first = index
        while first and data[tops[first - 1] : tops[first - 1] + 1] == b"@":
            first -= 1
        last = index + 1
        while data[tops[last - 1] : tops[last - 1] + 1] == b"@" and last < len(tops):
            last += 1
        start, end = tops[first], tops[last] if last < len(tops) else len(data)
        # an odd number of quotes before it: the line is inside a string
        if bisect_left(quotes, start) % 2 or bisect_left(quotes, end) % 2:
            return data
        if end <= end_of_last:
            continue
        start = max(start, end_of_last)
        parts.append(b"\n" * data.count(b"\n", end_of_last, start))
        parts.append(data[start:end])
        end_of_last = end
    return b"".join(parts)


def sights(file: Module) -> Iterator[Sight]:
    """Calls, subscripts, comparisons, assignments and classes that hold a telling word, in order."""
    lines = sorted({bisect_right(file.starts, offset) for offset in telling(file.data)})
    if lines:
        yield from _Walk(file, lines).suite(file.tree.body, Around())


def calls(file: Module, name: str) -> Iterator[Sight]:
    """Every call of a function or method of this name."""
    word = re.compile(rb"\b" + re.escape(name.encode()) + rb"\s*\(")
    lines = sorted({bisect_right(file.starts, match.start()) for match in word.finditer(file.data)})
    for sight in _Walk(file, lines).suite(file.tree.body, Around()):
        if isinstance(sight.node, ast.Call) and isinstance(sight.node.func, (ast.Name, ast.Attribute)):
            called = sight.node.func
            if (called.id if isinstance(called, ast.Name) else called.attr) == name:
                yield sight


def place(sight: Sight, path: str, module: str) -> Place:
    line = getattr(sight.node, "lineno", 0)
    return Place(path, line, module, ".".join(sight.around.scope), sight.around.conditions)


class _Walk:
    def __init__(self, file: Module, lines: Sequence[int]) -> None:
        self.file = file
        self.lines = lines

    def touches(self, node: ast.AST) -> bool:
        first, last = node.lineno, node.end_lineno or node.lineno  # type: ignore[attr-defined]
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.decorator_list:
            first = min(first, node.decorator_list[0].lineno)
        at = bisect_left(self.lines, first)
        return at < len(self.lines) and self.lines[at] <= last

    def condition(self, test: ast.expr, holds: bool) -> Condition:
        return Condition(" ".join(self.file.text(test).split()), holds)

    def suite(self, stmts: Iterable[ast.stmt], around: Around) -> Iterator[Sight]:
        for stmt in stmts:
            if self.touches(stmt):
                yield from self.statement(stmt, around)
            if isinstance(stmt, ast.If) and stmt.body and isinstance(stmt.body[-1], _EXITS):
                around = self.under(around, stmt.test, False)

    def under(self, around: Around, test: ast.expr, holds: bool) -> Around:
        return around._replace(conditions=(*around.conditions, self.condition(test, holds)))

    def statement(self, stmt: ast.stmt, around: Around) -> Iterator[Sight]:
        if isinstance(stmt, (ast.If, ast.While)):
            yield from self.expression(stmt.test, around)
            yield from self.suite(stmt.body, self.under(around, stmt.test, True))
            yield from self.suite(stmt.orelse, self.under(around, stmt.test, False))
            return
        if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            for decorator in stmt.decorator_list:
                if self.touches(decorator):
                    inside = around._replace(scope=(*around.scope, stmt.name))
                    yield Sight(decorator, inside, stmt)
            yield from self.definition(stmt, around)
            return
        if isinstance(stmt, (ast.Assign, ast.AnnAssign)):
            yield Sight(stmt, around)
        for child in ast.iter_child_nodes(stmt):
            yield from self.child(child, around)

    def definition(self, stmt: Function | ast.ClassDef, around: Around) -> Iterator[Sight]:
        scope = (*around.scope, stmt.name)
        if isinstance(stmt, ast.ClassDef):
            yield Sight(stmt, around._replace(scope=scope))
            yield from self.suite(stmt.body, around._replace(scope=scope, owner=stmt))
            return
        yield from self.child(stmt.args, around)
        yield from self.suite(stmt.body, around._replace(scope=scope, function=stmt, owner=None))

    def child(self, child: ast.AST, around: Around) -> Iterator[Sight]:
        if isinstance(child, ast.stmt):
            if self.touches(child):
                yield from self.statement(child, around)
        elif isinstance(child, ast.expr):
            yield from self.expression(child, around)
        else:  # handlers, cases, arguments, comprehensions
            for inner in ast.iter_child_nodes(child):
                yield from self.child(inner, around)

    def expression(self, node: ast.expr, around: Around) -> Iterator[Sight]:
        if not self.touches(node):
            return
        if isinstance(node, ast.IfExp):
            yield from self.expression(node.test, around)
            yield from self.expression(node.body, self.under(around, node.test, True))
            yield from self.expression(node.orelse, self.under(around, node.test, False))
            return
        if isinstance(node, ast.BoolOp):
            holds = isinstance(node.op, ast.And)
            for value in node.values:
                yield from self.expression(value, around)
                around = self.under(around, value, holds)
            return
        if isinstance(node, (ast.Call, ast.Subscript, ast.Compare)):
            yield Sight(node, around)
        for child in ast.iter_child_nodes(node):
            yield from self.child(child, around)
