"""May anybody notice that a function that registers was not called: by the number or the order of entries?"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.folding.positions import KEPT
from builder.specialize.folding.relatives import class_of_self
from builder.specialize.text_index.text_search import nodes_on
from builder.specialize.world import SpecializerWorld, question

Function = ast.FunctionDef | ast.AsyncFunctionDef

#: What counts, or goes on to the next of something.
_NUMBERS = frozenset(["count", "enumerate", "index", "len", "next", "popitem", "sum"])
_ADDS_IN_ORDER = frozenset(["add", "append", "extend", "insert"])


@question
def registration_noticed(world: SpecializerWorld, name: str, owner: str) -> bool:
    """Does a function of the program with this name count what it registers, or keep an order that is seen?

    `owner`: the class or the module that has the function, as far as it is known; else any of this name.
    """
    module = owner if owner in world.paths else owner.rpartition(".")[0]
    own = [world.paths[module]] if module in world.paths else []
    if own and name.encode() not in world.words.of(own[0]):
        own = []  # it inherits the function, or imports it
    for path in own or sorted(world.words.holders(name.encode())):
        unit = world.unit(path)
        evaluator = Evaluator(world, unit)
        for node in nodes_on(unit, name):
            if (
                isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
                and node.name == name
                and _notices(evaluator, node)
            ):
                return True
    return False


def _notices(evaluator: Evaluator, function: Function) -> bool:
    given = {argument.arg for each in _functions(function) for argument in _arguments(each)}
    return any(_shows(evaluator, node, given) for node in ast.walk(function))


def _functions(function: Function) -> Iterator[Function | ast.Lambda]:
    return (
        node
        for node in ast.walk(function)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
    )


def _arguments(function: Function | ast.Lambda) -> list[ast.arg]:
    given = function.args
    return [*given.posonlyargs, *given.args, *given.kwonlyargs]


def _shows(evaluator: Evaluator, node: ast.AST, given: set[str]) -> bool:
    if isinstance(node, (ast.AugAssign, ast.Global, ast.Nonlocal)):
        return True
    if isinstance(node, (ast.If, ast.IfExp, ast.While)):
        names = {part.id for part in ast.walk(node.test) if isinstance(part, ast.Name)} - {"self", "cls"}
        return given.isdisjoint(names)  # what was registered before decides, whatever this one is called
    if isinstance(node, ast.Call):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called in _ADDS_IN_ORDER and isinstance(node.func, ast.Attribute):
            return _ordered(evaluator, node.func.value)
        return called in _NUMBERS
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        return _counted(evaluator, node.value)
    return False


def _ordered(evaluator: Evaluator, owner: ast.expr) -> bool:
    if isinstance(owner, ast.Attribute):
        return evaluator.hinders("attribute_positions_seen", owner.attr, KEPT)
    named = _global(evaluator, owner)
    return named is not None and evaluator.hinders("positions_seen", named, KEPT)


def _counted(evaluator: Evaluator, owner: ast.expr) -> bool:
    if isinstance(owner, ast.Attribute):
        scope = evaluator.unit.scope_of(owner)
        return evaluator.hinders("member_counted", class_of_self(owner.value, scope) or "", owner.attr)
    named = _global(evaluator, owner)
    return named is not None and evaluator.hinders("collection_counted", named)


def _global(evaluator: Evaluator, owner: ast.expr) -> str | None:
    """The qualified name of a collection at the top of the file."""
    if not isinstance(owner, ast.Name) or owner.id not in evaluator.unit.scopes.root.names:
        return None
    return f"{evaluator.unit.name}.{owner.id}"
