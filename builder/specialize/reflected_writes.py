"""What a file writes in other ways than by statements: by `setattr`, `globals()`, `patch`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from builder.specialize.evaluating.names import names_of, text
from builder.specialize.text_index.text_search import nodes_on
from builder.specialize.world import SpecializerWorld

if TYPE_CHECKING:
    from builder.specialize.evaluating.evaluate import Evaluator
    from builder.specialize.evaluating.scopes import Scope
    from builder.specialize.unit import Unit

#: One of these words must be in a file that writes names in another way than by a statement.
REFLECTION = (
    b"setattr", b"delattr", b"__setattr__", b"patch", b"globals", b"locals", b"vars", b"__dict__",
    b"__globals__", b"exec", b"eval",
)  # fmt: skip
_WORD = re.compile(r"[A-Za-z_]\w*")
_NAMESPACES = frozenset(["globals", "locals", "vars"])
_STORES = (ast.Store, ast.Del)
#: Functions that only read the namespace that they are given.
_READERS = frozenset(["dict", "get_type_hints", "len", "list", "set", "sorted", "tuple"])
_LOADERS = frozenset(["__import__", "import_module"])
#: What keywords of `patch.multiple` and `patch.dict` do not name.
_PATCH_KEYWORDS = frozenset(
    ["target", "in_dict", "values", "clear", "spec", "create", "spec_set", "autospec"]
)
#: How many names of names are followed.
_MAX_DEPTH = 5

#: The owner of a write that may be any object, or the name of one that may be any name.
ANY = "*"
#: The owner of a write that may be any module, whether or not a file has it as a value.
EVERY = "**"


@dataclass(frozen=True, slots=True)
class Write:
    """A write to `owner.name`. `owner`: a module's name, ANY or EVERY; `name`: an identifier or ANY."""

    owner: str
    name: str


def writes_of(world: SpecializerWorld, path: str) -> tuple[Write, ...]:
    """What a file writes by reflection."""
    try:
        unit = world.unit(path)
    except SyntaxError:
        return ()
    found: tuple[Write, ...] | None = unit.cache.get("reflected writes")  # type: ignore[assignment]
    if found is None:
        from builder.specialize.evaluating.evaluate import Evaluator  # it asks about writes itself

        found = ()
        if unit.told(("reflection named",), lambda: _names_reflection(unit)):
            found = tuple(dict.fromkeys(Writes(unit, Evaluator(world, unit)).writes()))
        unit.cache["reflected writes"] = found
    return found


def _names_reflection(unit: Unit) -> bool:
    """Does code, and not a comment or a method like `model.eval`, name one of the words?"""
    words = {word.decode() for word in REFLECTION}
    methods = words - _NAMESPACES - {"exec", "eval"}
    return any(
        getattr(node, "id", "") in words or getattr(node, "attr", "") in methods
        for word in sorted(words)
        for node in nodes_on(unit, word)
    )


