"""Finds the places in a syntax tree that equal source from the manifest."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TypeVar

from builder.source.fields import inner_nodes
from builder.source.ops import DropItem

T = TypeVar("T", bound=ast.AST)
#: The fields of nodes whose members are entries.
_MEMBERS: dict[type[ast.AST], tuple[str, ...]] = {
    ast.List: ("elts",), ast.Set: ("elts",), ast.Tuple: ("elts",), ast.Dict: ("keys",),
    ast.Call: ("args", "keywords"), ast.ClassDef: ("bases", "decorator_list"),
    ast.FunctionDef: ("decorator_list",), ast.AsyncFunctionDef: ("decorator_list",),
}  # fmt: skip


def same(code: object, wanted: object) -> bool:
    """Whether code is what is wanted, as a syntax tree; positions do not count.

    `...` stands for any expression, as the last argument of a call for all further ones, and as a whole body
    for any body.
    """
    if _is_any(wanted):
        return isinstance(code, ast.expr)
    if type(code) is not type(wanted):
        return False
    if isinstance(code, ast.Call) and isinstance(wanted, ast.Call) and any(map(_is_any, wanted.args[-1:])):
        known = wanted.args[:-1]
        keywords = all(any(same(one, keyword) for one in code.keywords) for keyword in wanted.keywords)
        return keywords and same(code.func, wanted.func) and same(code.args[: len(known)], known)
    if isinstance(code, ast.AST):
        return all(same(getattr(code, name, None), getattr(wanted, name, None)) for name in code._fields)
    if isinstance(code, list):
        assert isinstance(wanted, list)
        if len(wanted) == 1 and isinstance(wanted[0], ast.Expr) and _is_any(wanted[0].value):
            return bool(code)
        return len(code) == len(wanted) and all(map(same, code, wanted))
    return code == wanted


def _is_any(node: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


def expression(source: str) -> ast.expr:
    """Parse an expression. Raises SyntaxError."""
    return _particular(ast.parse(f"(\n{source.strip()}\n)", mode="eval").body)


def _particular(node: T) -> T:
    """What is wanted, if it is anything in particular. Raises SyntaxError."""
    if _is_any(node.value if isinstance(node, ast.Expr) else node):
        raise SyntaxError("`...` alone stands for everything")
    return node


def statement(source: str) -> ast.stmt:
    """Parse exactly one statement. Raises SyntaxError."""
    body = ast.parse(textwrap.dedent(source).strip("\n") + "\n").body
    if len(body) != 1:
        raise SyntaxError(f"{len(body)} statements instead of one")
    return _particular(body[0])


def statements(match: str, by: str | None) -> tuple[ast.Assign | ast.If, ast.expr] | None:
    """A statement to match, and its new value or condition: of two assignments to the same targets, or of two
    statements `if CONDITION: ...`; None when these are anything else."""
    try:
        old, new = statement(match), statement(by or "")
    except SyntaxError:
        return None
    if isinstance(old, ast.Assign) and isinstance(new, ast.Assign) and same(old.targets, new.targets):
        return old, new.value
    if isinstance(old, ast.If) and isinstance(new, ast.If) and _is_bare(old) and _is_bare(new):
        return old, new.test
    return None


def _is_bare(node: ast.If) -> bool:
    """Whether a statement is `if CONDITION: ...`, without an `else`."""
    body = node.body[0]
    return not node.orelse and isinstance(body, ast.Expr) and _is_any(body.value)


def entry(source: str) -> list[ast.AST]:
    """Parse an entry: [expression], [keyword argument] or [key, value]. Raises SyntaxError."""
    call = _parsed(f"_(\n{source.strip()}\n)")
    if isinstance(call, ast.Call) and len(call.args) + len(call.keywords) == 1:
        return [_particular(one) for one in (*call.args, *call.keywords)]
    shown = _parsed(f"{{\n{source.strip()}\n}}")
    if isinstance(shown, ast.Dict) and len(shown.keys) == 1 and shown.keys[0] is not None:
        return [_particular(shown.keys[0]), shown.values[0]]
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
