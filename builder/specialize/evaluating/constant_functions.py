"""Functions that the facts leave with nothing but `return <known>`: predicates from then on."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping

from builder.source.fields import nodes
from builder.specialize.evaluating.facts import KnownValue
from builder.specialize.evaluating.scopes import Scope

#: Decorators that leave what a function returns as it is.
KEEP_RESULT = frozenset(["functools.cache", "functools.lru_cache"])

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
    body = list(remaining(function.body, removed, taken))
    while body and isinstance(body[0], ast.Assign) and pure(body[0].value):
        if not all(isinstance(target, ast.Name) for target in body[0].targets):
            break
        del body[0]
    result: ast.expr | None = None
    if len(body) == 1 and isinstance(body[0], ast.Return):
        result = body[0].value
    elif not all(isinstance(stmt, ast.Pass) for stmt in body):
        return None
    if result is None:
        known = KnownValue(None)
    elif isinstance(result, ast.Constant) and isinstance(result.value, bool):
        known = KnownValue(result.value)
    else:
        return value(result)
    return known if named or _ours(function, removed, taken) else None


def _ours(function: ast.FunctionDef, removed: set[ast.AST], taken: Taken) -> bool:
    """Whether the body is what we made of it."""
    return any(node is not function and (node in removed or node in taken) for node in nodes(function))


def is_alone(function: ast.FunctionDef, scope: Scope, named: bool) -> bool:
    """Whether a function is the only one of its name, so that a call may stand for what it returns.

    `named`: it has the word of a batch, so that a method counts, too.
    """
    counts = scope.kind == "module" or (scope.kind == "class" and named)
    return counts and len(scope.names.get(function.name, ())) == 1
