"""Where leaving dead code out would change what live code means.

A `yield` in a dead branch makes the function a generator; an assignment there makes a name local.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator

from builder.specialize.scopes import Scope

_SCOPED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_YIELDS = (ast.Yield, ast.YieldFrom)


def own(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of statements that belong to their own scope, not to one defined inside."""
    stack = list(nodes)
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, _SCOPED):
            stack.extend(ast.iter_child_nodes(node))


def needed(scope: Scope, lost: Iterable[ast.stmt]) -> bool:
    """Must these statements stay, although they never run, for what the rest means?"""
    lost = list(lost)
    return loses_yield(scope, lost) or unbinds(scope, lost)


def loses_yield(scope: Scope, lost: Iterable[ast.stmt]) -> bool:
    """Would the function stop being a generator without these statements?"""
    if scope.kind != "function" or isinstance(scope.node, ast.Lambda):
        return False
    gone = {id(n) for n in own(lost) if isinstance(n, _YIELDS)}
    if not gone:
        return False
    body = getattr(scope.node, "body", [])
    return not any(isinstance(n, _YIELDS) and id(n) not in gone for n in own(body))


def unbinds(scope: Scope, lost: Iterable[ast.stmt]) -> bool:
    """Would a name that is read elsewhere in the function cease to be local without these statements?

    Only matters where an outer scope or Python itself binds the name too, or where an inner function
    declares it `nonlocal`; also true for a `global` that would vanish.
    """
    if scope.kind != "function":
        return False
    nodes = list(own(lost))
    if any(isinstance(n, (ast.Global, ast.Nonlocal)) for n in nodes):
        return True
    inside = {id(n) for n in nodes}
    for name, bindings in scope.names.items():
        written = [b for b in bindings if not isinstance(b.node, ast.Nonlocal)]
        if not all(id(b.node) in inside for b in written):
            continue
        if len(written) < len(bindings):
            return True
        visible = scope.parent is not None and scope.parent.find(name) is not None
        if (visible or hasattr(builtins, name)) and _reads(scope.node, name, inside):
            return True
    return False


def _reads(function: ast.AST, name: str, inside: set[int]) -> bool:
    return any(
        isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Load)
        and id(node) not in inside
        for stmt in getattr(function, "body", [])
        for node in ast.walk(stmt)
    )


def reads_beyond_own_branch(function: ast.AST, name: str) -> bool:
    """Is a name read anywhere but in the body of an `if name := ...` that has just bound it?"""

    def reads(node: ast.AST) -> bool:
        if isinstance(node, ast.Name):
            return node.id == name and isinstance(node.ctx, ast.Load)
        if isinstance(node, ast.If) and isinstance(node.test, ast.NamedExpr) and node.test.target.id == name:
            return reads(node.test.value) or any(reads(child) for child in node.orelse)
        return any(reads(child) for child in ast.iter_child_nodes(node))

    return reads(function)
