"""Where the program looks up attributes by names that no text shows, and whose attributes these may be."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from builder.specialize.dead_code.dynamic_names import MIN_LETTERS
from builder.specialize.dead_code.hierarchy import Class, Hierarchy
from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.names import text
from builder.specialize.evaluating.scopes import Binding, Scope
from builder.specialize.text_index.glance import Glances
from builder.specialize.text_index.identifier_index import IdentifierIndex
from builder.specialize.text_index.import_index import ImportIndex
from builder.specialize.text_index.text_search import children, nodes_on
from builder.specialize.world import SpecializerWorld, Unit

#: Functions that read an attribute whose name is their second argument.
_READS = frozenset(["getattr", "hasattr", "getattr_static", "__getattribute__"])
#: Functions that make something that reads the attributes that their arguments name.
_READERS = frozenset(["attrgetter", "methodcaller"])
#: Functions that list the attributes of their argument.
_LISTS = frozenset(["dir", "vars", "getmembers", "getmembers_static", "classify_class_attrs", "__dir__"])
#: Functions that list the names of the module.
_OWN = frozenset(["globals", "locals"])
_NAMED = _READS | _LISTS | _OWN
_LOADS = frozenset(["import_module", "__import__"])
#: What may be done to a namespace with a name that the text shows.
_KEYED = frozenset(["get", "pop", "setdefault", "__getitem__", "__contains__"])
_WRITES = frozenset(["update", "clear", "__setitem__"])

#: Does a text take the class of an object, so that the namespace it reads may be that of a class?
_CLASS_OF = re.compile(
    rb"__mro__|\bmro\b|getmro|__bases__|__base__|__class__|(?<![\w.])type\s*\(|__subclasses__"
)
_HERE = re.compile(rb"(?<![\w.])__(?:file|name|package|path)__")
#: Does a file find the modules of a package by itself?
_WALKS = re.compile(rb"pkgutil|iter_modules|walk_packages|listdir|scandir|glob|iterdir|os\.walk")


#: In so many files at most the calls of a function are looked at.
MAX_HOLDERS = 12

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Site:
    """One look-up.

    owner   whose attributes
    module  those of the kept module `name`
    class   those of the kept class `name`, or of what inherits from it
    loaded  those of a module that is imported by a name that no text shows
    any     of something that is not known; it comes in from callers of the function, or of a method of the
            class, `name`, if that is set
    """

    owner: str
    name: str
    lines: tuple[int, int]
    base: str = ""  # the external class that an annotation gives the owner; how a loaded module's name begins
    walks: bool = False  # the definition around it also goes through files or modules
    here: bool = False  # and these are those beside it
    own: bool = False  # only what the owner itself holds: of an instance, no method


class Reflection:
    """Answers about the look-ups of one world."""

    def __init__(
        self,
        world: SpecializerWorld,
        words: IdentifierIndex,
        links: ImportIndex,
        glances: Glances,
        hierarchy: Hierarchy,
    ) -> None:
        self._world = world
        self._words = words
        self._links = links
        self._glances = glances
        self._hierarchy = hierarchy
        self._holding: list[str] | None = None
        self._answers: dict[object, bool] = {}

    def sees_class(self, cls: Class) -> bool:
        """May a method of the class be looked up by a name that no text shows?"""
        key = cls.node
        if key not in self._answers:
            self._answers[key] = self._sees_class(cls)
        return self._answers[key]

    def sees_module(self, unit: Unit) -> bool:
        """May a definition of the module be looked up by a name that no text shows?"""
        key = unit.path
        if key not in self._answers:
            self._answers[key] = any(self._shows_module(path, site, unit) for path, site in self._sites())
        return self._answers[key]

    # -- whom a look-up may mean -------------------------------------------------------------------

    def _sees_class(self, cls: Class) -> bool:
        heirs, _ = self._hierarchy.heirs(cls)
        family: dict[str, Class] = {}
        for each in (cls, *heirs):
            family.update((known.qualified, known) for known in self._hierarchy.lineage(each).classes)
        names = {known.node.name.encode() for known in family.values()}
        return any(self._shows_class(path, site, family, names) for path, site in self._sites())

    def _shows_class(self, path: str, site: Site, family: dict[str, Class], names: set[bytes]) -> bool:
        if site.owner == "class":
            return site.name in family
        if site.owner in ("module", "loaded", "none"):
            return False
        if site.base and not any(site.base in self._hierarchy.lineage(c).external for c in family.values()):
            return False
        places = [p for p in self._places(path, site) if not names.isdisjoint(self._words.of(p))]
        return any(not site.own or self._as_value(p, names) for p in places)

    def _as_value(self, path: str, names: set[bytes]) -> bool:
        """Does a file use one of these classes as a value: not only call it, inherit from it or annotate?"""
        unit = self._world.unit(path)
        parents = unit.module.parents
        for name in sorted(n.decode() for n in names):
            for node in nodes_on(unit, name):
                if name not in (getattr(node, "id", ""), getattr(node, "attr", "")):
                    continue
                below, parent = node, parents.get(node)
                while isinstance(parent, (ast.Subscript, ast.BinOp, ast.Tuple, ast.List)):
                    below, parent = parent, parents.get(parent)
                if isinstance(parent, (ast.ClassDef, ast.arg, ast.AnnAssign, ast.ExceptHandler)):
                    continue
                if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)) and below is parent.returns:
                    continue
                if isinstance(parent, ast.Attribute) or (
                    isinstance(parent, ast.Call) and parent.func is below
                ):
                    continue
                if isinstance(parent, ast.Call) and getattr(parent.func, "id", "") in (
                    "isinstance",
                    "issubclass",
                ):
                    continue
                return True
        return False

    def _shows_module(self, path: str, site: Site, unit: Unit) -> bool:
        if site.owner == "module":
            return site.name == unit.name
        if site.owner in ("class", "none"):
            return False
        if site.owner == "any" and site.base:
            return False  # an object of a class is no module
        if site.owner == "loaded":
            if site.base and unit.name.startswith(site.base):
                return True
            near = site.here and unit.path.startswith(f"{path.rpartition('/')[0]}/")
            return near or any(self._names_package(p, unit, site.walks) for p in self._places(path, site))
        return any(self._imports_module(p, unit.name) for p in self._places(path, site))

    def _names_package(self, path: str, unit: Unit, walks: bool) -> bool:
        """Does a file name the module in a string, or have a package as a value that it lies in?"""
        parts = unit.name.split(".")
        whole, begun = self._glances.of(path, self._world.files[path]).modules
        if unit.name in whole:
            return True
        if not walks:
            return False
        packages = {".".join(parts[:end]) for end in range(2, len(parts) + 1)}
        held = self._modules_held(path)
        return not packages.isdisjoint(whole | begun) or not held.isdisjoint({parts[0], *packages})

    def _imports_module(self, path: str, module: str) -> bool:
        """Does a file have the module itself as a value?"""
        last = module.rpartition(".")[2].encode()
        return last in self._words.of(path) and module in self._modules_held(path)

    def _modules_held(self, path: str) -> frozenset[str]:
        """The modules that a file has as values, and not only to take something from them."""
        user = self._world.unit(path)
        found: frozenset[str] | None = user.cache.get("modules held")  # type: ignore[assignment]
        if found is None:
            found = user.cache["modules held"] = frozenset(self._held(user))
        return found

    def _held(self, user: Unit) -> Iterator[str]:
        for scope in user.scopes.every():
            for name, bindings in scope.names.items():
                for binding in bindings:
                    if binding.kind != "import" or binding.alias is None:
                        continue
                    found = self._world.imported(user, binding)
                    if not binding.alias.asname and isinstance(binding.node, ast.Import):
                        found = name
                    if isinstance(found, str) and self._world.is_module(found) and _bare(user, name):
                        yield found

    def _places(self, path: str, site: Site) -> list[str]:
        """The files from which an unknown owner may come: those that see the function, or its class."""
        return sorted({path, *(self._links.seeing(site.name) if site.name else ())})

    # -- the look-ups ---------------------------------------------------------------------------------

    def _sites(self) -> Iterator[tuple[str, Site]]:
        if self._holding is None:
            self._holding = [
                path
                for path, data in sorted(self._world.files.items())
                if self._glances.of(path, data).look_ups
            ]
        for path in self._holding:
            unit = self._world.unit(path)
            found: list[Site] | None = unit.cache.get("look-ups")  # type: ignore[assignment]
            if found is None:
                found = unit.cache["look-ups"] = list(
                    dict.fromkeys(
                        _Finder(self._world, unit, self._words).find(
                            self._glances.of(path, unit.module.data).look_ups
                        )
                    )
                )
            for site in found:
                if not any(low <= site.lines[0] and site.lines[1] <= high for low, high in unit.hidden):
                    yield path, site


def _bare(unit: Unit, name: str) -> bool:
    """Is a module that is bound to a name used in other ways than to take something from it?"""
    for node in nodes_on(unit, name):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            parent = unit.module.parents.get(node)
            if isinstance(parent, ast.Attribute) and not parent.attr.startswith("__"):
                continue
            if not _spells_the_name(parent):
                return True
    return False


def _spells_the_name(parent: ast.AST | None) -> bool:
    """Is this `setattr(module, "name", ...)`, which looks up that name alone?"""
    if not isinstance(parent, ast.Call) or len(parent.args) < 2:
        return False
    called = getattr(parent.func, "id", "") in ("delattr", "getattr", "hasattr", "setattr")
    return called and isinstance(parent.args[1], ast.Constant)


class _Finder:
    """Finds the look-ups of one file."""

    def __init__(self, world: SpecializerWorld, unit: Unit, words: IdentifierIndex) -> None:
        self._world = world
        self._unit = unit
        self._words = words
        self._evaluator = Evaluator(world, unit)

    def find(self, offsets: Iterable[int]) -> Iterator[Site]:
        """`offsets`: where a look-up may be."""
        starts = self._unit.module.starts
        lines = sorted({bisect_right(starts, offset) for offset in offsets})
        for node in _on(self._unit.module.tree, lines):
            if isinstance(node, ast.Call):
                yield from self._call(node)
            elif isinstance(node, ast.Attribute) and node.attr == "__dict__":
                if not self._keyed(node) and not self._instance(node.value):
                    yield self._site(node, node.value, own=True)
            elif isinstance(node, ast.Name) and node.id in _NAMED and self._handed_on(node):
                yield Site("any", "", self._span(node))

    def _call(self, node: ast.Call) -> Iterator[Site]:
        func = node.func
        name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
        scope = self._scope(node)
        own = isinstance(func, ast.Name) and name in _NAMED and scope.find(name) is not None
        if own and not isinstance(self._evaluator.qualified(func, scope), str):
            return  # a local of that name
        if name in _READS and len(node.args) > 1:
            if not self._spelled(node.args[1], scope, 0):
                yield self._site(node, node.args[0])
        elif name in _READERS:
            if not all(
                self._spelled(argument, scope, 0)
                for argument in node.args[: 1 if name == "methodcaller" else None]
            ):
                yield Site("any", "", self._span(node))
        elif name in _OWN and isinstance(func, ast.Name) and not node.args:
            inside = name == "locals" and scope.kind not in ("module", "class")
            if not inside and not self._keyed(node):
                around = self._class_around(node) if name == "locals" and scope.kind != "module" else ""
                yield Site("class" if around else "module", around or self._unit.name, self._span(node))
        elif name in _LISTS and not (isinstance(func, ast.Attribute) and name in ("dir", "vars")):
            if self._keyed(node):
                return
            if not node.args:
                if isinstance(func, ast.Name) and scope.kind == "module":
                    yield Site("module", self._unit.name, self._span(node))
            elif not (name == "vars" and self._instance(node.args[0])):
                yield self._site(node, node.args[0], own=name == "vars")

    def _handed_on(self, node: ast.Name) -> bool:
        """Is a builtin used as a value?"""
        parent = self._unit.module.parents.get(node)
        called = isinstance(parent, ast.Call) and parent.func is node
        return not called and self._scope(node).find(node.id) is None

    def _keyed(self, node: ast.expr) -> bool:
        """Is a namespace only written to, or asked for names that the text shows?"""
        parent = self._unit.module.parents.get(node)
        if isinstance(parent, ast.Subscript) and parent.value is node:
            return not isinstance(parent.ctx, ast.Load) or self._spelled(parent.slice, self._scope(node), 0)
        if isinstance(parent, ast.Compare) and node in parent.comparators and len(parent.ops) == 1:
            return isinstance(parent.ops[0], (ast.In, ast.NotIn)) and self._spelled(
                parent.left, self._scope(node), 0
            )
        if isinstance(parent, ast.Attribute):
            call = self._unit.module.parents.get(parent)
            if isinstance(call, ast.Call) and call.func is parent:
                if parent.attr in _WRITES:
                    return True
                return (
                    parent.attr in _KEYED
                    and bool(call.args)
                    and self._spelled(call.args[0], self._scope(node), 0)
                )
        return False

    # -- whose attributes -------------------------------------------------------------------------------

    def _site(self, node: ast.expr, owner: ast.expr, own: bool = False) -> Site:
        kind, name, *base = self._owner(owner, self._scope(node), 0)
        around = self._around(node)
        walks = _WALKS.search(around) is not None
        own = own and _CLASS_OF.search(around) is None
        here = walks and _HERE.search(around) is not None
        return Site(kind, name, self._span(node), base[0] if base else "", walks, here, own)

    def _around(self, node: ast.AST) -> bytes:
        """The definition of the module that a look-up is in, or all of the module."""
        parents = self._unit.module.parents
        while parents.get(node) not in (None, self._unit.module.tree):
            node = parents[node]
        definition = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        module = self._unit.module
        return module.data[module.start(node) : module.end(node)] if definition else module.data

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
                return "any", of[1]  # whoever makes the object may have put it there
        name = self._evaluator.qualified(node, scope)
        if isinstance(name, str):
            return self._known(name, node, scope, depth)
        if isinstance(node, ast.Name):
            owner = scope.find(node.id)
            bindings = owner.names.get(node.id, []) if owner is not None else []
            if owner is not None and len(bindings) == 1:
                return self._bound(node.id, bindings[0], owner, depth)
        return "any", ""

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
                return "class", name
            if len(bindings) == 1 and bindings[0].kind == "assign" and bindings[0].value is not None:
                return self._owner(bindings[0].value, self._unit.scopes.root, depth + 1)
        path = self._world.paths.get(module)
        rest = name.removeprefix(f"{module}.")
        if path is not None and "." not in rest:
            bindings = self._world.unit(path).scopes.root.names.get(rest, [])
            if bindings and all(b.kind == "class" for b in bindings):
                return "class", name
        return "any", ""

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
        if last == "getattr" and node.args:
            of = self._owner(node.args[0], scope, depth + 1)
            return of if of[0] == "none" else ("any", "")
        made = self._owner(node.func, scope, depth + 1)
        return made if made[0] == "class" else ("any", "")

    def _loaded(self, node: ast.Subscript, scope: Scope) -> tuple[str, ...]:
        if (
            isinstance(node.value, ast.Attribute)
            and self._evaluator.qualified(node.value, scope) == "sys.modules"
        ):
            return self._module(node.slice)
        return "any", ""

    def _module(self, node: ast.expr) -> tuple[str, ...]:
        if isinstance(node, ast.Name) and node.id == "__name__":
            return "module", self._unit.name
        name = text(node)
        if name is not None:
            return ("module", name) if self._world.is_module(name) else ("none", name)
        at: Scope | None = self._scope(node)
        while at is not None and at.kind not in ("function", "class"):
            at = at.parent
        first = node.values[0] if isinstance(node, ast.JoinedStr) and node.values else node
        first = first.left if isinstance(first, ast.BinOp) else first
        start = text(first) or ""
        start = start if "." in start else ""
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
            return "class", f"{self._unit.name}.{owner.parent.qualname}"
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
            except SyntaxError:
                return None
        if not isinstance(node, (ast.Name, ast.Attribute)):
            return None
        name = self._evaluator.qualified(node, scope)
        if not isinstance(name, str) or name in ("object", "typing.Any", "type"):
            return None
        known = self._known(name, node, scope, depth)
        if known[0] == "none" and "." in name:
            return "any", "", name
        return known if known[0] == "class" else None

    def _class_around(self, node: ast.AST) -> str:
        at: Scope | None = self._scope(node)
        while at is not None and at.kind != "class":
            at = at.parent
        return f"{self._unit.name}.{at.qualname}" if at is not None else ""

    def _instance(self, node: ast.expr) -> bool:
        """Is it `self`, whose own namespace holds no method?"""
        if not isinstance(node, ast.Name):
            return False
        owner = self._scope(node).find(node.id)
        if owner is None or owner.kind != "function" or node.id not in ("self", "other", "obj", "memo"):
            return False
        function = owner.node
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) or function.decorator_list:
            return False
        inside = owner.parent is not None and owner.parent.kind == "class"
        first = [*function.args.posonlyargs, *function.args.args][:1]
        return inside and bool(first) and first[0].arg == node.id == "self"

    # -- names ------------------------------------------------------------------------------------------

    def _spelled(self, node: ast.expr, scope: Scope, depth: int) -> bool:
        """Do strings of the tree show every name that an expression may give, or enough of it?"""
        if depth > 8:
            return False
        if isinstance(node, ast.Constant):
            return True
        if isinstance(node, (ast.JoinedStr, ast.BinOp)):
            return any(
                isinstance(part, ast.Constant)
                and isinstance(part.value, str)
                and sum(map(str.isalpha, part.value)) >= MIN_LETTERS
                and part.value.replace(".", "_").replace("%s", "").replace("%d", "").isidentifier()
                for part in ([*node.values] if isinstance(node, ast.JoinedStr) else [node.left, node.right])
            )
        if isinstance(node, ast.IfExp):
            return self._spelled(node.body, scope, depth + 1) and self._spelled(node.orelse, scope, depth + 1)
        if isinstance(node, ast.BoolOp):
            return all(self._spelled(value, scope, depth + 1) for value in node.values)
        if isinstance(node, ast.Name):
            owner = scope.find(node.id)
            bindings = owner.names.get(node.id, []) if owner is not None else []
            return bool(bindings) and all(
                self._given(node.id, b, owner, depth + 1) for b in bindings if owner
            )
        if isinstance(node, ast.Attribute):
            if node.attr == "name" and isinstance(node.value, ast.Name) and self._field(node.value, scope):
                return True
            return self._stored(node.attr, depth + 1)
        return False

    def _stored(self, attribute: str, depth: int) -> bool:
        """Does only this file hold an attribute, and do strings show all that it stores there?"""
        if self._words.holders(attribute.encode()) != [self._unit.path]:
            return False
        stored = False
        for node in nodes_on(self._unit, attribute):
            name = (
                node.attr
                if isinstance(node, ast.Attribute)
                else getattr(node, "arg", getattr(node, "id", ""))
            )
            if name != attribute or (isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)):
                continue
            parent = self._unit.module.parents.get(node)
            if not isinstance(parent, (ast.Assign, ast.AnnAssign)) or parent.value is None:
                return False
            if isinstance(node, ast.Name) and not isinstance(parent, ast.Assign):
                return False
            if not self._spelled(parent.value, self._scope(parent), depth):
                return False
            stored = True
        return stored

    def _passed(self, name: str, owner: Scope, depth: int) -> bool:
        """Does the tree call a function, only call it, and do strings show all that it passes?"""
        function = owner.node
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) or depth > 4:
            return False
        args = [*function.args.posonlyargs, *function.args.args]
        place = next((index for index, arg in enumerate(args) if arg.arg == name), None)
        bound = owner.parent is not None and owner.parent.kind == "class"
        holders = self._words.holders(function.name.encode())
        if len(holders) > MAX_HOLDERS or function.decorator_list or function.name.endswith("__"):
            return False
        defaults = [*function.args.defaults, *(d for d in function.args.kw_defaults if d is not None)]
        if not all(isinstance(default, ast.Constant) for default in defaults):
            return False
        calls = [
            self._of(path)._passes(function, name, -1 if place is None else place, bound, depth)
            for path in holders
        ]
        return None not in calls and any(calls)

    def _of(self, path: str) -> _Finder:
        unit = self._world.unit(path)
        return self if unit is self._unit else _Finder(self._world, unit, self._words)

    def _passes(self, function: Function, name: str, place: int, bound: bool, depth: int) -> int | None:
        """How often this file calls the function; None when it does else, or strings show not all names."""
        calls = 0
        for node in nodes_on(self._unit, function.name):
            if isinstance(node, ast.ClassDef) and node.name == function.name:
                return None
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and function.name in node.value:
                return None
            if isinstance(node, ast.alias) and node.asname and function.name in (node.name, node.asname):
                return None
            if function.name not in (getattr(node, "id", ""), getattr(node, "attr", "")):
                continue
            call = self._unit.module.parents.get(node)
            if not isinstance(call, ast.Call) or call.func is not node:
                return None
            if any(isinstance(a, ast.Starred) for a in call.args) or any(
                k.arg is None for k in call.keywords
            ):
                return None
            shift = int(bound and isinstance(node, ast.Attribute))
            given = next((k.value for k in call.keywords if k.arg == name), None)
            if given is None and 0 <= place - shift < len(call.args):
                given = call.args[place - shift]
            if given is not None and not self._spelled(given, self._scope(call), depth + 2):
                return None
            calls += 1
        return calls

    def _given(self, name: str, binding: Binding, owner: Scope | None, depth: int) -> bool:
        """Do strings show every name that a binding gives a variable?"""
        if owner is None or binding.kind == "declare":
            return owner is not None
        if binding.kind == "assign" and binding.value is not None:
            return self._spelled(binding.value, owner, depth)
        if binding.kind == "import":
            return self._constant(binding)
        if binding.kind == "parameter":
            if getattr(owner.node, "name", "") in ("__getattr__", "__getattribute__"):
                return True
            return self._passed(name, owner, depth)
        node = binding.node
        if isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)) or hasattr(node, "iter"):
            iterated: ast.expr = node.iter
            return self._lists(iterated, owner, depth)
        found = self._loop(node)
        return found is not None and self._lists(found, owner, depth)

    def _loop(self, node: ast.AST) -> ast.expr | None:
        """What the loop goes over whose target a name is."""
        parent = self._unit.module.parents.get(node)
        while isinstance(parent, (ast.Tuple, ast.List)):
            node, parent = parent, self._unit.module.parents.get(parent)
        if isinstance(parent, (ast.For, ast.AsyncFor)) and parent.target is node:
            return parent.iter
        return None

    def _lists(self, node: ast.expr, scope: Scope, depth: int) -> bool:
        """Do strings show every name that an iterable gives?"""
        if depth > 8:
            return False
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            return all(self._listed(item, scope, depth) for item in node.elts)
        if isinstance(node, ast.Dict):
            return all(key is not None and self._spelled(key, scope, depth + 1) for key in node.keys)
        if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp)):
            return self._listed(node.elt, self._unit.scopes.of(node), depth + 1)
        if isinstance(node, ast.Call):
            last = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if last in ("sorted", "list", "tuple", "set", "enumerate", "zip", "reversed") and node.args:
                return all(self._lists(argument, scope, depth + 1) for argument in node.args)
            if last in ("keys", "items", "values") and isinstance(node.func, ast.Attribute):
                return self._lists(node.func.value, scope, depth + 1)
            if last == "vars":
                return True  # a look-up of its own
            if last == "split" and isinstance(node.func, ast.Attribute):
                return isinstance(node.func.value, ast.Constant)
            return False
        if isinstance(node, ast.Attribute) and node.attr == "__dict__":
            return True
        if isinstance(node, ast.Name):
            owner = scope.find(node.id)
            bindings = owner.names.get(node.id, []) if owner is not None else []
            if owner is not None and len(bindings) == 1 and bindings[0].value is not None:
                return bindings[0].kind == "assign" and self._lists(bindings[0].value, owner, depth + 1)
        return False

    def _listed(self, item: ast.expr, scope: Scope, depth: int) -> bool:
        if isinstance(item, (ast.Tuple, ast.List)):
            return all(self._listed(inner, scope, depth) for inner in item.elts)
        if isinstance(item, ast.Call) and getattr(item.func, "id", "") == "type":
            return True  # no string
        if isinstance(item, ast.Starred):
            return self._lists(item.value, scope, depth + 1)
        return self._spelled(item, scope, depth + 1)

    def _constant(self, binding: Binding) -> bool:
        """Is an imported name a string that its file shows?"""
        name = self._world.imported(self._unit, binding)
        if not isinstance(name, str):
            return False
        module, _, last = name.rpartition(".")
        path = self._world.paths.get(module)
        if path is None:
            return False
        bindings = self._world.unit(path).scopes.root.names.get(last, [])
        return bool(bindings) and all(isinstance(b.value, ast.Constant) for b in bindings)

    def _field(self, node: ast.Name, scope: Scope) -> bool:
        """Does a variable go over the fields of a dataclass, which are no methods?"""
        owner = scope.find(node.id)
        bindings = owner.names.get(node.id, []) if owner is not None else []
        if not bindings:
            return False
        for binding in bindings:
            over = binding.node.iter if hasattr(binding.node, "iter") else self._loop(binding.node)
            func = over.func if isinstance(over, ast.Call) else None
            if getattr(func, "attr", getattr(func, "id", "")) != "fields":
                return False
        return True

    # -- places -----------------------------------------------------------------------------------------

    def _scope(self, node: ast.AST) -> Scope:
        parents, scopes = self._unit.module.parents, self._unit.scopes
        below, at = node, parents.get(node)
        while at is not None:
            if isinstance(at, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                if isinstance(below, ast.stmt) and below in at.body:
                    return scopes.of(at)
            elif isinstance(at, ast.Lambda):
                if below is at.body:
                    return scopes.of(at)
            elif isinstance(at, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
                first = at.generators[0]
                if not (below is first and self._within_iter(node, first)):
                    return scopes.of(at)
            below, at = at, parents.get(at)
        return scopes.root

    def _within_iter(self, node: ast.AST, generator: ast.comprehension) -> bool:
        at: ast.AST | None = node
        while at is not None and at is not generator:
            if at is generator.iter:
                return True
            at = self._unit.module.parents.get(at)
        return False

    def _span(self, node: ast.expr) -> tuple[int, int]:
        return node.lineno, node.end_lineno or node.lineno


def _on(tree: ast.Module, lines: list[int]) -> Iterator[ast.AST]:
    """Every node that spans one of the lines."""
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(children(node, lines))
