"""Finds the places in a syntax tree that equal source from the manifest."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Sequence
from functools import lru_cache

from builder.source.fields import inner_nodes
from builder.source.ops import DropItem

#: The fields of nodes whose members are entries.
_MEMBERS: dict[type[ast.AST], tuple[str, ...]] = {
    ast.List: ("elts",), ast.Set: ("elts",), ast.Tuple: ("elts",), ast.Dict: ("keys",),
    ast.Call: ("args", "keywords"), ast.ClassDef: ("bases", "decorator_list"),
    ast.FunctionDef: ("decorator_list",), ast.AsyncFunctionDef: ("decorator_list",),
}  # fmt: skip


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


def entry(source: str) -> list[ast.AST]:
    """Parse an entry: [expression], [keyword argument] or [key, value]. Raises SyntaxError."""
    call = _parsed(f"_(\n{source.strip()}\n)")
    if isinstance(call, ast.Call) and len(call.args) + len(call.keywords) == 1:
        return [*call.args, *call.keywords]
    shown = _parsed(f"{{\n{source.strip()}\n}}")
    if isinstance(shown, ast.Dict) and len(shown.keys) == 1 and shown.keys[0] is not None:
        return [shown.keys[0], shown.values[0]]
    raise SyntaxError("it is not one expression, one keyword argument or one key with its value")


def drops(node: ast.AST, entry: list[ast.AST]) -> Iterator[DropItem]:
    """The members of one node that are such an entry."""
    if isinstance(node, ast.Tuple) and not isinstance(node.ctx, ast.Load):
        return
    for field in _MEMBERS.get(node.__class__, ()):
        for index, member in enumerate(getattr(node, field)):
            whole = [member, node.values[index]] if isinstance(node, ast.Dict) else [member]
            if same(whole[: len(entry)], entry):
                yield DropItem(node, field, index)


def _parsed(source: str) -> ast.expr | None:
    try:
        return ast.parse(source, mode="eval").body
    except SyntaxError:
        return None


@lru_cache(maxsize=8)  # many edits search the same scope
def walk(scope: ast.AST) -> tuple[Sequence[ast.AST], Sequence[ast.AST]]:
    """Every node of a scope in source order: those outside of f-strings, and those inside (where positions
    are not reliable before Python 3.12, so that no edit can reach them)."""
    nodes: tuple[list[ast.AST], list[ast.AST]] = [], []
    stack = [(scope, False)]
    while stack:
        node, quoted = stack.pop()
        nodes[quoted].append(node)
        inner = quoted or isinstance(node, ast.JoinedStr)
        stack += [(child, inner) for child in reversed(inner_nodes(node))]
    return nodes
