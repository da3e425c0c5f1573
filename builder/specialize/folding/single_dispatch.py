"""Decides whether `@x.register` is that of a single dispatch, which goes by the class of an argument.

Whatever else has a method of that name keeps what it is given, whatever the annotations say.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.scopes import Binding, Scope
from builder.specialize.world import SpecializerWorld, question

_DISPATCHES = frozenset(["functools.singledispatch", "functools.singledispatchmethod"])
Function = ast.FunctionDef | ast.AsyncFunctionDef


def dispatches(evaluator: Evaluator, decorator: ast.expr, scope: Scope) -> bool | None:
    """Return whether a decorator registers with a single dispatch. None: nobody knows."""
    if not isinstance(decorator, ast.Attribute) or decorator.attr != "register":
        return False
    owner = decorator.value
    home = scope.find(owner.id) if isinstance(owner, ast.Name) else None
    if isinstance(owner, ast.Name) and home is not None:
        known = _of(evaluator, home.names[owner.id], home)
        if known is not None:
            return known
    named = evaluator.qualified(owner, scope)
    if isinstance(named, str) and evaluator.hinders(is_dispatch, named):
        return True
    return False if isinstance(named, str) and evaluator.hinders(is_registry, named) else None


def dispatched_on(stmt: Function) -> ast.expr | None:
    """The annotation that a single dispatch takes the class from: the first that there is."""
    args = stmt.args
    every = (*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg)
    notes = (*(arg.annotation for arg in every if arg is not None), stmt.returns)
    return next((note for note in notes if note is not None), None)


@question
def is_dispatch(world: SpecializerWorld, qualified: str) -> bool:
    """Return whether a name of a module is certainly a function with a single dispatch."""
    return _of_module(world, qualified) is True


@question
def is_registry(world: SpecializerWorld, qualified: str) -> bool:
    """Return whether a name of a module is certainly something else that registers: a class of the program
    with a method of its own for it, or an object of such one."""
    return _of_module(world, qualified) is False


def _of_module(world: SpecializerWorld, qualified: str) -> bool | None:
    unit, bindings = world.home(qualified)
    return _of(Evaluator(world, unit), bindings, unit.scopes.root) if unit is not None else None


def _of(evaluator: Evaluator, bindings: Sequence[Binding], scope: Scope) -> bool | None:
    """Whether the only binding of a name makes it a single dispatch, or something else that registers."""
    if len(bindings) != 1:
        return None
    node, value = bindings[0].node, bindings[0].value
    if isinstance(node, ast.Import):
        return False  # a module has functions of its own
    if isinstance(node, ast.ClassDef):
        return False if any(getattr(stmt, "name", "") == "register" for stmt in node.body) else None
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        made = node.decorator_list and evaluator.qualified(node.decorator_list[0], scope) in _DISPATCHES
        return True if made else None
    if not isinstance(value, ast.Call):
        return None
    made_by = evaluator.qualified(value.func, scope)
    if made_by in _DISPATCHES:
        return True
    return False if isinstance(made_by, str) and evaluator.hinders(is_registry, made_by) else None
