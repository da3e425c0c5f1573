"""The fields of a syntax tree in which other nodes can stand."""

from __future__ import annotations

import ast
from functools import cache

#: Texts and numbers, and the contexts and operators, which are shared and have no place of their own.
_WITHOUT_NODES = frozenset({
    "arg", "asname", "attr", "conversion", "ctx", "id", "is_async", "kind", "level", "lineno", "module", "op",
    "ops", "rest", "simple", "tag", "type_comment",
})  # fmt: skip


@cache
def inner_fields(kind: type[ast.AST]) -> tuple[str, ...]:
    """The names of the fields of a kind of node that can hold nodes with a text of their own."""
    return tuple(name for name in kind._fields if name not in _WITHOUT_NODES)
