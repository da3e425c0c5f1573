"""Conditions that bind a name for their own branch: `if c := find():`, `c.x if (c := f()) else 1`.

Where such a condition is known to be false, the name is bound for nobody, and the condition is left out.
"""

from __future__ import annotations

import ast

from builder.source.fields import inner_nodes, nodes
from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.facts import KnownValue
from builder.specialize.evaluating.scopes import Scope
from builder.specialize.folding.binding_guard import declares_or_lists

#: What runs later, when the name may have been bound again.
_LATER = (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.GeneratorExp)


def never_binds(evaluator: Evaluator, test: ast.expr, scope: Scope) -> bool:
    """Return whether the condition is false, and nothing but its own branch reads what it binds."""
    bound = _bound(test)
    if bound is None or not _false(evaluator, test, scope):
        return False
    owner = scope.find(bound.target.id)
    if owner is None or owner.kind != "function":
        return False
    return not _reads_beyond_own_branch(owner.node, bound.target.id)


def _bound(test: ast.expr) -> ast.NamedExpr | None:
    """What a condition binds whenever it is true."""
    if isinstance(test, ast.NamedExpr):
        return test
    if isinstance(test, ast.Compare):
        return _bound(test.left)
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return next(filter(None, map(_bound, test.values)), None)
    return None


def _false(evaluator: Evaluator, test: ast.expr, scope: Scope) -> bool:
    match test:
        case ast.NamedExpr(value=value):
            return evaluator.pure(value, scope) and evaluator.truth(value, scope) is False
        case ast.Compare(
            left=ast.NamedExpr(value=value), ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]
        ):
            known = evaluator.value(value, scope)
            none = isinstance(known, KnownValue) and known.exact and known.value is None
            return none and evaluator.pure(value, scope)
        case ast.BoolOp(op=ast.And(), values=values):
            rest = [one for one in values if _bound(one) is None]
            binding = [one for one in values if _bound(one) is not None]
            pure = all(evaluator.pure(one, scope) for one in rest)
            return pure and len(binding) == 1 and _false(evaluator, binding[0], scope)
    return False


def _reads_beyond_own_branch(function: ast.AST, name: str) -> bool:
    """Return whether a name is read elsewhere than in the branch of a condition that has just bound it."""

    def reads(node: ast.AST) -> bool:
        if declares_or_lists(node, name):
            return True
        if isinstance(node, ast.Name):
            return node.id == name and not isinstance(node.ctx, ast.Store)
        if isinstance(node, ast.AugAssign) and getattr(node.target, "id", "") == name:
            return True
        if isinstance(node, (ast.If, ast.IfExp)):
            bound = _bound(node.test)
            if bound is not None and bound.target.id == name:
                body = node.body if isinstance(node.body, list) else [node.body]
                later = (one for stmt in body for one in nodes(stmt) if isinstance(one, _LATER))
                orelse = node.orelse if isinstance(node.orelse, list) else [node.orelse]
                return any(map(reads, (node.test, *later, *orelse)))
        return any(map(reads, inner_nodes(node)))

    return reads(function)
