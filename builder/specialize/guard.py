"""Where leaving dead code out would change what live code means.

A `yield` in a dead branch makes the function a generator; an assignment there makes a name local.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from builder.specialize.scopes import Scope

_SCOPED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def _own(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of a function that belong to its own scope."""
    stack = list(nodes)
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, _SCOPED):
            stack.extend(ast.iter_child_nodes(node))


def loses_yield(scope: Scope, lost: Iterable[ast.stmt]) -> bool:
    """Would the function stop being a generator without these statements?"""
    if scope.kind != "function" or isinstance(scope.node, ast.Lambda):
        return False
    gone = {id(n) for n in _own(lost) if isinstance(n, (ast.Yield, ast.YieldFrom))}
    if not gone:
        return False
    body = getattr(scope.node, "body", [])
    return not any(isinstance(n, (ast.Yield, ast.YieldFrom)) and id(n) not in gone for n in _own(body))


def unbinds(scope: Scope, lost: Iterable[ast.stmt]) -> bool:
    """Would a name that is read elsewhere in the function cease to be local without these statements?

    Only matters where an outer scope binds the name too; also true for a `global` that would vanish.
    """
    if scope.kind != "function":
        return False
    lost = list(lost)
    nodes = list(_own(lost))
    if any(isinstance(n, (ast.Global, ast.Nonlocal)) for n in nodes):
        return True
    inside = {id(n) for n in nodes}
    for name, bindings in scope.names.items():
        if not all(id(b.node) in inside for b in bindings):
            continue
        if scope.parent is None or scope.parent.find(name) is None:
            continue
        body = getattr(scope.node, "body", [])
        if any(
            isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) and id(n) not in inside
            for n in ast.walk(ast.Module(body=list(body), type_ignores=[]))
        ):
            return True
    return False
