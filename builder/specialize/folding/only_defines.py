"""Decides whether a registered definition has effects besides its registration."""

from __future__ import annotations

import ast

from builder.source.fields import nodes
from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.facts import Gone
from builder.specialize.evaluating.names import names_of
from builder.specialize.evaluating.scopes import Scope

#: Calls in the bodies of classes that only make a value.
_MAKERS = frozenset(
    ["TypeVar", "auto", "classmethod", "field", "namedtuple", "partial", "property", "staticmethod"]
)


def only_defines(evaluator: Evaluator, stmt: ast.stmt, scope: Scope) -> bool:
    """Return whether the defaults of a function, or the statements in the body of a class, have no effect.

    What its decorators and bases do is not asked.
    """
    if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef)):
        defaults = [d for d in (*stmt.args.defaults, *stmt.args.kw_defaults) if d is not None]
        return all(_only_makes(evaluator, default, scope) for default in defaults)
    if isinstance(stmt, ast.ClassDef):
        inner = evaluator.unit.scopes.of(stmt)
        return all(only_defines(evaluator, each, inner) for each in stmt.body)
    if isinstance(stmt, ast.If):
        suites = all(only_defines(evaluator, each, scope) for each in (*stmt.body, *stmt.orelse))
        return suites and evaluator.pure(stmt.test, scope)
    if isinstance(stmt, (ast.Assign, ast.AnnAssign, ast.Expr)):
        return stmt.value is None or _only_makes(evaluator, stmt.value, scope)
    return isinstance(stmt, (ast.Pass, ast.Import, ast.ImportFrom))


def _only_makes(evaluator: Evaluator, node: ast.expr, scope: Scope) -> bool:
    if isinstance(node, ast.Call) and names_of(node.func)[:1] and names_of(node.func)[0] in _MAKERS:
        parts = [*node.args, *(keyword.value for keyword in node.keywords)]
        return all(_only_makes(evaluator, part, scope) for part in parts)
    return evaluator.pure(node, scope) or _names_gone(evaluator, node, scope)


def _names_gone(evaluator: Evaluator, node: ast.expr, scope: Scope) -> bool:
    """Return whether it cannot be evaluated, since something in it does not exist."""
    parts = (n for n in nodes(node) if isinstance(n, (ast.Name, ast.Attribute)))
    return any(isinstance(evaluator.qualified(part, scope), Gone) for part in parts)
