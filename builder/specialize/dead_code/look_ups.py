"""Where a file looks up attributes by names that no text shows, and whose attributes."""

from __future__ import annotations

import ast
import re
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from builder.specialize.dead_code.class_statements import is_protocol, keeps_class, makes_own
from builder.specialize.dead_code.origins import Origin, definition_around, is_self, origins
from builder.specialize.dead_code.spelled_names import SpelledNames, scope_around
from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.names import text
from builder.specialize.evaluating.scopes import Binding, Scope
from builder.specialize.text_index.identifier_index import IdentifierIndex
from builder.specialize.text_index.text_search import children, lines_with
from builder.specialize.world import SpecializerWorld, Unit

#: Modules of the standard library with classes of which an object need not inherit.
_ABSTRACT = frozenset(
    ["abc", "collections.abc", "contextlib", "email.policy", "enum", "importlib.abc",
     "importlib.resources.abc",
     "io", "numbers", "os", "selectors", "types", "typing"]
)  # fmt: skip
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
_LOADS = frozenset(["import_module", "__import__", "find_spec", "spec_from_file_location"])
#: Methods whose first parameter is the class, with no decorator that says so.
_OF_CLASS = frozenset(["__new__", "__init_subclass__", "__class_getitem__"])
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
            if text(node.args[0]) is None:  # what code asks for in the module, or of what it is given
                yield Site("module", self._unit.name, self._span(node))
                yield self._unknown(node)
        elif name in _OWN and plain and not node.args:
            inside = name == "locals" and scope.kind not in ("module", "class")
            if not inside and not self._keyed(node):
                around = self._class_around(node) if name == "locals" and scope.kind != "module" else ""
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
        owner_kind, around, *starts = self._module(argument)
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
        kind, name, *more = self._owner(owner, scope_around(self._unit, node), 0)
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
        return Site("around", self._callers(node), self._span(node), given=given)

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

    def _callers(self, node: ast.AST) -> str:
        """The function or class from whose callers an object of unknown origin may come."""
        definition = definition_around(self._unit, node)
        return f"{self._unit.name}.{definition.name}" if definition is not None else ""

    def _owner(self, node: ast.expr, scope: Scope, depth: int) -> tuple[str, ...]:
        if depth > 5:
            return "any", ""
        if isinstance(node, ast.Call):
            return self._made(node, scope, depth)
        if isinstance(node, ast.Attribute) and node.attr == "__class__":
            return self._owner(node.value, scope, depth + 1)
        if isinstance(node, ast.Subscript):
            return self._loaded(node, scope)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            of = self._owner(node.value, scope, depth + 1)
            if of[0] == "class" and self._evaluator.qualified(node, scope) is None:
                # without an option's type, whoever makes the object may have put anything there
                return self._option(of[1], node, scope, depth) or ("any", of[1])
        name = self._evaluator.qualified(node, scope)
        if isinstance(name, str):
            return self._known(name, node, scope, depth)
        if isinstance(node, ast.Name):
            owner = scope.find(node.id)
            bindings = owner.names.get(node.id, []) if owner is not None else []
            if owner is not None and len(bindings) == 1:
                return self._bound(node.id, bindings[0], owner, depth)
        return "any", ""

    def _option(self, cls: str, node: ast.Attribute, scope: Scope, depth: int) -> tuple[str, ...] | None:
        """What a field of the class around says of its value, where it is an option:
        `x: Annotated[Config, "..."]`."""
        at: Scope | None = scope
        while at is not None and not (at.kind == "class" and f"{self._unit.name}.{at.qualname}" == cls):
            at = at.parent
        for stmt in getattr(at.node, "body", ()) if at is not None else ():
            if isinstance(stmt, ast.AnnAssign) and getattr(stmt.target, "id", "") == node.attr:
                kind = _option_type(stmt.annotation)
                return self._annotated(kind, self._unit.scopes.root, depth) if kind is not None else None
        return None

    def _known(self, name: str, node: ast.expr, scope: Scope, depth: int) -> tuple[str, ...]:
        if self._world.is_module(name):
            return "module", name
        module = name
        while module and not self._world.is_module(module):
            module = module.rpartition(".")[0]
        if not module:
            local = isinstance(node, ast.Name) and scope.find(node.id) is None
            return ("any", "") if local else ("none", name)  # a builtin, or something of another package
        if isinstance(node, ast.Name):
            bindings = self._unit.scopes.root.names.get(node.id, [])
            if len(bindings) == 1 and bindings[0].kind == "class":
                return self._class(name)
            if len(bindings) == 1 and bindings[0].kind == "assign" and bindings[0].value is not None:
                if self._world.ask("rebound", name):
                    return "any", ""
                return self._owner(bindings[0].value, self._unit.scopes.root, depth + 1)
        path = self._world.paths.get(module)
        rest = name.removeprefix(f"{module}.")
        if path is not None and "." not in rest:
            bindings = self._world.unit(path).scopes.root.names.get(rest, [])
            if bindings and all(b.kind == "class" for b in bindings):
                return self._class(name)
        return "any", ""

    def _class(self, name: str) -> tuple[str, ...]:
        """The owner that the name of a class stands for, unless a decorator may give it something else."""
        return ("class" if keeps_class(self._world, name) else "any"), name

    def _made(self, node: ast.Call, scope: Scope, depth: int) -> tuple[str, ...]:
        """The owner that a call gives."""
        last = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if last in ("type", "super", "iter") and isinstance(node.func, ast.Name):
            if node.args:
                return self._owner(node.args[-1], scope, depth + 1)
            cls = self._class_around(node)
            return ("class", cls) if cls else ("any", "")
        if last in _LOADS and node.args:
            return self._module(node.args[0])
        if last == "module_from_spec" and node.args:
            of = self._owner(node.args[0], scope, depth + 1)
            return of if of[0] in ("module", "loaded") else ("loaded", self._callers(node))
        if last == "getmodule":
            return "around", self._callers(node)
        if self._evaluator.qualified(node.func, scope) == "sys.modules.get" and node.args:
            return self._module(node.args[0])
        if last == "getattr" and len(node.args) > 1:
            of = self._owner(node.args[0], scope, depth + 1)
            if of[0] == "module":
                return self._submodule(of[1], node.args[1])
            return of if of[0] == "none" else ("any", "")
        made = self._owner(node.func, scope, depth + 1)
        if made[0] != "class":
            return self._returned(node.func, scope, depth)
        # what is called may be an object of the class, and a class may make what it likes
        plain = self._is_class(node.func, made[1], scope) and makes_own(self._world, made[1])
        return made if plain else ("any", made[1])

    def _is_class(self, func: ast.expr, cls: str, scope: Scope) -> bool:
        """Is a class called, and not an object of it: by name, `cls`, `type(self)`, `self.__class__`?"""
        if self._evaluator.qualified(func, scope) == cls:
            return True
        of = func.value if isinstance(func, ast.Attribute) and func.attr == "__class__" else func
        if isinstance(func, ast.Call) and getattr(func.func, "id", "") == "type" and len(func.args) == 1:
            of = func.args[0]
        owner = scope.find(of.id) if isinstance(of, ast.Name) else None
        if not isinstance(of, ast.Name) or owner is None or not is_self(of.id, owner):
            return False
        decorators = {getattr(each, "id", "") for each in getattr(owner.node, "decorator_list", ())}
        of_class = "classmethod" in decorators or getattr(owner.node, "name", "") in _OF_CLASS
        return of_class == (of is func)

    def _submodule(self, package: str, name: ast.expr) -> tuple[str, ...]:
        """The owner that an attribute of a module is, which may be any module in it or any object."""
        said = text(name)
        if said is None:
            return "any", "", f"{package}."
        return ("module", f"{package}.{said}") if self._world.is_module(f"{package}.{said}") else ("any", "")

    def _returned(self, func: ast.expr, scope: Scope, depth: int) -> tuple[str, ...]:
        """What the annotation of a function says of the owner that it returns."""
        called = self._evaluator.qualified(func, scope)
        module, _, name = called.rpartition(".") if isinstance(called, str) else ("", "", "")
        path = self._world.paths.get(module)
        if path is None:
            return "any", ""
        unit = self._world.unit(path)
        bindings = unit.scopes.root.names.get(name, [])
        node = bindings[0].node if len(bindings) == 1 else None
        if not isinstance(node, ast.FunctionDef) or node.decorator_list:
            return "any", ""
        there = LookUps(self._world, unit, self._words)
        found = there._annotated(node.returns, unit.scopes.root, depth)
        return found if found is not None and found[0] == "class" else ("any", "")

    def _loaded(self, node: ast.Subscript, scope: Scope) -> tuple[str, ...]:
        if (
            isinstance(node.value, ast.Attribute)
            and self._evaluator.qualified(node.value, scope) == "sys.modules"
        ):
            return self._module(node.slice)
        return "any", ""

    def _module(self, node: ast.expr) -> tuple[str, ...]:
        """The owner that a module of this name is."""
        if isinstance(node, ast.Attribute) and node.attr == "__module__":
            return "around", self._callers(node)
        if isinstance(node, ast.Name) and node.id == "__name__":
            return "module", self._unit.name
        name = text(node)
        if name is not None:
            return ("module", name) if self._world.is_module(name) else ("none", name)
        at: Scope | None = scope_around(self._unit, node)
        while at is not None and at.kind not in ("function", "class"):
            at = at.parent
        first = node.values[0] if isinstance(node, ast.JoinedStr) and node.values else node
        first = first.left if isinstance(first, ast.BinOp) else first
        start = text(first) or ""
        start = start if "." in start or ":" in start else ""
        return "loaded", f"{self._unit.name}.{at.qualname}" if at is not None else "", start

    def _bound(self, name: str, binding: Binding, owner: Scope, depth: int) -> tuple[str, ...]:
        """The owner that a local stands for."""
        if binding.kind == "assign" and binding.value is not None:
            return self._owner(binding.value, owner, depth + 1)
        if binding.kind != "parameter" or not isinstance(owner.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return "any", ""
        args = [*owner.node.args.posonlyargs, *owner.node.args.args]
        method = owner.parent is not None and owner.parent.kind == "class"
        static = any(getattr(d, "id", "") == "staticmethod" for d in owner.node.decorator_list)
        if method and not static and args and args[0].arg == name and owner.parent is not None:
            cls = f"{self._unit.name}.{owner.parent.qualname}"
            # a method that another class borrows gets objects of that class
            return "any" if self._world.ask("lends_methods", cls.rpartition(".")[2]) else "class", cls
        called = f"{self._unit.name}.{owner.qualname}"
        if method and owner.parent is not None:
            called = f"{self._unit.name}.{owner.parent.qualname}"
        elif owner.parent is not None and owner.parent.kind == "function":
            called = ""
        annotation = next((a.annotation for a in (*args, *owner.node.args.kwonlyargs) if a.arg == name), None)
        return self._annotated(annotation, owner.parent or owner, depth) or ("any", called)

    def _annotated(self, node: ast.expr | None, scope: Scope, depth: int) -> tuple[str, ...] | None:
        """What an annotation says of the owner, if it says anything."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                node = ast.parse(node.value, mode="eval").body
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return None
        if not isinstance(node, (ast.Name, ast.Attribute)):
            return None
        name = self._evaluator.qualified(node, scope)
        if not isinstance(name, str) or name in ("object", "typing.Any", "type"):
            return None
        known = self._known(name, node, scope, depth)
        if known[0] == "none" and self._is_only_inherited(name):
            return "any", "", "", name
        return known if known[0] == "class" and not is_protocol(self._world, name) else None

    def _is_only_inherited(self, name: str) -> bool:
        """Is a class outside of the program one whose objects inherit from it?"""
        module = name.rpartition(".")[0]
        standard = module.partition(".")[0] in sys.stdlib_module_names and module not in _ABSTRACT
        return name in self._world.facts.bases or standard

    def _class_around(self, node: ast.AST) -> str:
        at: Scope | None = scope_around(self._unit, node)
        while at is not None and at.kind != "class":
            at = at.parent
        return f"{self._unit.name}.{at.qualname}" if at is not None else ""

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


def _option_type(annotation: ast.expr) -> ast.expr | None:
    """`X` of `Annotated[X, ...]`, `Annotated[Optional[X], ...]` or `Annotated[X | None, ...]`."""
    if _subscripted(annotation) not in ("A", "Annotated") or not isinstance(annotation, ast.Subscript):
        return None
    kind = annotation.slice.elts[0] if isinstance(annotation.slice, ast.Tuple) else None
    if isinstance(kind, ast.Subscript):
        return kind.slice if _subscripted(kind) == "Optional" else None
    if isinstance(kind, ast.BinOp) and getattr(kind.right, "value", ...) is None:
        return kind.left
    return kind


def _subscripted(node: ast.expr) -> str:
    """The last name of `name[...]`."""
    base = node.value if isinstance(node, ast.Subscript) else None
    return base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")


def _on(tree: ast.Module, lines: list[int]) -> Iterator[ast.AST]:
    """Every node that spans one of the lines."""
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(children(node, lines))
