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
    starts: set[int] = set()
    for word, wanted in _WORDS:
        at = data.find(word)
        while at >= 0:
            start = data.rfind(b"\n", 0, at) + 1
            end = data.find(b"\n", at)
            if wanted is None or wanted.match(data, start, end if end >= 0 else len(data)):
                starts.add(start)
            at = data.find(word, end) if end >= 0 else -1
    return sorted(starts)


Function = ast.FunctionDef | ast.AsyncFunctionDef
_EXITS = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_MAY_BE_SURFACE = (ast.Assign, ast.AnnAssign, ast.Call, ast.Subscript, ast.Compare)


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


def place(sight: Sight, path: str, module: str) -> Place:
    line = getattr(sight.node, "lineno", 0)
    return Place(path, line, module, ".".join(sight.around.scope), sight.around.conditions)


class _Walk:
    """Finds the sights on some lines of a file."""

    def __init__(self, file: Module, lines: Sequence[int]) -> None:
        self.file = file
        self.lines = lines

    def touches(self, node: ast.AST) -> bool:
        """Return whether a node has one of the lines; what has no place of its own may."""
        first = getattr(node, "lineno", None)
        if first is None:
            return True
        if decorators := getattr(node, "decorator_list", None):
            first = min(first, decorators[0].lineno)
        at = bisect_left(self.lines, first)
        return at < len(self.lines) and self.lines[at] <= (node.end_lineno or first)  # type: ignore[attr-defined]

    def under(self, around: Around, test: ast.expr, holds: bool) -> Around:
        condition = Condition(" ".join(self.file.text(test).split()), holds)
        return around._replace(conditions=(*around.conditions, condition))

    def suite(self, nodes: Iterable[ast.AST], around: Around) -> Iterator[Sight]:
        """The sights in statements that follow each other: behind an `if` that leaves, its test is false."""
        for node in nodes:
            yield from self.walk(node, around)
            if isinstance(node, ast.If) and node.body and isinstance(node.body[-1], _EXITS):
                around = self.under(around, node.test, False)

    def walk(self, node: ast.AST, around: Around) -> Iterator[Sight]:
        if not self.touches(node):
            return
        match node:
            case ast.If() | ast.While() | ast.IfExp():
                yield from self.walk(node.test, around)
                for branch, holds in ((node.body, True), (node.orelse, False)):
                    nodes = branch if isinstance(branch, list) else [branch]
                    yield from self.suite(nodes, self.under(around, node.test, holds))
            case ast.BoolOp():
                for value in node.values:
                    yield from self.walk(value, around)
                    around = self.under(around, value, isinstance(node.op, ast.And))
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield from self.definition(node, around)
            case _:
                if isinstance(node, _MAY_BE_SURFACE):
                    yield Sight(node, around)
                for child in ast.iter_child_nodes(node):
                    yield from self.walk(child, around)

    def definition(self, node: Function | ast.ClassDef, around: Around) -> Iterator[Sight]:
        inside = around._replace(scope=(*around.scope, node.name))
        for decorator in node.decorator_list:
            if self.touches(decorator):
                yield Sight(decorator, inside, node)
        if isinstance(node, ast.ClassDef):
            yield Sight(node, inside)
            yield from self.suite(node.body, inside._replace(owner=node))
        else:
            yield from self.walk(node.args, around)
            yield from self.suite(node.body, inside._replace(function=node, owner=None))
