"""Decides whether a registered definition has effects besides its registration."""

from __future__ import annotations

import ast

from builder.source.fields import nodes
from builder.specialize.dead_code.definition_effects import Effects
from builder.specialize.dead_code.import_effects import import_noticed
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
        notes = [a.annotation for a in nodes(stmt.args) if isinstance(a, ast.arg) and a.annotation]
        parts = [*defaults, *notes, *([stmt.returns] if stmt.returns else [])]
        return all(_only_makes(evaluator, part, scope) for part in parts)
    if isinstance(stmt, ast.ClassDef):
        inner = evaluator.unit.scopes.of(stmt)
        parts = [*stmt.bases, *(keyword.value for keyword in stmt.keywords)]
        if not all(_only_makes(evaluator, part, scope) for part in parts):
            return False
        effects = Effects(evaluator.world, evaluator)
        return all(
            effects.pure(each, inner)
            if getattr(each, "decorator_list", None)
            else only_defines(evaluator, each, inner)
            for each in stmt.body
        )
    if isinstance(stmt, ast.If):
        suites = all(only_defines(evaluator, each, scope) for each in (*stmt.body, *stmt.orelse))
        return suites and evaluator.pure(stmt.test, scope)
    if isinstance(stmt, (ast.Assign, ast.AnnAssign, ast.Expr)):
        targets = getattr(stmt, "targets", [getattr(stmt, "target", None)])
        if not all(target is None or isinstance(target, ast.Name) for target in targets):
            return False
        return stmt.value is None or _only_makes(evaluator, stmt.value, scope)
    if isinstance(stmt, (ast.Import, ast.ImportFrom)):
        source = evaluator.unit.absolute(stmt) if isinstance(stmt, ast.ImportFrom) else ""
        modules = [source] if source else [alias.name for alias in stmt.names]
        return not any(evaluator.hinders(import_noticed, each, evaluator.unit.name) for each in modules)
    return isinstance(stmt, ast.Pass)


def _only_makes(evaluator: Evaluator, node: ast.expr, scope: Scope) -> bool:
    if isinstance(node, ast.Call) and names_of(node.func)[:1] and names_of(node.func)[0] in _MAKERS:
        parts = [*node.args, *(keyword.value for keyword in node.keywords)]
        return all(_only_makes(evaluator, part, scope) for part in parts)
    return evaluator.pure(node, scope) or _names_gone(evaluator, node, scope)


def _names_gone(evaluator: Evaluator, node: ast.expr, scope: Scope) -> bool:
    """Return whether it cannot be evaluated, since something in it does not exist."""
    parts = (n for n in nodes(node) if isinstance(n, (ast.Name, ast.Attribute)))
    return any(isinstance(evaluator.qualified(part, scope), Gone) for part in parts)
