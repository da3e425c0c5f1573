"""Decides definite assignment, and which code is unreachable."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable

from builder.source.parse import Module
from builder.specialize.evaluating.scopes import Scope

_SUITES = ("body", "orelse", "finalbody")


def bound_before(module: Module, node: ast.AST, name: str, owner: Scope) -> bool:
    """Return whether `owner` has certainly bound `name` when control comes to `node`.

    True where an earlier statement of a suite around the node binds it on every way through.
    """
    at = node
    while at is not owner.node:
        parent = module.parents.get(at)
        if parent is None:
            return False
        if isinstance(at, ast.stmt):
            suite = _suite_of(parent, at)
            if any(binds(earlier, name) for earlier in suite[: suite.index(at)]):
                return True
        at = parent
    return False


def exits(stmt: ast.stmt) -> bool:
    """Return whether control never passes this statement, as it is written."""
    if isinstance(stmt, ast.If):
        return any(map(exits, stmt.body)) and any(map(exits, stmt.orelse))
    return isinstance(stmt, (ast.Return, ast.Raise, ast.Continue, ast.Break))


def catches(handler: ast.ExceptHandler, raised: type[BaseException]) -> bool | None:
    """Return whether a handler catches an exception. None: nobody knows."""
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    known = [getattr(builtins, k.id, None) if isinstance(k, ast.Name) else None for k in kinds]
    if any(isinstance(k, type) and issubclass(raised, k) for k in known):
        return True
    return False if all(isinstance(k, type) for k in known) else None


def _suite_of(parent: ast.AST, stmt: ast.stmt) -> list[ast.stmt]:
    for field in _SUITES:
        suite = getattr(parent, field, None)
        if isinstance(suite, list) and stmt in suite:
            return suite
    return [stmt]


def binds(stmt: ast.stmt, name: str) -> bool:
    """Return whether every way through a statement assigns this name."""
    if isinstance(stmt, ast.Assign):
        return any(isinstance(t, ast.Name) and t.id == name for t in stmt.targets)
    if isinstance(stmt, ast.AnnAssign):
        return stmt.value is not None and isinstance(stmt.target, ast.Name) and stmt.target.id == name
    if isinstance(stmt, ast.If):
        return _any(stmt.body, name) and _any(stmt.orelse, name)
    if isinstance(stmt, ast.Try):
        if _any(stmt.finalbody, name):
            return True
        normal = _any(stmt.body, name) or _any(stmt.orelse, name)
        return normal and all(_any(handler.body, name) for handler in stmt.handlers)
    return False


def _any(suite: Iterable[ast.stmt], name: str) -> bool:
    return any(binds(stmt, name) for stmt in suite)
