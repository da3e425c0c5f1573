"""Which classes may be related, judged by the names of bases alone: too many rather than too few."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from builder.source.fields import nodes
from builder.specialize.evaluating.names import names_of
from builder.specialize.evaluating.scopes import Scope
from builder.specialize.folding.relations import UNKNOWN, Relations, relations
from builder.specialize.text_index.text_search import classes_called, nodes_on
from builder.specialize.unit import Unit
from builder.specialize.world import SpecializerWorld, question


def may_share_objects(world: SpecializerWorld, one: str, other: str) -> bool:
    """May an object be an instance of both classes, whose last names these are?

    So it is where a class of the program inherits from both, or one of them from the other. The instances
    of a metaclass are classes, and of a base that is computed nobody knows what it is.
    """
    if lends_methods(world, one) or lends_methods(world, other):
        return True
    heirs: set[str] = set()
    for name in (one, other):
        heirs |= _closure(name, partial(_kin, world))
    for heir in sorted(heirs):
        lineage = _closure(heir, partial(_lineage_names, world))
        if {one, other} <= lineage or UNKNOWN in lineage or any(n.endswith("Meta") for n in lineage):
            return True
    return False


@question
def lends_methods(world: SpecializerWorld, cls: str) -> bool:
    """May `self` in a class of this last name be of no such class?

    So it is where a method is taken from the class by name, and more is done with it than to call it for the
    `self` of an heir.
    """
    known: bool | None = world.derived.get(("lends methods", cls))  # type: ignore[assignment]
    if known is None:
        world.derived["lends methods", cls] = False  # of a class whose heir calls it, the heir tells the rest
        known = world.derived["lends methods", cls] = _lends(world, cls)
    return known


def _lends(world: SpecializerWorld, cls: str) -> bool:
    heirs = _closure(cls, partial(_kin, world))
    methods = {name for _, node in _classes(world, cls) for name in _bound_to_self(node)}
    for heir in sorted(heirs) if methods else ():
        for path in sorted(world.words.holders(heir.encode())):
            unit = world.unit(path)
            if any(_goes_elsewhere(world, unit, taken, heirs) for taken in _taken(unit, heir, methods)):
                return True
    return False


def _taken(unit: Unit, cls: str, methods: set[str]) -> Iterator[ast.Attribute]:
    """Where one of the methods is taken from a class by name."""

    def find() -> frozenset[str]:
        if not re.search(rb"\b%s(?:[\s)\\]|#[^\r\n]*[\r\n])*\." % re.escape(cls.encode()), unit.text):
            return frozenset()  # nearly every file, of which nothing need be parsed
        return frozenset(taken.attr for taken in _taken_from(nodes_on(unit, cls), cls))

    if not methods.isdisjoint(unit.told(("taken from class", cls), find)):
        yield from (taken for taken in _taken_from(nodes_on(unit, cls), cls) if taken.attr in methods)


def _taken_from(nodes: Iterable[ast.AST], cls: str) -> Iterator[ast.Attribute]:
    for node in nodes:
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Load)
            and isinstance(node.value, (ast.Name, ast.Attribute))
            and names_of(node.value)[:1] == (cls,)
        ):
            yield node


def _bound_to_self(node: ast.ClassDef) -> Iterator[str]:
    for inner in nodes(node):
        if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)) and not any(
            names_of(each)[:1] in (("staticmethod",), ("classmethod",)) for each in inner.decorator_list
        ):
            yield inner.name


def _goes_elsewhere(world: SpecializerWorld, unit: Unit, taken: ast.Attribute, heirs: set[str]) -> bool:
    """May a method that is taken from a class get an object that is of none of its heirs?"""
    parent = unit.module.parents.get(taken)
    if isinstance(parent, ast.Compare) or getattr(parent, "attr", "") in _ABOUT_FUNCTIONS:
        return False
    if isinstance(parent, ast.Call) and parent.func is taken and parent.args:
        of = class_of_self(parent.args[0], unit.scope_of(parent))
        return of not in heirs or lends_methods(world, of or "")
    around = unit.scope_of(taken)
    return not (around.kind == "class" and around.qualname.rpartition(".")[2] in heirs)


def _classes(world: SpecializerWorld, name: str) -> Iterator[tuple[Unit, ast.ClassDef]]:
    statement = re.compile(rb"\bclass[\s\\]+" + re.escape(name.encode()) + rb"\b")
    for path in sorted(world.words.holders(name.encode())):
        if statement.search(world.files[path]):
            unit = world.unit(path)
            yield from ((unit, node) for node in classes_called(unit, name))


def class_of_self(node: ast.expr, scope: Scope) -> str | None:
    """The last name of the class in whose method an expression is the method's own first argument."""
    owner = scope.find(node.id) if isinstance(node, ast.Name) else None
    if owner is None or owner.parent is None or owner.parent.kind != "class":
        return None
    arguments = getattr(owner.node, "args", None)
    first = [*arguments.posonlyargs, *arguments.args][:1] if arguments is not None else []
    plain = [a.arg for a in first] == [getattr(node, "id", "")] and len(owner.names[first[0].arg]) == 1
    static = any(names_of(d)[:1] == ("staticmethod",) for d in getattr(owner.node, "decorator_list", ()))
    return owner.parent.qualname.rpartition(".")[2] if plain and not static else None


def is_own_class(node: ast.expr, unit: Unit) -> bool:
    """Is this `cls` of a class method, `type(self)` or `self.__class__`?"""
    if isinstance(node, ast.Call) and names_of(node.func) == ("type",) and len(node.args) == 1:
        node = node.args[0]
    elif isinstance(node, ast.Attribute) and node.attr == "__class__":
        node = node.value
    elif isinstance(node, ast.Name):
        decorators = getattr(unit.scope_of(node).node, "decorator_list", ())
        if not any(names_of(d)[:1] == ("classmethod",) for d in decorators):
            return False
    else:
        return False
    return class_of_self(node, unit.scope_of(node)) is not None


#: What is asked of a function that is not called.
_ABOUT_FUNCTIONS = frozenset(["__name__", "__qualname__", "__module__", "__doc__"])


def _closure(name: str, further: Callable[[str], set[str]]) -> set[str]:
    found, todo = {name}, [name]
    while todo:
        new = further(todo.pop()) - found
        found |= new
        todo += sorted(new)
    return found


def _related(world: SpecializerWorld, name: str) -> Iterator[Relations]:
    for path in sorted(world.words.holders(name.encode())):
        yield relations(world.unit(path), name)


def _kin(world: SpecializerWorld, name: str) -> set[str]:
    """The other names of what has this one, and the classes with a base of this last name."""
    return {each for said in _related(world, name) for each in (*said.others, *said.heirs)}


def _lineage_names(world: SpecializerWorld, name: str) -> set[str]:
    """The other names of what has this one, and the bases of each class that has it."""
    return {each for said in _related(world, name) for each in (*said.others, *said.bases)}
