"""Functions that the facts leave with nothing but `return <known>`: predicates from then on."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping

from builder.specialize.evaluating.facts import KnownValue
from builder.specialize.evaluating.scopes import Scope

#: Decorators that leave what a function returns as it is.
_KEEP_RESULT = frozenset(["functools.cache", "functools.lru_cache"])

#: What stands in a suite's place: statement -> the statements of the suite that was taken.
Taken = Mapping[ast.stmt, Iterable[ast.stmt]]


def remaining(stmts: Iterable[ast.stmt], removed: set[ast.AST], taken: Taken) -> Iterator[ast.stmt]:
    """The statements of a suite that are left once it is folded, docstrings aside."""
    for stmt in stmts:
        if stmt in removed or (isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant)):
            continue
        if stmt in taken:
            yield from remaining(taken[stmt], removed, taken)
        else:
            yield stmt


def returned(
    function: ast.FunctionDef,
    removed: set[ast.AST],
    taken: Taken,
    value: Callable[[ast.expr], KnownValue | None],
    pure: Callable[[ast.expr], bool],
    named: bool,
) -> KnownValue | None:
    """What every call returns, if that follows from the facts. It may name parts of its arguments before.

    `named`: it has the word of a batch, and may do nothing upstream too.
    """
    follows = named or _ours(function, removed, taken)
    body = list(remaining(function.body, removed, taken))
    while body and isinstance(body[0], ast.Assign) and pure(body[0].value):
        if not all(isinstance(target, ast.Name) for target in body[0].targets):
            break
        del body[0]
    if all(isinstance(s, ast.Pass) for s in body):
        return KnownValue(None) if follows else None
    if len(body) != 1 or not isinstance(body[0], ast.Return):
        return None
    result = body[0].value
    if result is None:
        return KnownValue(None) if follows else None
    if isinstance(result, ast.Constant) and isinstance(result.value, bool):
        return KnownValue(result.value) if follows else None
    return value(result)


def _ours(function: ast.FunctionDef, removed: set[ast.AST], taken: Taken) -> bool:
    """Is the body what we made of it?"""
    inside = set(ast.walk(function)) - {function}
    return not inside.isdisjoint(removed) or not inside.isdisjoint(taken)


def is_predicate(function: ast.FunctionDef, scope: Scope, decorators: Iterable[object], named: bool) -> bool:
    """May a call stand for what this function of a module returns: is it the only one of its name?

    `decorators`: their qualified names. `named`: it has the word of a batch, so that a method counts, too.
    """
    alone = len(scope.names.get(function.name, ())) == 1
    counts = scope.kind == "module" or (scope.kind == "class" and named)
    return counts and alone and _KEEP_RESULT.issuperset(decorators)
