"""Finds the files from which the object of a look-up may come."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from builder.specialize.dead_code.hierarchy import Hierarchy
from builder.specialize.dead_code.look_ups import Site
from builder.specialize.dead_code.origins import Entry, Global, Origin, imported, named_by, origins, sources
from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.scopes import Scope
from builder.specialize.text_index.import_index import ImportIndex
from builder.specialize.text_index.text_search import nodes_on
from builder.specialize.unit import Unit
from builder.specialize.world import SpecializerWorld

#: Methods that put their arguments into a collection.
_FILLS = frozenset(
    ["add", "append", "appendleft", "extend", "insert", "put", "register", "setdefault", "update"]
)

#: A file, and the origins of what that file supplies.
Step = tuple[str, frozenset[Origin]]


class Places:
    """Follows objects through the files of one world."""

    def __init__(self, world: SpecializerWorld, links: ImportIndex, hierarchy: Hierarchy) -> None:
        self._world = world
        self._links = links
        self._hierarchy = hierarchy
        self._known: dict[tuple[str, str, frozenset[Origin]], frozenset[str]] = {}
        self._steps: dict[Origin, list[Step]] = {}

    def of(self, path: str, site: Site) -> frozenset[str]:
        """The files from which an unknown owner may come.

        Those are the file of the look-up, the files that see the function or class around it, and whatever
        the owner passes through on its way: callers, the files that fill a global, the functions that return
        it.
        """
        key = path, site.name, site.given
        if key not in self._known:
            found = {path, *(self._seeing(site.name) if site.name else ())}
            todo = list(site.given)
            seen = set(todo)
            while todo:
                for place, further in self._steps_from(todo.pop()):
                    found.add(place)
                    todo += further - seen
                    seen |= further
            self._known[key] = frozenset(found)
        return self._known[key]

    def _steps_from(self, origin: Origin) -> list[Step]:
        if origin not in self._steps:
            steps = self._from_callers(origin) if isinstance(origin, Entry) else self._from_global(origin)
            self._steps[origin] = list(steps)
        return self._steps[origin]

    def _from_callers(self, entry: Entry) -> Iterator[Step]:
        """The files that see what has the parameter, and what they give it."""
        last = entry.home.rpartition(".")[2]
        seeing = self._seeing(entry.home)
        seeing[self._home(entry.home)].add(last)
        known = list(self._classes(entry.class_name))
        constructors = ("__init__", "__new__") if self._hierarchy.named(entry.home) else ()
        yield from known
        for path, called in seeing.items():
            unit = self._world.unit(path)
            names = {*called, *constructors} if entry.callee == last else {entry.callee}
            yield path, frozenset(self._arguments(unit, names, entry, only_parameters=bool(known)))

    def _classes(self, name: str) -> Iterator[Step]:
        """The files of a class and of those that inherit from it: what an annotation says of an object."""
        for cls in self._hierarchy.named(name) if name else ():
            yield cls.unit.path, frozenset()
            yield from ((heir.unit.path, frozenset()) for heir in self._hierarchy.heirs(cls)[0])

    def _arguments(
        self, unit: Unit, names: set[str], entry: Entry, only_parameters: bool
    ) -> Iterator[Origin]:
        """Where what a file gives a parameter comes from. `only_parameters`: of what is one there."""
        evaluator = Evaluator(self._world, unit)
        for name in sorted(names):
            for node in nodes_on(unit, name):
                if _last_name(node) == name:
                    for argument in _given_to(unit, node, entry):
                        scope = unit.scope_of(argument)
                        if not only_parameters or _is_parameter(argument, scope):
                            yield from origins(evaluator, argument, scope)

    def _from_global(self, origin: Global) -> Iterator[Step]:
        """The file of a global or a function with what it holds or returns, and the files that fill it."""
        module, _, name = origin.name.rpartition(".")
        path = self._world.paths[module]
        unit = self._world.unit(path)
        evaluator = Evaluator(self._world, unit)
        found: set[Origin] = set()
        bindings = unit.scopes.root.names.get(name, [])
        for binding in bindings:
            node = binding.node
            if binding.kind == "import":
                found.update(imported(evaluator, binding))
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                known = [] if node.decorator_list else list(self._classes(named_by(evaluator, node.returns)))
                yield from known
                for value in () if known else _results(node):
                    found.update(origins(evaluator, value, unit.scope_of(value), True))
            elif binding.kind != "class":
                for source in sources(unit, binding):
                    found.update(origins(evaluator, source, unit.scope_of(source)))
        yield path, frozenset(found)
        if not all(binding.kind in ("class", "def") for binding in bindings):
            for user, called in {**self._links.seeing(origin.name), path: {name}}.items():
                yield from self._stores(self._world.unit(user), called)

    def _stores(self, unit: Unit, names: set[str]) -> Iterator[Step]:
        """What a file puts into a global: `NAME[key] = it`, `NAME.append(it)`."""
        evaluator = Evaluator(self._world, unit)
        for name in sorted(names):
            for node in nodes_on(unit, name):
                if _last_name(node) == name:
                    for value in _put_into(unit, node):
                        yield unit.path, frozenset(origins(evaluator, value, unit.scope_of(value)))

    def _seeing(self, name: str) -> defaultdict[str, set[str]]:
        """The files that see a function, or a class or one that inherits from it, and by which names."""
        found: defaultdict[str, set[str]] = defaultdict(set)
        heirs = (heir for cls in self._hierarchy.named(name) for heir in self._hierarchy.heirs(cls)[0])
        for each in (name, *(heir.qualified for heir in heirs)):
            for path, called in self._links.seeing(each).items():
                found[path] |= called
        return found

    def _home(self, name: str) -> str:
        return self._world.paths[name.rpartition(".")[0]]


def _last_name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _given_to(unit: Unit, node: ast.AST, entry: Entry) -> list[ast.expr]:
    """The arguments of a call of what a name stands for that a parameter may get.

    Where the name itself is an argument (`partial(run, it)`, `pool.submit(run, it)`), all the others.
    """
    call = unit.module.parents.get(node)
    call = unit.module.parents.get(call) if isinstance(call, ast.keyword) else call
    if not isinstance(call, ast.Call):
        return []
    if call.func is node:
        return entry.arguments(call)
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return [argument for argument in given if argument is not node]


def _is_parameter(node: ast.expr, scope: Scope) -> bool:
    """Is an argument, starred or not, a parameter of a function around it?"""
    plain = node.value if isinstance(node, ast.Starred) else node
    if not isinstance(plain, ast.Name):
        return False
    owner = scope.find(plain.id)
    return owner is not None and any(binding.kind == "parameter" for binding in owner.names[plain.id])


def _results(function: ast.AST) -> Iterator[ast.expr]:
    """What a function returns and yields."""
    for node in ast.walk(function):
        if isinstance(node, (ast.Return, ast.Yield, ast.YieldFrom)) and node.value is not None:
            yield node.value


def _put_into(unit: Unit, node: ast.AST) -> Iterator[ast.expr]:
    """What a statement stores in a name or an item of it, and what it gives to a method that fills it.

    `NAME = it`, `NAME[key] = it`, `NAME[key].append(it)`, `NAME.register(key, it)`.
    """
    parents = unit.module.parents
    below, at = node, parents.get(node)
    while True:
        if isinstance(at, ast.Subscript) and at.value is below:
            below, at = at, parents.get(at)
            continue
        call = parents.get(at) if isinstance(at, ast.Attribute) and at.attr in _FILLS else None
        if not isinstance(call, ast.Call) or call.func is not at:
            break
        yield from call.args
        yield from (keyword.value for keyword in call.keywords)
        below, at = call, parents.get(call)
    if isinstance(getattr(below, "ctx", None), ast.Store):
        while isinstance(at, (ast.Tuple, ast.List, ast.Starred)):
            at = parents.get(at)
        value = getattr(at, "value", None)
        if isinstance(value, ast.expr):
            yield value
