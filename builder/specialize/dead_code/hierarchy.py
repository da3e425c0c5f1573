"""The class statements of the kept tree: what they bind, what they inherit and who inherits from them."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from builder.graph.names import packages_around
from builder.source.fields import nodes
from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.scopes import Scope
from builder.specialize.text_index.text_search import classes_called, nodes_on
from builder.specialize.unit import Unit, once
from builder.specialize.world import SpecializerWorld

_EXCEPTIONS = frozenset(
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
)
#: Bases outside of the program that do nothing when a class inherits from them, and list no subclasses.
INERT_BASES = _EXCEPTIONS | frozenset([
    "abc.ABC", "argparse.Action", "argparse.ArgumentParser", "argparse.HelpFormatter", "argparse.Namespace",
    "ast.NodeTransformer", "ast.NodeVisitor", "bool", "bytearray", "bytes", "collections.OrderedDict",
    "collections.UserDict", "collections.UserList", "collections.abc.Callable", "collections.abc.Iterable",
    "collections.abc.Iterator", "collections.abc.Mapping", "collections.abc.MutableMapping",
    "collections.abc.Sequence", "collections.defaultdict", "collections.deque", "complex",
    "contextlib.AbstractAsyncContextManager", "contextlib.AbstractContextManager",
    "contextlib.ContextDecorator", "dict", "enum.Enum", "enum.Flag", "enum.IntEnum", "enum.IntFlag",
    "enum.ReprEnum", "enum.StrEnum", "float", "frozenset", "html.parser.HTMLParser",
    "http.server.BaseHTTPRequestHandler", "int", "json.JSONDecoder", "json.JSONEncoder", "list",
    "logging.Filter", "logging.Formatter", "logging.Handler", "logging.LoggerAdapter",
    "logging.StreamHandler", "multiprocessing.Process", "object", "set", "str", "string.Formatter",
    "threading.Thread", "threading.local", "tuple", "typing.Generic", "typing.NamedTuple",
    "typing.Protocol", "typing.TypedDict", "typing_extensions.NamedTuple", "typing_extensions.Protocol",
    "typing_extensions.TypedDict",
])  # fmt: skip
#: Those of them that call none of the methods of an heir but by names with two underscores.
_SILENT_BASES = _EXCEPTIONS | frozenset([
    "abc.ABC", "enum.Enum", "enum.Flag", "enum.IntEnum", "enum.IntFlag", "enum.StrEnum", "int", "object",
    "str", "typing.Generic", "typing.NamedTuple", "typing.Protocol", "typing_extensions.NamedTuple",
    "typing_extensions.Protocol",
])  # fmt: skip


#: Class decorators that call no method and remember no class.
HARMLESS_CLASS_DECORATORS = frozenset([
    "dataclasses.dataclass", "enum.unique", "functools.total_ordering", "typing.final",
    "typing.runtime_checkable", "typing_extensions.final", "typing_extensions.runtime_checkable",
])  # fmt: skip
#: So many bases one above the other are looked at.
MAX_DEPTH = 30


@dataclass(frozen=True, slots=True)
class Class:
    """A class statement of a kept file."""

    unit: Unit
    node: ast.ClassDef
    scope: Scope  # around it

    @property
    def qualified(self) -> str:
        return ".".join(part for part in (self.unit.name, self.scope.qualname, self.node.name) if part)

    def binds(self, name: str) -> bool:
        """Return whether the body binds a name, at whatever depth of conditions."""
        return name in self.unit.scopes.of(self.node).names


def is_in_program(world: SpecializerWorld, name: str) -> bool:
    """Return whether this is the name of a module of the program, or of something in one."""
    return any(map(world.is_module, (name, *packages_around(name))))


@dataclass(slots=True)
class Lineage:
    """What a class inherits: classes of the kept tree (itself among them), others by name."""

    classes: list[Class] = field(default_factory=list)
    external: set[str] = field(default_factory=set)
    open: bool = False  # some base is not known, or a keyword or decorator may do anything


class Hierarchy:
    """Answers about the classes of one world."""

    def __init__(self, world: SpecializerWorld) -> None:
        self._world = world
        self.derived: dict[Any, Any] = {}

    # -- what a class inherits ------------------------------------------------------------------

    @once
    def lineage(self, cls: Class) -> Lineage:
        """The class with all that it inherits."""
        found = Lineage()
        self._climb(cls, found, 0)
        return found

    def _climb(self, cls: Class, found: Lineage, depth: int) -> None:
        if any(cls.node is known.node for known in found.classes):
            return
        found.classes.append(cls)
        if depth > MAX_DEPTH:
            found.open = True
            return
        evaluator = Evaluator(self._world, cls.unit)
        for keyword in cls.node.keywords:
            abstract = evaluator.qualified(keyword.value, cls.scope) == "abc.ABCMeta"
            total = keyword.arg == "total" and isinstance(keyword.value, ast.Constant)
            if not (total or (keyword.arg == "metaclass" and abstract)):
                found.open = True
        for decorator in cls.node.decorator_list:
            func = decorator.func if isinstance(decorator, ast.Call) else decorator
            if evaluator.qualified(func, cls.scope) not in HARMLESS_CLASS_DECORATORS:
                found.open = True
        if cls.binds("__init_subclass__") or cls.binds("__class_getitem__"):
            found.open = True
        for base in cls.node.bases:
            name = evaluator.qualified(base.value if isinstance(base, ast.Subscript) else base, cls.scope)
            bases = self.named(name) if isinstance(name, str) else []
            for parent in bases:
                self._climb(parent, found, depth + 1)
            if isinstance(name, str) and not bases and not is_in_program(self._world, name):
                found.external.add(name)
            elif not bases:
                found.open = True

    @once
    def named(self, qualified: str) -> list[Class]:
        """The class statements of that qualified name."""
        name = qualified.rpartition(".")[2]
        module = next((each for each in packages_around(qualified) if each in self._world.paths), None)
        if module is None:
            return []
        unit = self._world.unit(self._world.paths[module])
        found = [
            Class(unit, node, unit.scopes.of(node).parent or unit.scopes.root)
            for node in classes_called(unit, name)
        ]
        return [cls for cls in found if cls.qualified == qualified]

    # -- what inherits from a class -----------------------------------------------------------------

    @once
    def heirs(self, cls: Class) -> list[Class]:
        """The subclasses at any depth that class statements show."""
        found: list[Class] = []
        todo, seen = [cls], {cls}
        while todo:
            fresh = [heir for heir in self._direct(todo.pop()) if heir not in seen]
            seen.update(fresh)
            found += fresh
            todo += fresh
        return found

    def _direct(self, cls: Class) -> Iterator[Class]:
        seeing = dict(self._world.links.seeing(cls.qualified))
        seeing.setdefault(cls.unit.path, set()).add(cls.node.name)
        for path, names in sorted(seeing.items()):
            unit = self._world.unit(path)
            evaluator = Evaluator(self._world, unit)
            for node in {n for name in names for n in nodes_on(unit, name) if isinstance(n, ast.ClassDef)}:
                if node is cls.node or node in unit.leaving:
                    continue
                scope = unit.scopes.of(node).parent or unit.scopes.root
                for base in node.bases:
                    said = {n.id for n in nodes(base) if isinstance(n, ast.Name)}
                    said |= {n.attr for n in nodes(base) if isinstance(n, ast.Attribute)}
                    plain = base.value if isinstance(base, ast.Subscript) else base
                    name = evaluator.qualified(plain, scope) if said & names else ""
                    if not isinstance(name, str) or name == cls.qualified:
                        yield Class(unit, node, scope)

    # -- classes ----------------------------------------------------------------------------------------

    def announced(self, cls: Class) -> bool:
        """Return whether something may take notice of the class only because it is defined."""
        lineage = self.lineage(cls)
        if lineage.open or (len(lineage.classes) > 1 and self._sets_hooks()):
            return True
        return any(
            base not in INERT_BASES and base not in self._world.facts.bases for base in lineage.external
        )

    def calls_no_methods(self, cls: Class) -> bool:
        """Return whether the program alone calls the methods of the class. A base outside of it may call one
        that an heir defines anew."""
        lineage = self.lineage(cls)
        return not lineage.open and lineage.external <= _SILENT_BASES

    def _sets_hooks(self) -> bool:
        """Return whether a statement outside of a class gives one the method that is told of its heirs."""
        return any(
            isinstance(node, ast.Constant) or isinstance(getattr(node, "ctx", None), ast.Store)
            for path in self._world.words.holders(b"__init_subclass__")
            for node in nodes_on(self._world.unit(path), "__init_subclass__")
            if "__init_subclass__" in (getattr(node, "attr", ""), getattr(node, "value", ""))
        )

    def listed(self, cls: Class) -> bool:
        """Return whether `__subclasses__()` may give the class."""
        lineage = self.lineage(cls)
        inherits = len(lineage.classes) > 1 or lineage.external - {"object"} or lineage.open
        if not inherits or not (asked := self._asked_for_heirs()):
            return False
        return lineage.open or not asked.isdisjoint(
            ["", *lineage.external, *(known.qualified for known in lineage.classes)]
        )

    @once
    def _asked_for_heirs(self) -> set[str]:
        """The classes of which `__subclasses__` is read; an empty name is any class."""
        asked: set[str] = set()
        for path in self._world.words.holders(b"__subclasses__"):
            unit = self._world.unit(path)
            for node in nodes_on(unit, "__subclasses__"):
                if isinstance(node, ast.Attribute) and node.attr == "__subclasses__":
                    found = Evaluator(self._world, unit).qualified(node.value, unit.scope_of(node))
                    asked.add(found if isinstance(found, str) and self.named(found) else "")
                elif isinstance(node, ast.Constant) and "__subclasses__" in str(node.value):
                    asked.add("")
        return asked
