"""Evaluates expressions without running them: constants, lists of them, and names followed to both.

Names are followed through assignments, imports, class attributes and enumerations of the tree.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from builder.graph.names import imported_module, package_of, path_of
from builder.source.parse import Module, parse
from builder.surface.model import Expression, Value
from builder.surface.scan import telling, telling_part
from builder.tree import Snapshot

#: name -> the one expression assigned to it, its definition or its import; None: more than one of them.
Bindings: TypeAlias = "dict[str, ast.expr | ast.stmt | None]"
#: The file in which an expression or definition stands, and the expression or definition.
Bound: TypeAlias = "tuple[Reader, ast.expr | ast.stmt]"

_MAX_DEPTH = 12
_CALLED = frozenset(["list", "tuple", "sorted", "set", "frozenset"])
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Sources:
    """The parsed files of one tree, read when they are asked for."""

    def __init__(self, snapshot: Snapshot, packages: Mapping[str, str]) -> None:
        self.snapshot = snapshot
        self.packages = packages
        self._parsed: dict[str, Module | None] = {}
        self.bindings: dict[ast.AST, Bindings] = {}

    def parsed(self, path: str) -> Module | None:
        """A file of the tree; None when there is none, or when it does not parse."""
        if path not in self.snapshot:
            return None
        if path not in self._parsed:
            self._parsed[path] = _parsed(self.snapshot[path], path)
        return self._parsed[path]

    def part(self, path: str) -> Module | None:
        """The part of a file that can be surface; None when there is none, or when it does not parse."""
        data = self.snapshot[path]
        offsets = telling(data)
        if not offsets:
            return None
        part = telling_part(data, offsets)
        alone = _parsed(part, path) if 2 * len(part.lstrip(b"\n")) < len(data) else None
        # otherwise it is most of the file, or does not parse alone
        return alone or self.parsed(path)

    def reader(self, path: str, module: str, scope: str = "") -> Reader | None:
        """A reader of the names of a file, or of a scope in it; None for a file that does not parse."""
        file = self.parsed(path)
        if file is None:
            return None
        body, function = file.tree.body, None
        for name in filter(None, scope.split(".")):
            inner = next(
                (s for s in own_statements(body) if isinstance(s, _DEFINITIONS) and s.name == name), None
            )
            if inner is None:
                break
            body, function = inner.body, None if isinstance(inner, ast.ClassDef) else inner
        return Reader(self, path, module, file, function)

    def module(self, name: str) -> Reader | None:
        """A reader of the names of a module of the packages."""
        for path in reversed(path_of(name, self.packages) or ()):
            if path in self.snapshot:
                return self.reader(path, name)
        return None


def _parsed(data: bytes, path: str) -> Module | None:
    try:
        return parse(data, path)
    except SyntaxError:
        return None


class _Unknown(Exception):
    """Only running the code would give the value."""


@dataclass(frozen=True, eq=False, slots=True)
class Reader:
    """Reads expressions that stand in one file, inside (or outside) one function."""

    sources: Sources
    path: str
    name: str  # of the module
    file: Module  # may be a part of what is at the path
    function: ast.AST | None = None

    @property
    def home(self) -> str:
        """The name of the module; for a file outside the packages its path."""
        return self.name or self.path

    def bindings(self, scope: ast.AST) -> Bindings:
        """What the statements of a module, class or function bind, read once."""
        known = self.sources.bindings
        if scope not in known:
            known[scope] = _bindings(scope)
        return known[scope]

    def text(self, node: ast.AST) -> str:
        """The source of a node on one line."""
        return " ".join(self.file.text(node).split())

    def value(self, node: ast.expr, depth: int = 0) -> Value:
        """The value of an expression; an `Expression` where only running the code would give it."""
        try:
            return self._value(node, depth)
        except _Unknown:
            return Expression(self.text(node))

    def _value(self, node: ast.expr, depth: int) -> Value:
        if depth >= _MAX_DEPTH:
            raise _Unknown
        match node:
            case ast.Constant(value=None | bool() | int() | float() | str() as constant):
                return constant
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                number = self.value(operand, depth + 1)
                if isinstance(number, (int, float)):
                    return -number
            case ast.JoinedStr():
                return self.joined(node, lambda inner: self.value(inner, depth + 1))
            case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
                return self._members(items, depth)
            case ast.Dict(keys=keys) if all(keys):
                return self._members([key for key in keys if key], depth)
            case ast.BinOp():
                return self._computed(node, depth)
            case ast.Subscript(value=base, slice=index):
                listed, at = self._value(base, depth + 1), self._value(index, depth + 1)
                if isinstance(listed, tuple) and isinstance(at, int) and at < len(listed):
                    return listed[at]
            case ast.Call():
                return self._call(node, depth)
            case ast.ListComp():
                return self._members_of_enum(node, depth)
            case ast.Name() | ast.Attribute():
                target = self.find(node)
                if target is not None and isinstance(target[1], ast.expr):
                    # an unknown value is shown by its source text, so that a change of the text is seen
                    return target[0].value(target[1], depth + 1)
        raise _Unknown

    def _computed(self, node: ast.BinOp, depth: int) -> Value:
        """Sums of lists and texts, sums and products of numbers."""
        left, right = self.value(node.left, depth + 1), self.value(node.right, depth + 1)
        if not isinstance(left, Expression) and not isinstance(right, Expression):
            match left, node.op, right:
                case int() | float(), ast.Mult(), int() | float():
                    return left * right
                case int() | float(), ast.Add(), int() | float():
                    return left + right
                case (tuple(), ast.Add(), tuple()) | (str(), ast.Add(), str()):
                    return left + right  # type: ignore[operator]
        raise _Unknown

    @staticmethod
    def joined(node: ast.JoinedStr, value: Callable[[ast.expr], Value] = lambda inner: None) -> str:
        """An f-string as text; what is not known is shown in braces."""
        parts = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                inner = value(part.value)
                # a parameter is shown by its name: `--{prefix}port`; others by none, since before Python 3.12
                # the parts of an f-string have no positions of their own
                name = part.value.id if isinstance(part.value, ast.Name) else "..."
                parts.append(inner if isinstance(inner, str) else f"{{{name}}}")
            else:
                assert isinstance(part, ast.Constant)
                parts.append(str(part.value))
        return "".join(parts)

    def _members(self, nodes: list[ast.expr], depth: int) -> Value:
        values: list[Value] = []
        for node in nodes:
            value = self.value(node.value if isinstance(node, ast.Starred) else node, depth + 1)
            if not isinstance(node, ast.Starred):
                values.append(value)
            elif isinstance(value, tuple) and not isinstance(value, Expression):
                values.extend(value)
            else:
                raise _Unknown
        return tuple(values)

    def _call(self, node: ast.Call, depth: int) -> Value:
        match node:
            case ast.Call(func=ast.Name(id=name), args=[only]) if name in _CALLED:
                return self._value(only, depth + 1)
            case ast.Call(func=ast.Attribute(attr="keys" | "copy", value=owner), args=[]):
                return self._value(owner, depth + 1)
        read = [reader.value(returned, depth + 1) for reader, returned in self._returns(node, depth)]
        known = [value for value in read if not isinstance(value, Expression)]
        if len(known) != 1:
            raise _Unknown
        return known[0]

    def _returns(self, node: ast.Call, depth: int) -> Iterator[tuple[Reader, ast.expr]]:
        """What a function of the tree returns that is called without arguments, each with its reader."""
        if node.args or node.keywords or not isinstance(node.func, ast.Name):
            return
        reader, function = self.find(node.func, depth + 1) or (self, None)
        if not isinstance(function, ast.FunctionDef):
            return
        for statement in own_statements(function.body):
            if isinstance(statement, ast.Return) and statement.value is not None:
                yield replace(reader, function=function), statement.value

    def _members_of_enum(self, node: ast.ListComp, depth: int) -> Value:
        """`[e.value for e in Kind]`, `[e.name for e in Kind]`."""
        over = node.generators[0].iter
        bound = self.find(over) if isinstance(over, (ast.Name, ast.Attribute)) else None
        part = node.elt.attr if isinstance(node.elt, ast.Attribute) else ""
        if bound is None or not isinstance(bound[1], ast.ClassDef) or len(node.generators) > 1:
            raise _Unknown
        members = list(members_of(bound[1]))
        if part == "name":
            return tuple(name for name, _ in members)
        if part == "value":
            return tuple(bound[0].value(value, depth + 1) for _, value in members)
        raise _Unknown

    # -- names --------------------------------------------------------------------------------

    def origins(self, node: ast.expr, depth: int = 0) -> list[str]:
        """The qualified names through which an expression is read, outermost first."""
        if depth > _MAX_DEPTH:
            return []
        if isinstance(node, (ast.Name, ast.Attribute)):
            target = self.find(node)
            if target is None:
                return self.origins(node.value, depth + 1) if isinstance(node, ast.Attribute) else []
            reader, bound = target
            names = [name] if (name := self.qualified(node)) else []
            if isinstance(bound, ast.expr) and not isinstance(bound, ast.Dict):
                names += reader.origins(bound, depth + 1)
            return names
        below = (child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))
        names = [name for child in below for name in self.origins(child, depth + 1)]
        if isinstance(node, ast.Call):
            for reader, returned in self._returns(node, depth):
                names += reader.origins(returned, depth + 1)
        return names

    def origins_of(self, details: Mapping[str, ast.expr]) -> dict[str, tuple[str, ...]]:
        """The names through which the choices and the default of a flag are read, where there are any."""
        return {
            detail: tuple(names)
            for detail, value in details.items()
            if detail in ("choices", "default") and (names := self.origins(value))
        }

    def qualified(self, node: ast.expr) -> str | None:
        """The dotted name of the definition or assignment that a name or attribute chain stands for."""
        if isinstance(node, ast.Attribute):
            owner = self.find(node.value)
            if owner is not None and isinstance(owner[1], ast.ClassDef):
                base = self.qualified(node.value)
                return f"{base}.{node.attr}" if base else None
            return None
        if not isinstance(node, ast.Name):
            return None
        local = self.bindings(self.function) if self.function is not None else {}
        if node.id in local and not isinstance(local[node.id], ast.ImportFrom):
            return None
        target = self.find(node)
        if target is None:
            return f"{self.home}.{node.id}"
        reader, bound = target
        # it may be imported under another name
        own = [name for name, what in reader.bindings(reader.file.tree).items() if what is bound]
        return f"{reader.home}.{own[-1] if own else getattr(bound, 'name', node.id)}"

    def find(self, node: ast.expr, depth: int = 0) -> Bound | None:
        """What a name or attribute chain stands for: the assigned expression, or the definition.

        A name that is assigned twice stands for nothing.
        """
        if depth > _MAX_DEPTH:
            return None
        if isinstance(node, ast.Name):
            local = self.bindings(self.function) if self.function is not None else {}
            if node.id not in local:
                return self.global_name(node.id, depth)
            bound = local[node.id]
            if isinstance(bound, ast.ImportFrom):
                return self._imported(bound, node.id, depth)
            return (self, bound) if isinstance(bound, ast.expr) else None
        if isinstance(node, ast.Attribute):
            reader, owner = self.find(node.value, depth + 1) or (self, None)
            bound = self.bindings(owner).get(node.attr) if isinstance(owner, ast.ClassDef) else None
            if bound is not None and not isinstance(bound, ast.ImportFrom):
                return reader, bound
        return None

    def global_name(self, name: str, depth: int = 0) -> Bound | None:
        """What a name of the module stands for."""
        whole = self.sources.reader(self.path, self.name)
        if whole is None or depth > _MAX_DEPTH:
            return None
        bindings = self.bindings(whole.file.tree)
        bound = bindings.get(name)
        if isinstance(bound, ast.ImportFrom):
            return self._imported(bound, name, depth)
        if bound is not None:
            return whole, bound
        if name in bindings:
            return None
        stars = (
            s
            for s in own_statements(whole.file.tree.body)
            if isinstance(s, ast.ImportFrom) and s.names[0].name == "*"
        )
        return next((f for star in stars if (f := self._imported(star, name, depth))), None)

    def _imported(self, stmt: ast.ImportFrom, name: str, depth: int) -> Bound | None:
        """What a name stands for that the statement binds, or that may be one of its `*`."""
        original = next((a.name for a in stmt.names if (a.asname or a.name) == name), name)
        source = self._source(stmt)
        return source.global_name(original, depth + 1) if source is not None else None

    def exporter(self, name: str) -> Module | None:
        """The module of the tree that a name is imported from; None for a name that is not imported."""
        whole = self.sources.parsed(self.path)
        bound = self.bindings(whole.tree).get(name) if whole is not None else None
        source = self._source(bound) if isinstance(bound, ast.ImportFrom) else None
        return source.file if source is not None else None

    def _source(self, stmt: ast.ImportFrom) -> Reader | None:
        """The module of the tree that an import statement names."""
        return self.sources.module(imported_module(stmt, package_of(self.path, self.name)))


def _bindings(scope: ast.AST) -> Bindings:
    """name -> the one expression assigned to it, its definition or its import; None: more than one."""
    bindings: Bindings = {}

    def bind(name: str, what: ast.expr | ast.stmt) -> None:
        bindings[name] = None if name in bindings else what

    for stmt in own_statements(scope.body):  # type: ignore[attr-defined]
        if isinstance(stmt, ast.Assign):
            for target in stmt.targets:
                if isinstance(target, ast.Name):
                    bind(target.id, stmt.value)
        elif isinstance(stmt, ast.AnnAssign):
            if isinstance(stmt.target, ast.Name) and stmt.value is not None:
                bind(stmt.target.id, stmt.value)
        elif isinstance(stmt, _DEFINITIONS):
            bind(stmt.name, stmt)
        elif isinstance(stmt, ast.ImportFrom):
            for alias in stmt.names:
                bind(alias.asname or alias.name, stmt)
    return bindings


def own_statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a scope, including those under `if`, `try` and loops, without those of functions."""
    for stmt in body:
        yield stmt
        if isinstance(stmt, (ast.If, ast.Try, ast.With, ast.For, ast.While)):
            yield from own_statements(stmt.body)
            yield from own_statements(getattr(stmt, "orelse", []))
            for handler in getattr(stmt, "handlers", []):
                yield from own_statements(handler.body)


def members_of(enum: ast.ClassDef) -> Iterator[tuple[str, ast.expr]]:
    """Name and value of every member of an enumeration."""
    for stmt in enum.body:
        if isinstance(stmt, ast.Assign) and len(stmt.targets) == 1 and isinstance(stmt.targets[0], ast.Name):
            yield stmt.targets[0].id, stmt.value
