"""Finds the files from which the object of a look-up may come."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from builder.specialize.dead_code.hierarchy import Hierarchy
from builder.specialize.dead_code.look_ups import Site
from builder.specialize.dead_code.origins import Entry, Held, Origin, named_by, origins
from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.scopes import Scope
from builder.specialize.text_index.import_index import ImportIndex
from builder.specialize.text_index.text_search import nodes_on
from builder.specialize.world import SpecializerWorld, Unit

#: Methods of collections that put their arguments into them.
_FILLS = frozenset(["add", "append", "appendleft", "extend", "insert", "put", "setdefault", "update"])

#: A file, and where what it gives comes from in its turn.
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
                for place, further in self._before(todo.pop()):
                    found.add(place)
                    todo += further - seen
                    seen |= further
            self._known[key] = frozenset(found)
        return self._known[key]

    def _before(self, origin: Origin) -> list[Step]:
        if origin not in self._steps:
            find = self._given if isinstance(origin, Entry) else self._held
            self._steps[origin] = list(find(origin))  # type: ignore[arg-type]
        return self._steps[origin]

    def _given(self, entry: Entry) -> Iterator[Step]:
        """The files that see what has the parameter, and what they give it."""
        last = entry.home.rpartition(".")[2]
        seeing = self._seeing(entry.home)
        seeing[self._home(entry.home)].add(last)
        known = list(self._classes(entry.kind))
        yield from known
        for path, called in seeing.items():
            unit = self._world.unit(path)
            names = {*called, "__init__"} if entry.called == last else {entry.called}
            yield path, frozenset(self._arguments(unit, names, entry, handed_on=bool(known)))

    def _classes(self, name: str) -> Iterator[Step]:
        """The files of a class and of those that inherit from it: what an annotation says of an object."""
        for cls in self._hierarchy.named(name) if name else ():
            yield cls.unit.path, frozenset()
            yield from ((heir.unit.path, frozenset()) for heir in self._hierarchy.heirs(cls)[0])

    def _arguments(self, unit: Unit, names: set[str], entry: Entry, handed_on: bool) -> Iterator[Origin]:
        """Where what a file gives a parameter comes from. `handed_on`: only what is a parameter there."""
        evaluator = Evaluator(self._world, unit)
        for name in sorted(names):
            for node in nodes_on(unit, name):
                if _last_name(node) == name:
                    for argument in _given_to(unit, node, entry):
                        scope = unit.scope_of(argument)
                        if not handed_on or _is_parameter(argument, scope):
                            yield from origins(evaluator, argument, scope)

    def _held(self, held: Held) -> Iterator[Step]:
        """The file of a global or a function with what it holds or returns, and the files that fill it."""
        module, _, name = held.name.rpartition(".")
        path = self._world.paths[module]
        unit = self._world.unit(path)
        evaluator = Evaluator(self._world, unit)
        found: set[Origin] = set()
        bindings = unit.scopes.root.names.get(name, [])
        for binding in bindings:
            kind = named_by(evaluator, getattr(binding.node, "returns", None))
            if kind and not getattr(binding.node, "decorator_list", []) and self._hierarchy.named(kind):
                yield from self._classes(kind)
                continue
            for value in _results(binding.node) if binding.kind == "def" else filter(None, [binding.value]):
                found.update(origins(evaluator, value, unit.scope_of(value)))
        yield path, frozenset(found)
        if not any(binding.kind == "class" for binding in bindings):
            for user, called in {**self._links.seeing(held.name), path: {name}}.items():
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
    plain = node.value if isinstance(node, ast.Starred) else node
    owner = scope.find(plain.id) if isinstance(plain, ast.Name) else None
    bindings = owner.names.get(plain.id, []) if owner is not None and isinstance(plain, ast.Name) else []
    return any(binding.kind == "parameter" for binding in bindings)


def _results(function: ast.AST) -> Iterator[ast.expr]:
    """What a function returns and yields."""
    for node in ast.walk(function):
        if isinstance(node, (ast.Return, ast.Yield, ast.YieldFrom)) and node.value is not None:
            yield node.value


def _put_into(unit: Unit, node: ast.AST) -> Iterator[ast.expr]:
    """What the statement around a name stores in it, or puts into the collection that it is."""
    parents = unit.module.parents
    parent = parents.get(node)
    if isinstance(parent, ast.Attribute) and parent.attr in _FILLS:
        call = parents.get(parent)
        if isinstance(call, ast.Call) and call.func is parent:
            yield from call.args
            yield from (keyword.value for keyword in call.keywords)
        return
    target = parent if isinstance(parent, ast.Subscript) and parent.value is node else node
    if isinstance(getattr(target, "ctx", None), ast.Store):
        stmt = parents.get(target)
        while isinstance(stmt, (ast.Tuple, ast.List, ast.Starred)):
            stmt = parents.get(stmt)
        value = getattr(stmt, "value", None)
        if isinstance(value, ast.expr):
            yield value
