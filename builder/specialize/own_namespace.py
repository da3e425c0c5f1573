"""Decides whether a module lists its own names, or runs a text as its code."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from builder.specialize.text_index.text_search import nodes_on
from builder.specialize.unit import Unit, told

#: Functions that list the names of the module at whose top they are called without an argument, or that run a
#: text as its code.
_LISTS = (b"dir", b"eval", b"exec", b"globals", b"locals", b"vars")
#: What may be done to a namespace with a name that the text shows.
_KEYED = frozenset(["get", "pop", "setdefault", "__getitem__", "__contains__"])
WRITES = frozenset(["update", "clear", "__setitem__"])


@told
def lists_own_names(unit: Unit) -> bool:
    """Return whether a module lists its own names, or runs a text as its code."""
    return any(_lists(unit, node) for node in uses_of(unit, _LISTS))


def _lists(unit: Unit, node: ast.AST) -> bool:
    name = last_name(node)
    if isinstance(node, ast.alias):  # `from builtins import globals as names`
        source = unit.module.parents.get(node)
        return isinstance(source, ast.ImportFrom) and source.module == "builtins"
    if isinstance(node, ast.Attribute) and last_name(node.value) not in ("builtins", "__builtins__"):
        return False
    scope = unit.scope_of(node)
    owner = scope.find(name) if isinstance(node, ast.Name) else None
    if owner is not None and not any(binding.kind == "import" for binding in owner.names.get(name, ())):
        return False  # a local of that name
    call = unit.module.parents.get(node)
    if not isinstance(call, ast.Call) or call.func is not node:
        return True  # who gets the function may call it
    if name in ("eval", "exec"):
        return bool(call.args) and not isinstance(call.args[0], ast.Constant)
    if call.args or (name != "globals" and scope.kind != "module"):
        return False
    return not _is_keyed(unit, call)


def _is_keyed(unit: Unit, node: ast.AST) -> bool:
    """Return whether a namespace is only written to, or asked for names that the text shows."""
    parent = unit.module.parents.get(node)
    if isinstance(parent, ast.Subscript) and parent.value is node:
        return not isinstance(parent.ctx, ast.Load) or isinstance(parent.slice, ast.Constant)
    if isinstance(parent, ast.Compare) and node in parent.comparators:
        return isinstance(parent.left, ast.Constant)
    if not isinstance(parent, ast.Attribute):
        return False
    call = unit.module.parents.get(parent)
    if not isinstance(call, ast.Call) or call.func is not parent:
        return False
    shown = bool(call.args) and isinstance(call.args[0], ast.Constant)
    return parent.attr in WRITES or (parent.attr in _KEYED and shown)


def uses_of(unit: Unit, names: Iterable[bytes]) -> Iterator[ast.AST]:
    """Where a file reads one of these names, reads an attribute of that name, or imports it under another."""
    for name in (name.decode() for name in names):
        for node in nodes_on(unit, name):
            if last_name(node) == name and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
                yield node


def last_name(node: ast.AST) -> str:
    """`b` of `a.b`, `b` itself, and `b` of `from a import b as c`; "" for anything else."""
    if isinstance(node, ast.alias):
        return node.name if node.asname else ""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
