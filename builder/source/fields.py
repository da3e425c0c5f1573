"""The fields of a syntax tree in which other nodes can stand."""

from __future__ import annotations

import ast
from collections.abc import Callable
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
