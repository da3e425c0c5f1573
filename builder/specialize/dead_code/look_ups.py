"""Where a file looks up attributes by names that no text shows, and whose attributes."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from builder.specialize.dead_code.origins import Origin, definition_around, origins
from builder.specialize.dead_code.owners import Owners
from builder.specialize.dead_code.spelled_names import SpelledNames, scope_around
from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.names import text
from builder.specialize.evaluating.scopes import Scope
from builder.specialize.text_index.identifier_index import IdentifierIndex
from builder.specialize.text_index.text_search import children, lines_with
from builder.specialize.unit import Unit
from builder.specialize.world import SpecializerWorld

#: Functions that read an attribute whose name is their second argument.
_READS = frozenset(["getattr", "hasattr", "getattr_static", "__getattribute__"])
#: Functions that make something that reads the attributes that their arguments name.
_READERS = frozenset(["attrgetter", "methodcaller"])
#: Functions that list the attributes of their argument.
_LISTS = frozenset(["dir", "vars", "getmembers", "getmembers_static", "classify_class_attrs", "__dir__"])
#: Functions that list the names of the module.
_OWN = frozenset(["globals", "locals"])
#: Functions that run a text as code.
_RUNNERS = frozenset(["eval", "exec"])
_NAMED = _READS | _LISTS | _OWN
#: Functions of a library that look up an attribute, by whatever name a file imports them.
_LIBRARY = frozenset(
    [
        *(
            f"builtins.{name}"
            for name in ("getattr", "hasattr", "dir", "vars", "globals", "locals", "eval", "exec")
        ),
        *(f"inspect.{name}" for name in _LISTS | _READS if name.startswith(("get", "classify"))),
        "operator.attrgetter",
        "operator.methodcaller",
        "pkgutil.resolve_name",
        "pydoc.locate",
    ]
)
#: Functions that find something by its name with the name of its module before it.
_FINDERS = frozenset(["resolve_name", "pydoc.locate"])
#: Attributes that are the namespace of a module.
_NAMESPACES = frozenset(["__globals__", "f_globals", "f_locals"])
#: What may be done to a namespace with a name that the text shows.
_KEYED = frozenset(["get", "pop", "setdefault", "__getitem__", "__contains__"])
_WRITES = frozenset(["update", "clear", "__setitem__"])

_HERE = re.compile(rb"(?<![\w.])__(?:file|name|package|path)__")
#: Does a file find the modules of a package by itself?
_WALKS = re.compile(rb"pkgutil|iter_modules|walk_packages|listdir|scandir|glob|iterdir|os\.walk")


@dataclass(frozen=True, slots=True)
class Site:
    """One look-up.

    owner   whose attributes
    module  those of the kept module `name`
    class   those of the kept class `name`, or of what inherits from it
    loaded  those of a module that is imported by a name that no text shows
    around  those of the module of something that is not known
    any     those of something that is not known

    What `loaded` and `around` need comes in from callers of the function, or of a method of the class,
    `name`, if that is set.
    """

    owner: str
    name: str
    lines: tuple[int, int]
    start: str = ""  # how a module's name begins that the owner may be
    outside: str = ""  # the class outside of the program that an annotation gives the owner
    walks: bool = False  # the definition around it also goes through files or modules
    here: bool = False  # and these are those beside it
    classes: bool = False  # only those that are classes
    given: frozenset[Origin] = frozenset()  # where the module, or what is in it, may come from


class LookUps:
    """Finds the look-ups of one file."""

    def __init__(self, world: SpecializerWorld, unit: Unit, words: IdentifierIndex) -> None:
        self._world = world
        self._unit = unit
        self._words = words
        self._names = SpelledNames(world, unit, words)
        self._evaluator = Evaluator(world, unit)
        self._owners = Owners(world, unit)

    def find(self, offsets: Iterable[int]) -> Iterator[Site]:
        """`offsets`: where a look-up may be."""
        starts = self._unit.module.starts
        lines = {bisect_right(starts, offset) for offset in offsets}
        lines |= self._renamed(lines)
        for node in _on(self._unit.module.tree, sorted(lines)):
            if isinstance(node, ast.Call):
                yield from self._call(node)
            elif isinstance(node, ast.Attribute) and node.attr == "__dict__":
                if not self._keyed(node) and not self._instance(node.value):
                    yield self._site(node, node.value)
            elif isinstance(node, ast.Attribute) and node.attr in _NAMESPACES:
                if not self._keyed(node):
                    yield self._around_it(node, node.value)
            elif isinstance(node, (ast.Name, ast.Attribute)) and self._handed_on(node):
                yield self._unknown(node)

    def _renamed(self, lines: set[int]) -> set[int]:
        """The lines with the names that imports on some lines give to what they import."""
        names = {
            alias.asname.encode()
            for node in _on(self._unit.module.tree, sorted(lines))
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
            if alias.asname
        }
        return lines_with(self._unit, names) if names else set()

    def _call(self, node: ast.Call) -> Iterator[Site]:
        func = node.func
        name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
        scope = scope_around(self._unit, node)
        full = self._evaluator.qualified(func, scope) if name else None
        own = isinstance(func, ast.Name) and name in _NAMED and scope.find(name) is not None
        if own and not isinstance(full, str):
            return  # a local of that name
        plain = isinstance(func, ast.Name)
        if isinstance(full, str) and full in _LIBRARY:
            name, plain = full.rpartition(".")[2], True
        if name in _READS and any(isinstance(argument, ast.Starred) for argument in node.args):
            yield self._unknown(node)
        elif name == "__getattribute__" and isinstance(func, ast.Attribute) and len(node.args) == 1:
            if not self._names.shows(node.args[0], scope, 0):
                yield self._site(node, func.value)
        elif name in _READS and len(node.args) > 1:
            if not self._names.shows(node.args[1], scope, 0):
                yield self._site(node, node.args[0])
        elif name in _READERS:
            if not all(
                self._names.shows(argument, scope, 0)
                for argument in node.args[: 1 if name == "methodcaller" else None]
            ):
                yield self._unknown(node)
                call = self._unit.module.parents.get(node)
                if isinstance(call, ast.Call) and call.func is node and call.args:
                    yield self._site(node, call.args[0])
                elif isinstance(call, ast.Call):  # `map(methodcaller(name), them)`
                    yield from (self._site(node, each) for each in call.args if each is not node)
        elif (name in _FINDERS or full in _FINDERS) and node.args:
            yield from self._found(node, node.args[0], scope)
        elif name in _RUNNERS and plain and node.args:
            if text(node.args[0]) is None:  # what the code asks for
                yield Site("module", self._unit.name, self._span(node))
                yield self._unknown(node)
        elif name in _OWN and plain and not node.args:
            inside = name == "locals" and scope.kind not in ("module", "class")
            if not inside and not self._keyed(node):
                around = (
                    self._owners.class_around(node) if name == "locals" and scope.kind != "module" else ""
                )
                yield Site("class" if around else "module", around or self._unit.name, self._span(node))
        elif name in _LISTS and (plain or name not in ("dir", "vars")):
            if self._keyed(node):
                return
            if not node.args:
                if plain and scope.kind == "module":
                    yield Site("module", self._unit.name, self._span(node))
            elif not (name == "vars" and self._instance(node.args[0])):
                site = self._site(node, node.args[0])
                yield replace(site, classes=self._asks_for_classes(node, scope))

    def _found(self, node: ast.Call, argument: ast.expr, scope: Scope) -> Iterator[Site]:
        """What is found by `"pkg.a:" + name`, `"pkg.a." + name` or `"pkg.a:Class." + name`."""
        if isinstance(argument, ast.Name):
            owner = scope.find(argument.id)
            bindings = owner.names.get(argument.id, []) if owner is not None else []
            if len(bindings) == 1 and bindings[0].value is not None:
                argument = bindings[0].value
        if text(argument) is not None:
            return
        owner_kind, around, *starts = self._owners.module(argument)
        start = starts[0] if starts else ""
        before, _, rest = start.replace(":", ".").rpartition(".")
        module = before
        while module and not self._world.is_module(module):
            module = module.rpartition(".")[0]
        if module == before and module:
            yield Site("module", module, self._span(node))  # what the text says of the name may be little
            yield Site("loaded", around, self._span(node), f"{module}.{rest}")
        elif module:
            yield Site("class", before, self._span(node))
        elif not self._names.shows(argument, scope, 0):
            yield Site(owner_kind, around, self._span(node), start)
            yield self._unknown(node)

    def _asks_for_classes(self, node: ast.Call, scope: Scope) -> bool:
        """Is this `getmembers(x, inspect.isclass)`?"""
        asked = [*node.args[1:], *(k.value for k in node.keywords if k.arg == "predicate")]
        return any(self._evaluator.qualified(argument, scope) == "inspect.isclass" for argument in asked)

    def _handed_on(self, node: ast.Name | ast.Attribute) -> bool:
        """Is a function that looks up attributes used as a value?"""
        parent = self._unit.module.parents.get(node)
        if isinstance(parent, ast.Call) and parent.func is node:
            return False
        scope = scope_around(self._unit, node)
        if isinstance(node, ast.Name) and node.id in _NAMED and scope.find(node.id) is None:
            return True
        return self._evaluator.qualified(node, scope) in _LIBRARY

    def _keyed(self, node: ast.expr) -> bool:
        """Is a namespace only written to, or asked for names that the text shows?"""
        parent = self._unit.module.parents.get(node)
        if isinstance(parent, ast.Subscript) and parent.value is node:
            return not isinstance(parent.ctx, ast.Load) or self._names.shows(
                parent.slice, scope_around(self._unit, node), 0
            )
        if isinstance(parent, ast.Compare) and node in parent.comparators and len(parent.ops) == 1:
            return isinstance(parent.ops[0], (ast.In, ast.NotIn)) and self._names.shows(
                parent.left, scope_around(self._unit, node), 0
            )
        if isinstance(parent, ast.Attribute):
            call = self._unit.module.parents.get(parent)
            if isinstance(call, ast.Call) and call.func is parent:
                if parent.attr in _WRITES:
                    return True
                return (
                    parent.attr in _KEYED
                    and bool(call.args)
                    and self._names.shows(call.args[0], scope_around(self._unit, node), 0)
                )
        return False

    # -- whose attributes -------------------------------------------------------------------------------

    def _site(self, node: ast.expr, owner: ast.expr) -> Site:
        kind, name, *more = self._owners.of(owner, scope_around(self._unit, node), 0)
        start, outside = [*more, "", ""][:2]
        given: frozenset[Origin] = frozenset()
        if kind in ("around", "loaded"):
            given = frozenset(origins(self._evaluator, owner, scope_around(self._unit, node), True))
        around = self._around(node)
        walks = _WALKS.search(around) is not None
        here = walks and _HERE.search(around) is not None
        return Site(kind, name, self._span(node), start, outside, walks, here, given=given)

    def _around_it(self, node: ast.expr, owner: ast.expr) -> Site:
        """A look-up in the module that something is defined in."""
        given = frozenset(origins(self._evaluator, owner, scope_around(self._unit, node), True))
        return Site("around", self._owners.callers(node), self._span(node), given=given)

    def _around(self, node: ast.AST) -> bytes:
        """The definition of the module that a look-up is in, or all of the module."""
        module, definition = self._unit.module, definition_around(self._unit, node)
        return (
            module.data
            if definition is None
            else module.data[module.start(definition) : module.end(definition)]
        )

    def _unknown(self, node: ast.expr) -> Site:
        """A look-up on an object of which nothing is known."""
        return Site("any", "", self._span(node))

    def _instance(self, node: ast.expr) -> bool:
        """Is it `self`, whose own namespace holds no method?"""
        if not isinstance(node, ast.Name):
            return False
        owner = scope_around(self._unit, node).find(node.id)
        if owner is None or owner.kind != "function" or node.id not in ("self", "other", "obj", "memo"):
            return False
        function = owner.node
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) or function.decorator_list:
            return False
        inside = owner.parent is not None and owner.parent.kind == "class"
        first = [*function.args.posonlyargs, *function.args.args][:1]
        return inside and bool(first) and first[0].arg == node.id == "self"

    def _span(self, node: ast.expr) -> tuple[int, int]:
        return node.lineno, node.end_lineno or node.lineno


def _on(tree: ast.Module, lines: list[int]) -> Iterator[ast.AST]:
    """Every node that spans one of the lines."""
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(children(node, lines))
