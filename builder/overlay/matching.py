"""Finds the places in a syntax tree that equal source from the manifest."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Sequence
from functools import lru_cache

from builder.source.fields import inner_fields
from builder.source.ops import DropItem


def same(left: object, right: object) -> bool:
    """Whether two nodes are equal as syntax trees; positions do not count."""
    if type(left) is not type(right):
        return False
    if isinstance(left, ast.AST):
        return all(same(getattr(left, name, None), getattr(right, name, None)) for name in left._fields)
    if isinstance(left, list):
        assert isinstance(right, list)
        return len(left) == len(right) and all(map(same, left, right))
    return left == right


def expression(source: str) -> ast.expr:
    """Parse an expression. Raises SyntaxError."""
    return ast.parse(f"(\n{source.strip()}\n)", mode="eval").body


def statement(source: str) -> ast.stmt:
    """Parse exactly one statement. Raises SyntaxError."""
    body = ast.parse(textwrap.dedent(source).strip("\n") + "\n").body
    if len(body) != 1:
        raise SyntaxError(f"{len(body)} statements instead of one")
    return body[0]


def assignments(match: str, by: str | None) -> tuple[ast.Assign, ast.Assign] | None:
    """Two assignments to the same targets; None when these are anything else."""
    try:
        old, new = statement(match), statement(by or "")
    except SyntaxError:
        return None
    if isinstance(old, ast.Assign) and isinstance(new, ast.Assign) and same(old.targets, new.targets):
        return old, new
    return None


class Entry:
    """What `drop-entry` looks for: an expression, a keyword argument, or a key with its value."""

    def __init__(self, source: str) -> None:
        """Raises SyntaxError when the source is none of them."""
        self.keyword: ast.keyword | None = None
        self.pair: tuple[ast.expr, ast.expr] | None = None
        self.plain: ast.expr | None = None
        call = _parsed(f"_(\n{source.strip()}\n)")
        if isinstance(call, ast.Call) and len(call.args) + len(call.keywords) == 1:
            if call.keywords:
                self.keyword = call.keywords[0]
            else:
                self.plain = call.args[0]
            return
        shown = _parsed(f"{{\n{source.strip()}\n}}")
        if isinstance(shown, ast.Dict) and len(shown.keys) == 1 and shown.keys[0] is not None:
            self.pair = (shown.keys[0], shown.values[0])
            return
        raise SyntaxError("it is not one expression, one keyword argument or one key with its value")

    def drops(self, node: ast.AST) -> Iterator[DropItem]:
        """The members of one node that are such an entry."""
        if isinstance(node, (ast.List, ast.Set)) or (isinstance(node, ast.Tuple) and _reads(node)):
            yield from self._items(node, "elts", node.elts)
        elif isinstance(node, ast.Dict):
            for index, key in enumerate(node.keys):
                if key is not None and self._is_pair(key, node.values[index]):
                    yield DropItem(node, "keys", index)
        elif isinstance(node, ast.Call):
            yield from self._items(node, "args", node.args)
            yield from self._keywords(node, node.keywords)
        elif isinstance(node, ast.ClassDef):
            yield from self._items(node, "bases", node.bases)
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from self._items(node, "decorator_list", node.decorator_list)

    def _items(self, node: ast.AST, field: str, items: list[ast.expr]) -> Iterator[DropItem]:
        for index, item in enumerate(items):
            if self.plain is not None and same(item, self.plain):
                yield DropItem(node, field, index)

    def _keywords(self, node: ast.Call, items: list[ast.keyword]) -> Iterator[DropItem]:
        for index, item in enumerate(items):
            if self.keyword is not None and same(item, self.keyword):
                yield DropItem(node, "keywords", index)

    def _is_pair(self, key: ast.expr, value: ast.expr) -> bool:
        if self.pair is not None:
            return same(key, self.pair[0]) and same(value, self.pair[1])
        return self.plain is not None and same(key, self.plain)


def _reads(node: ast.Tuple) -> bool:
    return isinstance(node.ctx, ast.Load)


def _parsed(source: str) -> ast.expr | None:
    try:
        return ast.parse(source, mode="eval").body
    except SyntaxError:
        return None


@lru_cache(maxsize=8)  # many edits search the same scope
def walk(scope: ast.AST) -> Sequence[tuple[ast.AST, bool]]:
    """Every node below a scope in source order, with whether it stands inside an f-string
    (where positions are not reliable before Python 3.12, so that no edit can reach it)."""
    found: list[tuple[ast.AST, bool]] = []
    stack: list[tuple[ast.AST, bool]] = [(scope, False)]
    while stack:
        node, quoted = stack.pop()
        found.append((node, quoted))
        inner = quoted or isinstance(node, ast.JoinedStr)
        children: list[tuple[ast.AST, bool]] = []
        for name in inner_fields(node.__class__):
            value = getattr(node, name, None)
            if isinstance(value, ast.AST):
                children.append((value, inner))
            elif isinstance(value, list):
                children += [(item, inner) for item in value if isinstance(item, ast.AST)]
        stack += reversed(children)
    return found