class Writes:
    """Finds the writes of one file."""

    def __init__(self, unit: Unit, evaluator: Evaluator) -> None:
        self.unit = unit
        self.evaluator = evaluator

    def writes(self) -> Iterator[Write]:
        """Every write of the file."""
        seen = set()
        for word in REFLECTION:
            for node in nodes_on(self.unit, word.decode()):
                if isinstance(node, (ast.Call, ast.Subscript)) and node not in seen:
                    seen.add(node)
                    yield from self.write(node, self.unit.scope_of(node))
                if isinstance(node, (ast.Call, ast.Attribute)):
                    yield from self.handed_on(node, self.unit.scope_of(node))
                if isinstance(node, ast.Name) and node.id in ("setattr", "delattr"):
                    parent = self.unit.module.parents.get(node)
                    if not isinstance(parent, ast.Call) or parent.func is not node:
                        yield Write(ANY, ANY)  # whoever gets it may write to anything

    def write(self, node: ast.Call | ast.Subscript, scope: Scope) -> Iterator[Write]:
        if isinstance(node, ast.Call):
            yield from self.call(node, scope)
        elif isinstance(node.ctx, _STORES):
            owner = self.namespace(node.value, scope)
            if owner is not None:
                yield Write(owner, text(node.slice) or ANY)

    def handed_on(self, node: ast.Call | ast.Attribute, scope: Scope) -> Iterator[Write]:
        """A module's namespace that gets another name, or that a function gets, which may write to it."""
        parent = self.unit.module.parents.get(node)
        named = isinstance(parent, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) and parent.value is node
        given = isinstance(parent, ast.Call) and node in parent.args
        read = given and getattr(parent.func, "id", "") in _READERS  # type: ignore[union-attr]
        if named or (given and not read):
            owner = self.namespace(node, scope)
            if owner not in (None, ANY):
                yield Write(str(owner), ANY)

    def call(self, node: ast.Call, scope: Scope) -> Iterator[Write]:
        func = node.func
        called = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
        outer = names_of(func.value)[:1] if isinstance(func, ast.Attribute) else ()
        if (
            "patch" in (called, *outer)
            and called in ("patch", "multiple", "dict")
            and self.is_foreign(func, scope)
        ):
            yield from self.patched(node, called, scope)
        elif called in ("setattr", "delattr", "__setattr__", "object") and node.args:
            if called in ("setattr", "delattr") and self.is_text(node.args[0], scope):
                # `monkeypatch.setattr("module.NAME", ...)`
                yield from (Write(EVERY, name) for name in self.last_words(node.args[0], scope))
            if len(node.args) > 1 and (called != "object" or outer == ("patch",) or text(node.args[1])):
                yield Write(self.owner(node.args[0], scope), text(node.args[1]) or ANY)
        elif called in ("exec", "eval") and not isinstance(func, ast.Attribute):
            owner = self.namespace(node.args[1], scope) if len(node.args) > 1 else self.unit.name
            if owner is not None:
                code = text(node.args[0]) if node.args else None
                names = _WORD.findall(code) if code is not None else [ANY]
                yield from (Write(owner, name) for name in names)
        elif isinstance(func, ast.Attribute) and called in ("update", "setdefault", "pop", "__setitem__"):
            owner = self.namespace(func.value, scope)
            if owner is not None:
                yield from (Write(owner, name) for name in self.keys(node, called))

    def patched(self, node: ast.Call, called: str, scope: Scope) -> Iterator[Write]:
        """What `mock.patch(target)`, `patch.multiple(target, name=...)`, `patch.dict(target, ...)` write."""
        targets = [*node.args[:1], *(k.value for k in node.keywords if k.arg in ("target", "in_dict"))]
        for target in targets:
            if called == "patch":
                yield from (Write(EVERY, name) for name in self.last_words(target, scope))
                continue
            owner = self.namespace(target, scope) if called == "dict" else None
            if owner is None:
                said = self.is_text(target, scope)
                known = (text(target) or "").removesuffix(".__dict__")
                owner = (known or EVERY) if said else self.owner(target, scope)
                if isinstance(target, ast.Name) and target.id == "__name__":
                    owner = self.unit.name
            names = [keyword.arg or ANY for keyword in node.keywords if keyword.arg not in _PATCH_KEYWORDS]
            for given in node.args[1:]:
                entries = given.keys if isinstance(given, ast.Dict) else [None]
                names += [(text(key) if key is not None else None) or ANY for key in entries]
            yield from (Write(owner, name) for name in names)

    def is_text(self, node: ast.expr, scope: Scope) -> bool:
        """Is an expression visibly a text?"""
        node = self.said(node, scope)
        if isinstance(node, ast.BinOp):
            return self.is_text(node.left, scope) or self.is_text(node.right, scope)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            return node.func.attr in ("format", "join") and self.is_text(node.func.value, scope)
        named = isinstance(node, ast.Name) and node.id == "__name__"
        return named or isinstance(node, ast.JoinedStr) or text(node) is not None

    def is_foreign(self, func: ast.expr, scope: Scope) -> bool:
        """May this be a function that the program does not define?"""
        named, world = self.evaluator.qualified(func, scope), self.evaluator.world
        while isinstance(named, str) and named and not world.is_module(named):
            named = named.rpartition(".")[0]
        return not named

    def last_words(self, node: ast.expr, scope: Scope) -> Iterator[str]:
        """The name after the last dot of a text, of each that a name may hold; ANY if no text shows it."""
        home = scope.find(node.id) if isinstance(node, ast.Name) else None
        bound = [each.value for each in home.names[node.id]] if home and isinstance(node, ast.Name) else []
        for value in bound if bound and None not in bound else [node]:
            if isinstance(value, ast.BinOp):
                value = self.said(value.right, scope)
            if isinstance(value, ast.JoinedStr) and value.values:
                value = value.values[-1]
            said = text(value) if value is not None else None
            if said is not None:
                yield said.rpartition(".")[2] if "." in said else ANY
            elif not (isinstance(value, ast.Constant) and value.value is None):
                yield ANY

    def said(self, node: ast.expr, scope: Scope) -> ast.expr:
        """What a name stands for that one assignment binds."""
        for _ in range(_MAX_DEPTH):
            home = scope.find(node.id) if isinstance(node, ast.Name) else None
            bound = home.names[node.id] if home is not None and isinstance(node, ast.Name) else []
            value = bound[0].value if len(bound) == 1 else None
            if value is None:
                break
            node = value
        return node

    def keys(self, node: ast.Call, called: str) -> Iterator[str]:
        """The names that a call of a namespace's method writes."""
        yield from (keyword.arg or ANY for keyword in node.keywords)
        if called != "update":
            yield (text(node.args[0]) if node.args else None) or ANY
            return
        for argument in node.args:
            keys = argument.keys if isinstance(argument, ast.Dict) else [None]
            yield from ((text(key) if key is not None else None) or ANY for key in keys)

    def namespace(self, node: ast.expr, scope: Scope) -> str | None:
        """Whose names an expression holds: a module's name, ANY; None when it is no namespace."""
        node = self.said(node, scope)
        if isinstance(node, ast.Attribute) and node.attr == "__dict__":
            return self.owner(node.value, scope)
        if isinstance(node, ast.Attribute) and node.attr == "__globals__":
            named = self.evaluator.qualified(node.value, scope)
            home = named.rpartition(".")[0] if isinstance(named, str) else ""
            return home if self.evaluator.world.is_module(home) else ANY
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _NAMESPACES:
            if node.args:
                return self.owner(node.args[0], scope)
            if node.func.id == "globals" or scope.kind == "module":
                return self.unit.name
            return ANY if scope.kind == "class" else None
        return None

    def owner(self, node: ast.expr, scope: Scope) -> str:
        """The module that an expression is, or ANY."""
        node = self.said(node, scope)
        if isinstance(node, ast.Call) and not _LOADERS.isdisjoint(names_of(node.func)[:1]):
            return (text(node.args[0]) if node.args else None) or ANY
        if isinstance(node, ast.Subscript):  # sys.modules[__name__]
            held = self.evaluator.qualified(node.value, scope)
            if held == "sys.modules":
                if isinstance(node.slice, ast.Name) and node.slice.id == "__name__":
                    return self.unit.name
                return text(node.slice) or ANY
        named = self.evaluator.qualified(node, scope)
        world = self.evaluator.world
        return named if isinstance(named, str) and world.is_module(named) else ANY
