"""Which classes may be related, judged by the names of bases alone: too many rather than too few."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from builder.specialize.evaluating.names import names_of
from builder.specialize.evaluating.scopes import Scope
from builder.specialize.text_index.text_search import nodes_on
from builder.specialize.world import SpecializerWorld


def may_share_objects(world: SpecializerWorld, one: str, other: str) -> bool:
    """May an object be an instance of both classes, whose last names these are?

    So it is where a class of the program inherits from both, or one of them from the other. The instances
    of a metaclass are classes, and of a base that is computed nobody knows what it is.
    """
    heirs: set[str] = set()
    for name in (one, other):
        heirs |= _closure(name, lambda name: {*_other_names(world, name), *_heirs(world, name)})
    for heir in sorted(heirs):
        lineage = _closure(heir, lambda name: {*_other_names(world, name), *_bases_of(world, name)})
        if {one, other} <= lineage or _UNKNOWN in lineage or any(n.endswith("Meta") for n in lineage):
            return True
    return False


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


#: Stands for a base that the text does not name, and for `type`, whose instances are classes.
_UNKNOWN = "type"


def _closure(name: str, further: Callable[[str], set[str]]) -> set[str]:
    found, todo = {name}, [name]
    while todo:
        new = further(todo.pop()) - found
        found |= new
        todo += sorted(new)
    return found


def _other_names(world: SpecializerWorld, name: str) -> Iterator[str]:
    """The names that an import or an assignment gives to what has this one, or the reverse."""
    for node in _nodes(world, name):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                both = {alias.name.rpartition(".")[2], alias.asname or name}
                if name in both:
                    yield from both
        elif isinstance(node, ast.Assign):
            sides = [*node.targets, node.value]
            if all(isinstance(side, (ast.Name, ast.Attribute)) for side in sides):
                yield from (names_of(side)[0] for side in sides)


def _heirs(world: SpecializerWorld, name: str) -> Iterator[str]:
    """The classes with a base of this last name."""
    for node in _nodes(world, name):
        if isinstance(node, ast.ClassDef) and name in _bases(node):
            yield node.name


def _bases_of(world: SpecializerWorld, name: str) -> Iterator[str]:
    """The last names of the bases of each class that has this last name."""
    for node in _nodes(world, name):
        if isinstance(node, ast.ClassDef) and node.name == name:
            yield from _bases(node)
        elif (
            isinstance(node, ast.Assign)
            and not isinstance(node.value, (ast.Name, ast.Attribute))
            and any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
        ):
            yield _UNKNOWN


def _bases(cls: ast.ClassDef) -> Iterator[str]:
    """The last names in the bases of a class."""
    for base in cls.bases:
        for node in ast.walk(base):
            if isinstance(node, (ast.Name, ast.Attribute)):
                yield names_of(node)[0]
            elif isinstance(node, ast.Call):
                yield _UNKNOWN


def _nodes(world: SpecializerWorld, name: str) -> Iterator[ast.AST]:
    """The imports, assignments and classes in whose lines a name stands."""
    for path in sorted(world.words.holders(name.encode())):
        unit = world.unit(path)
        seen: set[ast.AST] = set()
        for node in nodes_on(unit, name):
            at: ast.AST | None = node
            while at is not None and not isinstance(at, ast.stmt):
                at = unit.module.parents.get(at)
            if at is not None and at not in seen:
                seen.add(at)
                yield at
