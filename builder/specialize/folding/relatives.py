"""Which classes may be related, judged by the names of bases alone: too many rather than too few."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from builder.specialize.evaluating.names import names_of
from builder.specialize.evaluating.scopes import Scope
from builder.specialize.text_index.text_search import nodes_on
from builder.specialize.world import SpecializerWorld, Unit, question


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


@question
def method_elsewhere(world: SpecializerWorld, cls: str, method: str) -> bool:
    """May `self` in a class of this last name get a method that no class of the program defines?

    So it is where an object of the class, or of an heir, has the method from no class of the program, but
    a base outside of it or a `__getattr__`.
    """
    families: tuple[_Family, ...] | None = world.derived.get(("families", cls))  # type: ignore[assignment]
    if families is None:
        families = world.derived["families", cls] = tuple(_families(world, cls))
    return any(method not in each.methods and each.open for each in families)


@dataclass(frozen=True, slots=True)
class _Family:
    """The methods that a class has from the program, and whether it may have others."""

    methods: frozenset[str]
    open: bool


def _families(world: SpecializerWorld, cls: str) -> Iterator[_Family]:
    """One for each class of this last name, and for each heir of one."""
    heirs = _closure(cls, lambda name: {*_other_names(world, name), *_heirs(world, name)})
    for unit, node in (each for heir in sorted(heirs) for each in _classes(world, heir)):
        classes, outer = _lineage(world, unit, node)
        if any(each.name == cls for each in classes):  # else its base has the name alone
            methods = frozenset(name for each in classes for name in _defined(each))
            yield _Family(methods, outer or not methods.isdisjoint(_LOOKED_UP))


def _lineage(world: SpecializerWorld, unit: Unit, node: ast.ClassDef) -> tuple[list[ast.ClassDef], bool]:
    """A class with those that it inherits from, and whether a base lies outside of the program and may have
    methods of its own."""
    from builder.specialize.evaluating.evaluate import Evaluator  # which asks about this itself

    found, todo, outer = [node], [(unit, node)], False
    while todo:
        unit, node = todo.pop()
        evaluator, scope = Evaluator(world, unit), unit.scopes.of(node).parent or unit.scopes.root
        for base in node.bases:
            plain = base.value if isinstance(base, ast.Subscript) else base
            named = evaluator.qualified(plain, scope)
            if isinstance(named, str) and not _is_inside(world, named):
                outer = outer or named not in _WITHOUT_METHODS
                continue
            last = named.rpartition(".")[2] if isinstance(named, str) else (names_of(plain) or ("",))[0]
            fresh = [each for each in _classes(world, last) if each[1] not in found]
            found += [each for _, each in fresh]
            todo += fresh
    return found, outer


def _is_inside(world: SpecializerWorld, qualified: str) -> bool:
    module = qualified.rpartition(".")[0]
    while module and not world.is_module(module):
        module = module.rpartition(".")[0]
    return bool(module)


def _classes(world: SpecializerWorld, name: str) -> Iterator[tuple[Unit, ast.ClassDef]]:
    statement = re.compile(rb"\bclass[\s\\]+" + re.escape(name.encode()) + rb"\b")
    for path in sorted(world.words.holders(name.encode())):
        if not statement.search(world.files[path]):
            continue
        unit = world.unit(path)
        for node in nodes_on(unit, name):
            if isinstance(node, ast.ClassDef) and node.name == name:
                yield unit, node


def _defined(node: ast.ClassDef) -> Iterator[str]:
    return (s.name for s in ast.walk(node) if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef)))


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


#: Methods that give an object attributes that no class defines.
_LOOKED_UP = frozenset(["__getattr__", "__getattribute__"])
#: Bases outside of the program that bring no methods with a name of their own.
_WITHOUT_METHODS = frozenset(
    ["object", "abc.ABC", "typing.Generic", "typing.Protocol", "enum.Enum", "enum.IntEnum"]
)
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
