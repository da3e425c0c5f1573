"""The classes of the kept tree: what they inherit, who inherits from them, who else calls their methods."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass, field

from builder.specialize.dead_code.class_statements import (
    HARMLESS_CLASS_DECORATORS,
    MAX_DEPTH,
    Class,
    Function,
    defines_method,
    is_in_program,
    statements_of,
)
from builder.specialize.dead_code.other_packages import reaches_other_packages
from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.text_index.glance import Glances
from builder.specialize.text_index.identifier_index import IdentifierIndex
from builder.specialize.text_index.import_index import ImportIndex
from builder.specialize.text_index.text_search import classes_called, nodes_on
from builder.specialize.world import SpecializerWorld

#: Bases that call no method of a subclass but those with two underscores on either side.
_PASSIVE = frozenset(["object", "abc.ABC", "typing.Generic", "typing.Protocol", "typing_extensions.Protocol"])
#: Enumerations of the standard library, which inherit from nothing but numbers and strings.
ENUMS = frozenset(f"enum.{name}" for name in ("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag", "ReprEnum"))
_EXCEPTIONS = frozenset(
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
)
#: Builtin classes, some of whose methods C code or the library calls: those that they have themselves.
_BUILTIN = frozenset([
    "bool", "bytearray", "bytes", "complex", "dict", "float", "frozenset", "int", "list", "set", "str",
    "tuple",
])  # fmt: skip
_TUPLES = frozenset(
    ["typing.NamedTuple", "typing.TypedDict", "typing_extensions.TypedDict", "typing_extensions.NamedTuple"]
)
#: Further bases that do nothing when a class inherits from them, though they call its methods.
_INERT = frozenset([
    "argparse.Action", "argparse.ArgumentParser", "argparse.HelpFormatter", "argparse.Namespace",
    "ast.NodeTransformer", "ast.NodeVisitor", "collections.OrderedDict", "collections.UserDict",
    "collections.UserList", "collections.abc.Callable", "collections.abc.Iterable",
    "collections.abc.Iterator", "collections.abc.Mapping", "collections.abc.MutableMapping",
    "collections.abc.Sequence", "collections.defaultdict", "collections.deque",
    "contextlib.AbstractAsyncContextManager", "contextlib.AbstractContextManager",
    "contextlib.ContextDecorator", "html.parser.HTMLParser", "http.server.BaseHTTPRequestHandler",
    "json.JSONDecoder", "json.JSONEncoder", "logging.Filter", "logging.Formatter", "logging.Handler",
    "logging.LoggerAdapter", "logging.StreamHandler", "multiprocessing.Process", "string.Formatter",
    "threading.Thread", "threading.local",
])  # fmt: skip
#: Bases whose subclasses appear in no list, so that one may leave.
INERT_BASES = _PASSIVE | ENUMS | _EXCEPTIONS | _BUILTIN | _TUPLES | _INERT

#: Methods that the standard library calls on objects of any class that are handed to it.
DUCK_METHODS = frozenset(
    [
        "aclose", "acquire", "append", "as_integer_ratio", "asend", "athrow", "buffer_updated",
        "cancel", "cancelled", "clear", "close", "comment", "conjugate", "connection_lost",
        "connection_made", "copy", "create_module", "data", "data_received", "datagram_received",
        "decode", "detach", "doctype", "done", "dst", "emit", "encode", "end", "end_ns",
        "eof_received", "error_received", "exec_module", "extend", "fileno", "filter",
        "find_module", "find_spec", "flush", "format", "fromutc", "get", "get_buffer", "get_code",
        "get_data", "get_filename", "get_nowait", "get_source", "getvalue", "handle",
        "invalidate_caches", "is_package", "isatty", "items", "join", "keys", "load_module",
        "locked", "next", "notify", "notify_all", "pause_writing", "peek", "pi",
        "pipe_connection_lost", "pipe_data_received", "pop", "process_exited", "put", "put_nowait",
        "read", "read1", "readable", "readinto", "readline", "readlines", "recv", "release",
        "resume_writing", "run", "seek", "seekable", "send", "sort", "start", "start_ns", "tell",
        "throw", "truncate", "tzname", "update", "utcoffset", "values", "wait", "writable", "write",
        "writelines",
    ]
)  # fmt: skip

_ABSTRACT = frozenset(["abstractmethod", "abstractproperty", "abstractclassmethod", "abstractstaticmethod"])


@dataclass(slots=True)
class Lineage:
    """What a class inherits: classes of the kept tree (itself among them), others by name."""

    classes: list[Class] = field(default_factory=list)
    external: set[str] = field(default_factory=set)
    open: bool = False  # some base is not known, or a keyword or decorator may do anything


class Hierarchy:
    """Answers about the classes of one world."""

    def __init__(
        self, world: SpecializerWorld, words: IdentifierIndex, links: ImportIndex, glances: Glances
    ) -> None:
        self._world = world
        self._words = words
        self._links = links
        self._glances = glances
        self._lineages: dict[ast.ClassDef, Lineage] = {}
        self._named: dict[str, list[Class]] = {}
        self._heirs: dict[ast.ClassDef, tuple[list[Class], bool]] = {}
        self._others: bool | None = None
        self._protocols: frozenset[str] | None = None

    # -- what a class inherits ------------------------------------------------------------------

    def lineage(self, cls: Class) -> Lineage:
        """The class with all that it inherits."""
        found = self._lineages.get(cls.node)
        if found is None:
            found = Lineage()
            self._lineages[cls.node] = found
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
        if any(defines_method(cls.node, name) for name in ("__init_subclass__", "__class_getitem__")):
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

    def named(self, qualified: str) -> list[Class]:
        """The class statements of that qualified name."""
        if qualified not in self._named:
            self._named[qualified] = list(self._find(qualified))
        return self._named[qualified]

    def _find(self, qualified: str) -> Iterator[Class]:
        module, _, name = qualified.rpartition(".")
        while module and module not in self._world.paths:
            module = module.rpartition(".")[0]
        if not module:
            return
        unit = self._world.unit(self._world.paths[module])
        for node in classes_called(unit, name):
            found = Class(unit, node, unit.scopes.of(node).parent or unit.scopes.root)
            if found.qualified == qualified:
                yield found

    # -- what inherits from a class -----------------------------------------------------------------

    def heirs(self, cls: Class) -> tuple[list[Class], bool]:
        """The subclasses at any depth, and whether there may be more that no class statement shows."""
        found = self._heirs.get(cls.node)
        if found is None:
            found = self._heirs[cls.node] = self._find_heirs(cls)
        return found

    def _find_heirs(self, cls: Class) -> tuple[list[Class], bool]:
        every: list[Class] = []
        more = False
        todo, seen = [cls], {cls.node}
        while todo:
            parent = todo.pop()
            found, uncertain = self._direct(parent)
            more = more or uncertain
            for heir in found:
                if heir.node not in seen:
                    seen.add(heir.node)
                    every.append(heir)
                    todo.append(heir)
        return every, more

    def _direct(self, cls: Class) -> tuple[list[Class], bool]:
        found: list[Class] = []
        more = self._inherited_unseen(cls)
        seeing = dict(self._links.seeing(cls.qualified))
        seeing.setdefault(cls.unit.path, set()).add(cls.node.name)
        for path, called in sorted(seeing.items()):
            data = self._world.files.get(path, b"")
            glance = self._glances.of(path, data)
            names = {name for name in called if name.encode() in self._words.of(path)}
            more = more or (bool(names) and glance.makes_classes)
            names = {name for name in names if name.encode() in glance.bases}
            if not names:
                continue
            unit = self._world.unit(path)
            evaluator = Evaluator(self._world, unit)
            for node in {n for name in names for n in nodes_on(unit, name) if isinstance(n, ast.ClassDef)}:
                if node is cls.node or node in unit.leaving:
                    continue
                scope = unit.scopes.of(node).parent or unit.scopes.root
                for base in node.bases:
                    said = {n.id for n in ast.walk(base) if isinstance(n, ast.Name)}
                    said |= {n.attr for n in ast.walk(base) if isinstance(n, ast.Attribute)}
                    if not said & names:
                        continue
                    plain = base.value if isinstance(base, ast.Subscript) else base
                    name = evaluator.qualified(plain, scope)
                    if not isinstance(name, str) or name == cls.qualified:
                        found.append(Class(unit, node, scope))
        return found, more

    def _inherited_unseen(self, cls: Class) -> bool:
        """May a class that is made without naming its bases inherit from this one?"""
        return self._world.ask("inherits_unseen") and self._world.ask("used_as_value", cls.node.name)

    # -- methods --------------------------------------------------------------------------------------

    def called_outside(self, cls: Class, method: Function) -> bool:
        """May something other than the text of the kept tree need this method of a class?"""
        name = method.name
        if name.startswith("_") and name.endswith("_"):
            return True
        if _abstract(method) or name in DUCK_METHODS or name in self.protocol_members():
            return True
        heirs, more = self.heirs(cls)
        if more:
            return True
        for each in (cls, *heirs):
            lineage = self.lineage(each)
            if lineage.open or any(self._calls(base, name) for base in lineage.external):
                return True
            if not self._is_stated(lineage) and self.reaches_others():
                return True
            for known in lineage.classes:
                if known.node not in known.unit.leaving and _declares_abstract(known.node, name):
                    return True
        return False

    def _is_stated(self, lineage: Lineage) -> bool:
        """Do facts state which methods other packages may call on a class?"""
        return bool(lineage.external) and lineage.external <= self._world.facts.bases.keys()

    def reaches_others(self) -> bool:
        """May another package get any object of the program?"""
        if self._others is None:
            self._others = reaches_other_packages(self._world, self._words)
        return self._others

    def _calls(self, base: str, name: str) -> bool:
        """May an external base call a method of this name on a subclass?"""
        if base in self._world.facts.bases:
            return name in self._world.facts.bases[base]
        if base in _PASSIVE or base in ENUMS:
            return False
        if base in _BUILTIN or base in _EXCEPTIONS:
            return hasattr(getattr(builtins, base), name)
        return base not in _TUPLES

    def protocol_members(self) -> frozenset[str]:
        """What `isinstance` with a protocol of the kept tree asks for."""
        if self._protocols is None:
            found: set[str] = set()
            for path in self._words.holders(b"runtime_checkable"):
                unit = self._world.unit(path)
                for node in nodes_on(unit, "runtime_checkable"):
                    if isinstance(node, ast.ClassDef) and node.decorator_list:
                        cls = Class(unit, node, unit.scopes.of(node).parent or unit.scopes.root)
                        for each in self.lineage(cls).classes:
                            found |= _members(each.node)
            self._protocols = frozenset(found)
        return self._protocols

    # -- classes ----------------------------------------------------------------------------------------

    def announced(self, cls: Class) -> bool:
        """May something take notice of the class only because it is defined?"""
        lineage = self.lineage(cls)
        if lineage.open or (len(lineage.classes) > 1 and self._sets_hooks()):
            return True
        return any(
            base not in INERT_BASES and base not in self._world.facts.bases for base in lineage.external
        )

    def _sets_hooks(self) -> bool:
        """Does a statement outside of a class give one the method that is told of its heirs?"""
        return any(
            isinstance(node, ast.Constant) or isinstance(getattr(node, "ctx", None), ast.Store)
            for path in self._words.holders(b"__init_subclass__")
            for node in nodes_on(self._world.unit(path), "__init_subclass__")
            if "__init_subclass__" in (getattr(node, "attr", ""), getattr(node, "value", ""))
        )

    def listed(self, cls: Class) -> bool:
        """May `__subclasses__()` give the class?"""
        lineage = self.lineage(cls)
        inherits = len(lineage.classes) > 1 or lineage.external - {"object"} or lineage.open
        return bool(inherits and self._words.holders(b"__subclasses__"))


def _abstract(method: Function) -> bool:
    for decorator in method.decorator_list:
        last = decorator.attr if isinstance(decorator, ast.Attribute) else getattr(decorator, "id", "")
        if last in _ABSTRACT:
            return True
    return False


def _declares_abstract(node: ast.ClassDef, name: str) -> bool:
    return any(
        isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)) and inner.name == name and _abstract(inner)
        for inner in statements_of(node)
    )


def _members(node: ast.ClassDef) -> set[str]:
    found = {n.name for n in statements_of(node) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))}
    for inner in statements_of(node):
        targets = inner.targets if isinstance(inner, ast.Assign) else [getattr(inner, "target", None)]
        found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found
