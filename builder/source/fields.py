"""What most readers of a syntax tree ask: the nodes below a node, and names as they are written."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

#: Texts and numbers, and the contexts and operators, which are shared and have no place of their own.
_WITHOUT_NODES = frozenset({
    "arg", "asname", "attr", "conversion", "ctx", "id", "is_async", "kind", "kwd_attrs", "level", "lineno",
    "module", "op", "ops", "rest", "simple", "tag", "type_comment",
})  # fmt: skip
#: Methods that make a text of a text.
_STRIPS = frozenset(["lstrip", "rstrip", "strip"])


class _InnerFields(dict[type[ast.AST], tuple[str, ...]]):
    """The names of the fields of a kind of node that can hold nodes with a text of their own."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        fields = () if kind in (ast.Constant, ast.Global, ast.Nonlocal) else kind._fields
        self[kind] = tuple(name for name in fields if name not in _WITHOUT_NODES)
        return self[kind]


INNER_FIELDS = _InnerFields()
#: Lists of these names hold None where there is no node.
_WITH_GAPS = frozenset(["keys", "kw_defaults"])


def nodes(top: ast.AST) -> Iterator[ast.AST]:
    """A node and all below it, in the order of `ast.walk` and faster: without contexts and operators."""
    waiting = [top]
    for node in waiting:
        yield node
        if INNER_FIELDS[node.__class__]:
            waiting += inner_nodes(node)


def inner_nodes(node: ast.AST) -> list[ast.AST]:
    """The nodes directly below one, without contexts and operators."""
    below: list[ast.AST] = []
    for name in INNER_FIELDS[node.__class__]:
        value = getattr(node, name, None)
        if value.__class__ is list:
            below += filter(None, value) if name in _WITH_GAPS else value
        elif isinstance(value, ast.AST):
            below.append(value)
    return below


def last_name(node: ast.AST) -> str:
    """The last name of a name or an attribute; empty for anything else."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def dotted_name(node: ast.AST) -> str:
    """`a.b.c` for a chain of attributes of a name; empty for anything else."""
    if isinstance(node, ast.Attribute):
        owner = dotted_name(node.value)
        return f"{owner}.{node.attr}" if owner else ""
    return last_name(node)


def bound_name(stmt: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
    """The name that an import binds by one of its names; `*` for a star import."""
    return alias.asname or (alias.name.partition(".")[0] if isinstance(stmt, ast.Import) else alias.name)


def constant_text(node: ast.AST | None, named: Callable[[str], str | None]) -> str | None:
    """The text that an expression gives, as far as constants decide it; None where they do not.

    `named`: the text that a name stands for.
    """
    parts: list[ast.expr]
    match node:
        case ast.Constant(value=str(said)):
            return said
        case ast.Name(id=name):
            return named(name)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            parts = [left, right]
        case ast.JoinedStr(values=parts):
            pass
        case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
            parts = [value]
        case ast.Call(func=ast.Attribute(value=owner, attr=method), args=given, keywords=[]) if (
            method in _STRIPS and len(given) < 2
        ):
            texts = [constant_text(each, named) for each in (owner, *given)]
            return None if None in texts else str(getattr(str, method)(*texts))
        case _:
            return None
    texts = [constant_text(each, named) for each in parts]
    return None if None in texts else "".join(text for text in texts if text is not None)


def operands(test: ast.expr) -> Iterator[ast.expr]:
    """The parts of a condition that `and`, `or` and `not` join."""
    if isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from operands(value)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from operands(test.operand)
    else:
        yield test
