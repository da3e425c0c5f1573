"""Which classes may be related, judged by the names of bases alone: too many rather than too few."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from builder.source.fields import nodes
from builder.specialize.evaluating.names import names_of
from builder.specialize.evaluating.scopes import Scope
from builder.specialize.folding.class_uses import is_named
from builder.specialize.folding.relations import UNKNOWN, Relations, relations
from builder.specialize.text_index.text_search import classes_called, nodes_like, nodes_on
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
def method_elsewhere(world: SpecializerWorld, cls: str, method: str) -> bool:
    """May `self` in a class of this last name get a method that no class of the program defines?

    So it is where an object of the class, or of an heir, has a base outside of the program before, or in
    place of, each class that defines the method, where a `__getattr__` or a decorator gives it what it likes,
    where an heir may be unseen, and where `self` need not be of the class.
    """
    families: tuple[_Family, ...] | None = world.derived.get(("families", cls))  # type: ignore[assignment]
    if families is None:
        families = world.derived["families", cls] = tuple(_families(world, cls))
    return any(each.may_lack(method) for each in families) or lends_methods(world, cls)


@dataclass(frozen=True, slots=True)
class _Family:
    """A class with those that it inherits from, as far as they tell which methods an object has."""

    #: the methods of each class of the program, with the bases outside of it that come later than the class
    defined: tuple[tuple[frozenset[str], frozenset[str]], ...]
    outer: frozenset[str]  # all bases outside of the program
    open: bool  # may it have a method from anywhere?

    def may_lack(self, method: str) -> bool:
        """May an object have another method than one of these classes?"""
        later = frozenset[str]().union(*(behind for methods, behind in self.defined if method in methods))
        return self.open or not self.outer <= later


def _families(world: SpecializerWorld, cls: str) -> Iterator[_Family]:
    """One for each class of this last name, and for each heir of one."""
    heirs = _closure(cls, partial(_kin, world))
    unseen = world.ask("inherits_unseen")
    set_from_outside = any(_sets_look_up(world, name) for name in _LOOKED_UP)
    for unit, node in (each for heir in sorted(heirs) for each in _classes(world, heir)):
        lineage = _lineage(world, unit, node)
        if any(each.name == cls for _, each in lineage):  # else its base has the name alone
            outer = {(each, name) for at, each in lineage for name in _outer(world, at, each)}
            defined = tuple(
                (_methods(each), frozenset(name for at, name in outer if at in behind))
                for at, each in lineage
                for behind in [{inner for _, inner in _lineage(world, at, each)}]
            )
            open = set_from_outside or any(_is_open(world, at, each) for at, each in lineage)
            open = open or (unseen and world.ask("used_as_value", node.name))
            open = open or world.ask("changed_outside", node.name)
            yield _Family(defined, frozenset(name for _, name in outer), open)


def _lineage(world: SpecializerWorld, unit: Unit, node: ast.ClassDef) -> list[tuple[Unit, ast.ClassDef]]:
    """A class with those of the program that it inherits from."""
    found, todo = [(unit, node)], [(unit, node)]
    while todo:
        at, cls = todo.pop()
        for base in cls.bases:
            fresh = [each for each in _bases_meant(world, at, cls, base) if each not in found]
            found += fresh
            todo += fresh
    return found


def _bases_meant(
    world: SpecializerWorld, unit: Unit, node: ast.ClassDef, base: ast.expr
) -> list[tuple[Unit, ast.ClassDef]]:
    """The classes of the program that a base may be: all of its last name, if nothing tells which."""
    plain = base.value if isinstance(base, ast.Subscript) else base
    named = _base_name(world, unit, node, base)
    if isinstance(named, str) and not _is_inside(world, named):
        return []
    last = named.rpartition(".")[2] if isinstance(named, str) else (names_of(plain) or ("",))[0]
    found = list(_classes(world, last)) if last else []
    return [each for each in found if named == f"{each[0].name}.{last}"] or found


def _base_name(world: SpecializerWorld, unit: Unit, node: ast.ClassDef, base: ast.expr) -> object:
    from builder.specialize.evaluating.evaluate import Evaluator  # which asks about this itself

    plain = base.value if isinstance(base, ast.Subscript) else base
    return Evaluator(world, unit).qualified(plain, unit.scopes.of(node).parent or unit.scopes.root)


def _outer(world: SpecializerWorld, unit: Unit, node: ast.ClassDef) -> Iterator[str]:
    """The bases of a class that lie outside of the program, or that no text names, and may have methods."""
    for base in node.bases:
        named = _base_name(world, unit, node, base)
        if not is_named(unit, base, node) or not isinstance(named, str):
            yield f"{unit.path}:{base.lineno}:{base.col_offset}"
        elif named not in _WITHOUT_METHODS and not _bases_meant(world, unit, node, base):
            yield named


def _is_open(world: SpecializerWorld, unit: Unit, node: ast.ClassDef) -> bool:
    """May a class have methods that neither its body nor its bases define?"""
    from builder.specialize.dead_code.class_statements import HARMLESS_CLASS_DECORATORS
    from builder.specialize.evaluating.evaluate import Evaluator

    evaluator, scope = Evaluator(world, unit), unit.scopes.of(node).parent or unit.scopes.root
    for decorator in node.decorator_list:
        func = decorator.func if isinstance(decorator, ast.Call) else decorator
        named = evaluator.qualified(func, scope)
        if named not in HARMLESS_CLASS_DECORATORS and not (
            isinstance(named, str) and _is_inside(world, named)
        ):
            return True
    for keyword in node.keywords:
        named = evaluator.qualified(keyword.value, scope)
        if keyword.arg in (None, "metaclass") and named not in _METACLASSES:
            return True
    return not _LOOKED_UP.isdisjoint(_bound(node))


@question
def changed_outside(world: SpecializerWorld, cls: str) -> bool:
    """Does the program hand a class of this last name to a function that may set its attributes unseen?"""
    from builder.specialize.evaluating.evaluate import Evaluator

    for path in sorted(world.words.holders(cls.encode())):
        unit = world.unit(path)
        for call in nodes_like(unit, cls, "class given to a call", lambda node: _is_given(node, cls)):
            if isinstance(call, ast.Call):
                named = Evaluator(world, unit).qualified(call.func, unit.scope_of(call))
                if isinstance(named, str) and not _is_inside(world, named) and named not in _ASKS:
                    return True
    return False


def _is_given(node: ast.AST, cls: str) -> bool:
    """Is this a call that gets something of this last name?"""
    if not isinstance(node, ast.Call):
        return False
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    return any(names_of(each)[:1] == (cls,) for each in given)


def _bound(node: ast.ClassDef) -> Iterator[str]:
    """The names of functions in a class, and those that its body assigns or imports."""
    for inner in nodes(node):
        if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield inner.name
        elif isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            yield inner.id
        elif isinstance(inner, ast.alias):
            yield inner.asname or inner.name


def _methods(node: ast.ClassDef) -> frozenset[str]:
    """The methods that a class has whatever happens."""
    return frozenset(s.name for s in node.body if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef)))


def _sets_look_up(world: SpecializerWorld, name: str) -> bool:
    """Is an attribute of this name set somewhere, so that some class has one?"""
    for path in sorted(world.words.holders(name.encode())):
        for node in nodes_on(world.unit(path), name):
            if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Store):
                return True
            if (
                isinstance(node, ast.Call)
                and names_of(node.func)[:1] == ("setattr",)
                and any(getattr(each, "value", None) == name for each in node.args)
            ):
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


def _is_inside(world: SpecializerWorld, qualified: str) -> bool:
    module = qualified.rpartition(".")[0]
    while module and not world.is_module(module):
        module = module.rpartition(".")[0]
    return bool(module)


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


#: Methods that give an object attributes that no class defines.
_LOOKED_UP = frozenset(["__getattr__", "__getattribute__"])
#: Bases outside of the program that bring no methods with a name of their own.
_WITHOUT_METHODS = frozenset(
    ["object", "abc.ABC", "typing.Generic", "typing.Protocol", "enum.Enum", "enum.IntEnum"]
)
#: Functions of the library that only ask about a class.
_ASKS = frozenset(
    ["isinstance", "issubclass", "super", "typing.cast", "dataclasses.fields", "repr", "str", "id", "hash"]
)
#: What is asked of a function that is not called.
_ABOUT_FUNCTIONS = frozenset(["__name__", "__qualname__", "__module__", "__doc__"])
#: Metaclasses that give a class no methods of their own choice.
_METACLASSES = frozenset(["abc.ABCMeta", "enum.EnumMeta", "enum.EnumType"])


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
