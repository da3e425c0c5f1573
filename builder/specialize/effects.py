"""May an expression be left out? Reading a name, an attribute or an item has no effect, a call has one
unless it is declared pure; what binds a name or suspends the function is never left out."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from builder.specialize.facts import PURE_BUILTINS, PURE_METHODS, Known
from builder.specialize.scopes import Comprehension, Scope

if TYPE_CHECKING:
    from builder.specialize.evaluate import Evaluator

#: Builtins that use up what they iterate over: pure only over something made for them.
_CONSUMERS = frozenset(
    ["all", "any", "dict", "frozenset", "list", "max", "min", "set", "sorted", "sum", "tuple"]
)
_FRESH = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Constant, ast.Call, *Comprehension)
_BINDS = (ast.NamedExpr, ast.Yield, ast.YieldFrom)


def pure(evaluator: Evaluator, node: ast.expr, scope: Scope) -> bool:
    """May the evaluation be left out without anybody noticing?"""
    if isinstance(node, (ast.Constant, ast.Name, ast.Lambda)):
        return True
    if isinstance(node, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)):
        return False
    if isinstance(node, ast.Call):
        return _pure_call(evaluator, node, scope)
    if isinstance(node, Comprehension):
        return _pure_comprehension(evaluator, node, scope)
    children = ast.iter_child_nodes(node)
    return all(pure(evaluator, c, scope) for c in children if isinstance(c, ast.expr))


def _pure_comprehension(evaluator: Evaluator, node: ast.expr, scope: Scope) -> bool:
    inner = evaluator.unit.scopes.of(node)
    parts: list[tuple[ast.expr, Scope]] = []
    for index, generator in enumerate(node.generators):  # type: ignore[attr-defined]
        if generator.is_async:
            return False
        parts.append((generator.iter, inner if index else scope))
        parts += [(test, inner) for test in generator.ifs]
    parts += [(child, inner) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
    return all(pure(evaluator, part, where) for part, where in parts)


def _pure_call(evaluator: Evaluator, node: ast.Call, scope: Scope) -> bool:
    func = node.func
    parts = [*node.args, *(k.value for k in node.keywords)]
    if isinstance(func, ast.Attribute):
        parts.append(func.value)
    if not all(pure(evaluator, p, scope) for p in parts):
        return False
    attr = func.attr if isinstance(func, ast.Attribute) else None
    if isinstance(evaluator.value(node, scope), Known):
        return attr != "pop"
    declared = evaluator.facts.pure
    name = evaluator.qualified(func, scope)
    if isinstance(name, str):
        if name in _CONSUMERS:
            return _fresh(node)
        if name in PURE_BUILTINS or name in declared or name.rpartition(".")[2] in declared:
            return True
    return attr is not None and (attr in PURE_METHODS or attr in declared or f"*.{attr}" in declared)


def _fresh(node: ast.Call) -> bool:
    """Does a call that iterates over its one argument leave nothing used up behind?"""
    return len(node.args) != 1 or isinstance(node.args[0], _FRESH)


def leaves_trace(nodes: list[ast.expr]) -> bool:
    """Would leaving these expressions out, although never evaluated, change what the function is?

    A walrus makes its name local, a yield makes the function a generator.
    """
    return any(isinstance(inner, _BINDS) for node in nodes for inner in ast.walk(node))
