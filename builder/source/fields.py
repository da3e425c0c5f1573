"""What most readers of a syntax tree ask: the nodes below a node, and names as they are written."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Callable, Iterator
from functools import cache
from typing import cast

#: Texts and numbers, and the contexts and operators, which are shared and have no place of their own.
_WITHOUT_NODES = frozenset({
    "arg", "asname", "attr", "conversion", "ctx", "id", "is_async", "kind", "level", "lineno", "module", "op",
    "ops", "rest", "simple", "tag", "type_comment",
})  # fmt: skip


def _fields_with_nodes(kind: type[ast.AST]) -> tuple[str, ...]:
    return tuple(name for name in kind._fields if name not in _WITHOUT_NODES)


#: The names of the fields of a kind of node that can hold nodes with a text of their own.
inner_fields = cast("Callable[[type[ast.AST]], tuple[str, ...]]", cache(_fields_with_nodes))


def nodes(top: ast.AST) -> Iterator[ast.AST]:
    """A node and all below it, in the order of `ast.walk` and faster: without contexts and operators."""
    waiting = deque([top])
    while waiting:
        node = waiting.popleft()
        yield node
        waiting.extend(inner_nodes(node))


def inner_nodes(node: ast.AST) -> list[ast.AST]:
    """The nodes directly below one, without contexts and operators."""
    found: list[ast.AST] = []
    for name in inner_fields(node.__class__):
        value = getattr(node, name, None)
        if isinstance(value, ast.AST):
            found.append(value)
        elif isinstance(value, list):
            found += [item for item in value if isinstance(item, ast.AST)]
    return found


def last_name(node: ast.AST) -> str:
    """The last name of a name or an attribute; empty for anything else."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def dotted_name(node: ast.AST) -> str:
    """`a.b.c` for a chain of attributes of a name; empty for anything else."""
    if isinstance(node, ast.Attribute):
        owner = dotted_name(node.value)
        return f"{owner}.{node.attr}" if owner else ""
    return last_name(node)
