"""Which objects the program hands to other packages, which may call any of their methods."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from builder.specialize.dead_code.class_statements import Class, is_in_program
from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.scopes import Scope
from builder.specialize.text_index.identifier_index import IdentifierIndex
from builder.specialize.text_index.import_index import ImportIndex
from builder.specialize.text_index.text_search import nodes_on
from builder.specialize.world import SpecializerWorld, Unit

#: Methods of the standard library that call what methods they like of the object or class they are handed.
_CALLS_BY_NAME = frozenset(["create_aggregate", "create_window_function", "register_instance"])

#: Expressions and parts of them that may give one of their own parts, or hold it.
_PASSES_ON = (ast.IfExp, ast.BoolOp, ast.Await, ast.Starred, ast.Tuple, ast.List, ast.Set, ast.Dict)


class HandedOut:
    """Answers about the classes of one world."""

    def __init__(self, world: SpecializerWorld, words: IdentifierIndex, links: ImportIndex) -> None:
        self._world = world
        self._words = words
        self._links = links
        self._handed: dict[ast.ClassDef, bool] = {}

    def is_handed_out(self, cls: Class) -> bool:
        """Does the text hand an object of the class to another package, which may call any method?"""
        if cls.node not in self._handed:
            self._handed[cls.node] = self._find(cls)
        return self._handed[cls.node]

    def _find(self, cls: Class) -> bool:
        for node in ast.walk(cls.node):
            if isinstance(node, ast.Name) and node.id == "self" and self._goes_out(cls.unit, node):
                return True
        for path, called in sorted(self._links.seeing(cls.qualified).items()):
            for name in sorted(called):
                if name.encode() not in self._words.of(path):
                    continue
                unit = self._world.unit(path)
                if _handed_to_calls(unit, name) and any(
                    self._goes_out(unit, use) for use in _made_by(unit, name)
                ):
                    return True
        return False

    def _goes_out(self, unit: Unit, node: ast.AST) -> bool:
        """Is an expression an argument of a call of another package, which may call any method?"""
        at = _call_around(unit, node)
        if at is None:
            return False
        if getattr(at.func, "attr", "") in _CALLS_BY_NAME:
            return True
        scope = self._scope_around(unit, at)
        if self._is_foreign(unit, at.func, scope):
            return True
        name = Evaluator(self._world, unit).qualified(at.func, scope)
        # the library may call a function that it gets with the object: `map(run, [Worker()])`
        library = isinstance(name, str) and not is_in_program(self._world, name)
        return library and any(self._is_foreign(unit, each, scope) for each in at.args)

    def _is_foreign(
        self, unit: Unit, func: ast.expr, scope: Scope, seen: frozenset[tuple[Scope, str]] = frozenset()
    ) -> bool:
        """Is it a function of another package, or a method of an object that one made?"""
        name = Evaluator(self._world, unit).qualified(func, scope)
        if isinstance(name, str) and "." in name and not is_in_program(self._world, name):
            return name.partition(".")[0] not in sys.stdlib_module_names
        owner = func.value if isinstance(func, ast.Attribute) else None
        home = scope.find(owner.id) if isinstance(owner, ast.Name) else None
        if home is None or not isinstance(owner, ast.Name):
            return False
        if (home, owner.id) in seen:
            return False  # `it = it.next()`: what else binds the name tells
        seen |= {(home, owner.id)}
        makers = [each.value.func for each in home.names[owner.id] if isinstance(each.value, ast.Call)]
        return any(self._is_foreign(unit, maker, home, seen) for maker in makers)

    def _scope_around(self, unit: Unit, node: ast.AST) -> Scope:
        at: ast.AST | None = node
        while at is not None and not isinstance(at, (ast.FunctionDef, ast.AsyncFunctionDef)):
            at = unit.module.parents.get(at)
        return unit.scopes.of(at) if at is not None else unit.scopes.root


def _handed_to_calls(unit: Unit, name: str) -> bool:
    """Does a file hand to any call what a class of this name makes, or the class?"""

    def find() -> bool:
        return any(_call_around(unit, use) is not None for use in _made_by(unit, name))

    return unit.told(("handed to calls", name), find)


def _made_by(unit: Unit, name: str) -> Iterator[ast.AST]:
    """The expressions that are a class of this name or what it makes, at once or by a variable."""
    parents = unit.module.parents
    for node in nodes_on(unit, name):
        if name not in (getattr(node, "id", ""), getattr(node, "attr", "")):
            continue
        yield node
        call = parents.get(node)
        if not isinstance(call, ast.Call) or call.func is not node:
            continue
        yield call
        for variable in _stored_as(unit, call):
            for use in nodes_on(unit, variable):
                if variable in (getattr(use, "id", ""), getattr(use, "attr", "")):
                    yield use


def _stored_as(unit: Unit, node: ast.AST) -> set[str]:
    """The variables and attributes, by their last names, that may get what an expression gives."""
    parents = unit.module.parents
    found: set[str] = set()
    below, at = node, parents.get(node)
    while isinstance(at, _PASSES_ON) or (isinstance(at, ast.NamedExpr) and below is at.value):
        if isinstance(at, ast.NamedExpr):
            found.add(at.target.id)
        below, at = at, parents.get(at)
    targets: list[ast.expr] = []
    if isinstance(at, ast.Assign):
        targets = at.targets
    elif isinstance(at, ast.AnnAssign):
        targets = [at.target]
    elif isinstance(at, ast.withitem) and at.optional_vars is not None:
        targets = [at.optional_vars]
    for target in targets:
        for inner in ast.walk(target):
            if isinstance(inner, (ast.Name, ast.Attribute)) and isinstance(inner.ctx, ast.Store):
                found.add(inner.id if isinstance(inner, ast.Name) else inner.attr)
    return found


def _call_around(unit: Unit, node: ast.AST) -> ast.Call | None:
    """The call of which an expression is an argument, as it is, in a display or as one of several values."""
    parents = unit.module.parents
    below, at = node, parents.get(node)
    while isinstance(at, (ast.keyword, ast.NamedExpr, *_PASSES_ON)):
        below, at = at, parents.get(at)
    return at if isinstance(at, ast.Call) and at.func is not below else None
