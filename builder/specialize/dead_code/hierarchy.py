"""The classes of the kept tree: what they inherit, who inherits from them, who else calls their methods."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field

from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.scopes import Scope
from builder.specialize.text_index.glance import Glances
from builder.specialize.text_index.identifier_index import IdentifierIndex
from builder.specialize.text_index.import_index import ImportIndex
from builder.specialize.text_index.text_search import nodes_on
from builder.specialize.world import SpecializerWorld, Unit

Function = ast.FunctionDef | ast.AsyncFunctionDef

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
_BUILTIN = frozenset(
    [
        "bool",
        "bytearray",
        "bytes",
        "complex",
        "dict",
        "float",
        "frozenset",
        "int",
        "list",
        "set",
        "str",
        "tuple",
    ]
)
_TUPLES = frozenset(
    ["typing.NamedTuple", "typing.TypedDict", "typing_extensions.TypedDict", "typing_extensions.NamedTuple"]
)
#: Further bases that do nothing when a class inherits from them, though they call its methods.
_INERT = frozenset(
    [
        "argparse.Action",
        "argparse.ArgumentParser",
        "argparse.HelpFormatter",
        "argparse.Namespace",
        "ast.NodeTransformer",
        "ast.NodeVisitor",
        "collections.OrderedDict",
        "collections.UserDict",
        "collections.UserList",
        "collections.abc.Callable",
        "collections.abc.Iterable",
        "collections.abc.Iterator",
        "collections.abc.Mapping",
        "collections.abc.MutableMapping",
        "collections.abc.Sequence",
        "collections.defaultdict",
        "collections.deque",
        "contextlib.AbstractAsyncContextManager",
        "contextlib.AbstractContextManager",
        "contextlib.ContextDecorator",
        "html.parser.HTMLParser",
        "http.server.BaseHTTPRequestHandler",
        "json.JSONDecoder",
        "json.JSONEncoder",
        "logging.Filter",
        "logging.Formatter",
        "logging.Handler",
        "logging.LoggerAdapter",
        "logging.StreamHandler",
        "multiprocessing.Process",
        "string.Formatter",
        "threading.Thread",
        "threading.local",
    ]
)
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

#: Methods of the standard library that call what methods they like of the object or class they are handed.
_CALLS_BY_NAME = frozenset(["create_aggregate", "create_window_function", "register_instance"])

#: Expressions and parts of them that may give one of their own parts, or hold it.
_PASSES_ON = (ast.IfExp, ast.BoolOp, ast.Await, ast.Starred, ast.Tuple, ast.List, ast.Set, ast.Dict)

#: Class decorators that call no method and remember no class.
HARMLESS_CLASS_DECORATORS = frozenset(
    [
        "dataclasses.dataclass",
        "enum.unique",
        "functools.total_ordering",
        "typing.final",
        "typing.runtime_checkable",
        "typing_extensions.final",
        "typing_extensions.runtime_checkable",
    ]
)
_RUNTIME = frozenset(["typing.runtime_checkable", "typing_extensions.runtime_checkable"])
_ABSTRACT = frozenset(["abstractmethod", "abstractproperty", "abstractclassmethod", "abstractstaticmethod"])
MAX_DEPTH = 30


@dataclass(frozen=True, slots=True, eq=False)
class Class:
    """A class statement of a kept file."""

    unit: Unit
    node: ast.ClassDef
    scope: Scope  # around it

    @property
    def qualified(self) -> str:
        return ".".join(part for part in (self.unit.name, self.scope.qualname, self.node.name) if part)


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
        self._handed: dict[ast.ClassDef, bool] = {}
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
            if isinstance(name, str) and not bases and not self._ours(name):
                found.external.add(name)
            elif not bases:
                found.open = True

    def _ours(self, name: str) -> bool:
        """Is this a name of a kept module that is no class statement?"""
        while name:
            if self._world.is_module(name):
                return True
            name = name.rpartition(".")[0]
        return False

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
        for node in nodes_on(unit, name):
            if isinstance(node, ast.ClassDef) and node.name == name:
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
        if any(self._handed_on(each) for each in (cls, *heirs)):
            return True
        for each in (cls, *heirs):
            lineage = self.lineage(each)
            if lineage.open or any(self._calls(base, name) for base in lineage.external):
                return True
            for known in lineage.classes:
                if known.node not in known.unit.leaving and _declares_abstract(known.node, name):
                    return True
        return False

    def _handed_on(self, cls: Class) -> bool:
        """Does the text hand an object of the class to another package, which may call any method?"""
        if cls.node not in self._handed:
            self._handed[cls.node] = self._find_handed_on(cls)
        return self._handed[cls.node]

    def _find_handed_on(self, cls: Class) -> bool:
        for node in ast.walk(cls.node):
            if isinstance(node, ast.Name) and node.id == "self" and self._goes_out(cls.unit, node):
                return True
        for path, called in sorted(self._links.seeing(cls.qualified).items()):
            for name in sorted(called):
                if name.encode() not in self._words.of(path):
                    continue
                unit = self._world.unit(path)
                if _handed_to_calls(unit, name) and any(
                    self._goes_out(unit, use) for use in _made_by(unit, name)
                ):
                    return True
        return False

    def _goes_out(self, unit: Unit, node: ast.AST) -> bool:
        """Is an expression an argument of a call of another package, which may call any method?"""
        at = _call_around(unit, node)
        if at is None:
            return False
        if getattr(at.func, "attr", "") in _CALLS_BY_NAME:
            return True
        scope = self._scope_around(unit, at)
        if self._is_foreign(unit, at.func, scope):
            return True
        name = Evaluator(self._world, unit).qualified(at.func, scope)
        # the library may call a function that it gets with the object: `map(run, [Worker()])`
        library = isinstance(name, str) and not self._ours(name)
        return library and any(self._is_foreign(unit, each, scope) for each in at.args)

    def _is_foreign(
        self, unit: Unit, func: ast.expr, scope: Scope, seen: frozenset[tuple[Scope, str]] = frozenset()
    ) -> bool:
        """Is it a function of another package, or a method of an object that one made?"""
        name = Evaluator(self._world, unit).qualified(func, scope)
        if isinstance(name, str) and "." in name and not self._ours(name):
            return name.partition(".")[0] not in sys.stdlib_module_names
        owner = func.value if isinstance(func, ast.Attribute) else None
        home = scope.find(owner.id) if isinstance(owner, ast.Name) else None
        if home is None or not isinstance(owner, ast.Name):
            return False
        if (home, owner.id) in seen:
            return False  # `it = it.next()`: what else binds the name tells
        seen |= {(home, owner.id)}
        makers = [each.value.func for each in home.names[owner.id] if isinstance(each.value, ast.Call)]
        return any(self._is_foreign(unit, maker, home, seen) for maker in makers)

    def _scope_around(self, unit: Unit, node: ast.AST) -> Scope:
        at: ast.AST | None = node
        while at is not None and not isinstance(at, (ast.FunctionDef, ast.AsyncFunctionDef)):
            at = unit.module.parents.get(at)
        return unit.scopes.of(at) if at is not None else unit.scopes.root

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
        if lineage.open:
            return True
        return any(
            base not in INERT_BASES and base not in self._world.facts.bases for base in lineage.external
        )

    def listed(self, cls: Class) -> bool:
        """May `__subclasses__()` give the class?"""
        lineage = self.lineage(cls)
        inherits = len(lineage.classes) > 1 or lineage.external - {"object"} or lineage.open
        return bool(inherits and self._words.holders(b"__subclasses__"))


def _handed_to_calls(unit: Unit, name: str) -> bool:
    """Does a file hand to any call what a class of this name makes, or the class?"""

    def find() -> bool:
        return any(_call_around(unit, use) is not None for use in _made_by(unit, name))

    return unit.told(("handed to calls", name), find)


def _made_by(unit: Unit, name: str) -> Iterator[ast.AST]:
    """The expressions that are a class of this name or what it makes, at once or by a variable."""
    parents = unit.module.parents
    for node in nodes_on(unit, name):
        if name not in (getattr(node, "id", ""), getattr(node, "attr", "")):
            continue
        yield node
        call = parents.get(node)
        if not isinstance(call, ast.Call) or call.func is not node:
            continue
        yield call
        for variable in _stored_as(unit, call):
            for use in nodes_on(unit, variable):
                if variable in (getattr(use, "id", ""), getattr(use, "attr", "")):
                    yield use


def _stored_as(unit: Unit, node: ast.AST) -> set[str]:
    """The variables and attributes, by their last names, that may get what an expression gives."""
    parents = unit.module.parents
    found: set[str] = set()
    below, at = node, parents.get(node)
    while isinstance(at, _PASSES_ON) or (isinstance(at, ast.NamedExpr) and below is at.value):
        if isinstance(at, ast.NamedExpr):
            found.add(at.target.id)
        below, at = at, parents.get(at)
    targets: list[ast.expr] = []
    if isinstance(at, ast.Assign):
        targets = at.targets
    elif isinstance(at, ast.AnnAssign):
        targets = [at.target]
    elif isinstance(at, ast.withitem) and at.optional_vars is not None:
        targets = [at.optional_vars]
    for target in targets:
        for inner in ast.walk(target):
            if isinstance(inner, (ast.Name, ast.Attribute)) and isinstance(inner.ctx, ast.Store):
                found.add(inner.id if isinstance(inner, ast.Name) else inner.attr)
    return found


def _call_around(unit: Unit, node: ast.AST) -> ast.Call | None:
    """The call of which an expression is an argument, as it is, in a display or as one of several values."""
    parents = unit.module.parents
    below, at = node, parents.get(node)
    while isinstance(at, (ast.keyword, ast.NamedExpr, *_PASSES_ON)):
        below, at = at, parents.get(at)
    return at if isinstance(at, ast.Call) and at.func is not below else None


def defines_method(node: ast.ClassDef, name: str) -> bool:
    """Does the body of a class bind a name, at whatever depth of conditions?"""
    for inner in _body(node):
        if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)) and inner.name == name:
            return True
        if isinstance(inner, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id == name for t in inner.targets
        ):
            return True
    return False


def _body(node: ast.ClassDef) -> Iterator[ast.stmt]:
    todo: list[ast.stmt] = list(node.body)
    while todo:
        stmt = todo.pop()
        yield stmt
        if isinstance(stmt, (ast.If, ast.Try, ast.With)):
            todo += [inner for inner in ast.iter_child_nodes(stmt) if isinstance(inner, ast.stmt)]
            for handler in getattr(stmt, "handlers", ()):
                todo += handler.body


def _abstract(method: Function) -> bool:
    for decorator in method.decorator_list:
        last = decorator.attr if isinstance(decorator, ast.Attribute) else getattr(decorator, "id", "")
        if last in _ABSTRACT:
            return True
    return False


def _declares_abstract(node: ast.ClassDef, name: str) -> bool:
    return any(
        isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)) and inner.name == name and _abstract(inner)
        for inner in _body(node)
    )


def _members(node: ast.ClassDef) -> set[str]:
    found = {n.name for n in _body(node) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))}
    for inner in _body(node):
        targets = inner.targets if isinstance(inner, ast.Assign) else [getattr(inner, "target", None)]
        found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found
