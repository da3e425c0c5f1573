"""From bytes to a `Summary`: one walk over statements, and over expressions only where the text needs it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from builder.graph.modules import (
    Definition,
    DefinitionKind,
    Dynamic,
    Import,
    ImportKind,
    Summary,
)
from builder.graph.names import absolute, imported_module
from builder.graph.strings import Callers, bindings, mentions, references, words
from builder.source.fields import constant_text, last_name, nodes
from builder.source.parse import parse

_CATCHES = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}
_IMPORTERS = {"import_module", "__import__", "iter_modules", "walk_packages"}
#: Those of them that get the name of the module.
_BY_NAME = {"import_module", "__import__"}
_IMPORTER_TEXTS = tuple(name.encode() for name in sorted(_IMPORTERS))
_GLOBALS_WRITTEN = re.compile(
    rb"globals\(\)\s*(?:\[[^\]\n]*\]\s*=[^=]|\.update\b|\.setdefault\b)|sys\.modules\[__name__\]\s*="
)
_Function = (ast.FunctionDef, ast.AsyncFunctionDef)
_Try: tuple[type[ast.stmt], ...] = (ast.Try, *([ast.TryStar] if hasattr(ast, "TryStar") else []))
_Loop = (ast.For, ast.AsyncFor, ast.While)
_With = (ast.With, ast.AsyncWith)


def scan(data: bytes, path: str, module: str, tops: tuple[str, ...]) -> Summary:
    package = path.endswith("__init__.py")
    try:
        tree = parse(data, path).tree
    except SyntaxError as error:
        said = (error.lineno or 0, error.msg or "invalid syntax")
        return Summary(path, module, package, mentions=tuple(words(data, tops)), error=said)
    walk = _Walk(module, package)
    walk.suite(tree.body, "eager", False, _Scope())
    dynamic: tuple[Dynamic, ...] = ()
    if any(text in data for text in _IMPORTER_TEXTS):
        dynamic = tuple(sorted(_dynamic(tree, module, walk.parent)))
    return Summary(
        path,
        module,
        package,
        imports=tuple(walk.imports),
        names=walk.names,
        members=walk.members,
        attributes=walk.attributes,
        bases=walk.bases,
        stores=frozenset(walk.stores),
        exports=tuple(walk.exports) if walk.exports is not None and walk.exports_constant else None,
        dynamic=dynamic,
        references=tuple(references(data, tree, module, walk.parent, tops)),
        mentions=tuple(mentions(data, tree, tops, walk.parent if module else "")),
        program=b"__main__" in data and any(map(_is_main, tree.body)),
        open="__getattr__" in walk.names
        or ((b"globals()" in data or b"sys.modules[" in data) and _GLOBALS_WRITTEN.search(data) is not None),
    )


class _Scope(NamedTuple):
    """Where a statement stands: in a class, in a function, or in a method whose object is `receiver`."""

    owner: str = ""
    receiver: str = ""
    local: bool = False


class _Walk:
    """Collects the parts of a summary while it visits the statements of a module in order.

    Of a function it reads imports, `self.x = ...` and `global x`; everything else there is local.
    """

    def __init__(self, module: str, package: bool) -> None:
        self.parent = module if package else module.rpartition(".")[0]
        self.imports: list[Import] = []
        self.names: dict[str, Definition] = {}
        self.members: dict[str, Definition] = {}
        self.attributes: dict[str, dict[str, int]] = {}
        self.bases: dict[str, tuple[str, ...]] = {}
        self.stores: set[str] = set()
        self.exports: list[str] | None = None
        self.exports_constant = True

    def suite(self, body: Sequence[ast.stmt], kind: ImportKind, tried: bool, scope: _Scope) -> None:
        guarded: ImportKind = "guarded" if kind == "eager" else kind
        for node in body:
            if isinstance(node, _Function):
                self.function(node, kind, tried, scope)
            elif isinstance(node, ast.ClassDef):
                self.definition(node, kind, tried, scope)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                for item in self.imported(node, kind, tried):
                    if not (scope.local or item.star):
                        self.bind(item.bound, "import", node.lineno, scope.owner)
            elif isinstance(node, ast.If):
                only_typing = last_name(node.test) == "TYPE_CHECKING"
                self.suite(node.body, "typing" if only_typing else guarded, tried, scope)
                self.suite(node.orelse, kind if only_typing else guarded, tried, scope)
            elif isinstance(node, _Try):
                catches = any(_catches_import_error(h.type) for h in node.handlers)  # type: ignore[attr-defined]
                inside = guarded if catches else kind
                self.suite(node.body, inside, tried or catches, scope)  # type: ignore[attr-defined]
                for handler in node.handlers:  # type: ignore[attr-defined]
                    self.suite(handler.body, guarded, tried, scope)
                self.suite(node.orelse, inside, tried, scope)  # type: ignore[attr-defined]
                self.suite(node.finalbody, kind, tried, scope)  # type: ignore[attr-defined]
            elif isinstance(node, _Loop):
                if not isinstance(node, ast.While):
                    self.store(node.target, scope)
                self.suite(node.body, kind, tried, scope)
                self.suite(node.orelse, kind, tried, scope)
            elif isinstance(node, _With):
                for managed in node.items:
                    if managed.optional_vars is not None:
                        self.store(managed.optional_vars, scope)
                suppresses = tried or any(_suppresses(managed.context_expr) for managed in node.items)
                self.suite(node.body, guarded if suppresses else kind, suppresses, scope)
            elif isinstance(node, ast.Match):
                for case in node.cases:
                    self.suite(case.body, guarded, tried, scope)
            elif isinstance(node, ast.Global) and scope.local:
                for name in node.names:
                    self.names.setdefault(name, Definition("constant", node.lineno))
            else:
                self.assignment(node, scope)

    def function(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef, kind: ImportKind, tried: bool, scope: _Scope
    ) -> None:
        if not scope.local:
            self.bind(node.name, "function", node.lineno, scope.owner)
            static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in node.decorator_list)
            first = [] if static else node.args.posonlyargs or node.args.args
            scope = _Scope(scope.owner, first[0].arg if first else "", local=True)
        self.suite(node.body, "typing" if kind == "typing" else "lazy", tried, scope)

    def definition(self, node: ast.ClassDef, kind: ImportKind, tried: bool, scope: _Scope) -> None:
        if scope.local:
            # a local class has no qualified name: its attributes count as plain stores
            self.suite(node.body, kind, tried, _Scope(local=True))
            for item in node.body:
                self.stores.update(t.id for t in _targets(item) if isinstance(t, ast.Name))
            return
        self.bind(node.name, "class", node.lineno, scope.owner)
        name = f"{scope.owner}.{node.name}" if scope.owner else node.name
        self.bases[name] = tuple(ast.unparse(b) for b in node.bases)
        self.suite(node.body, kind, tried, _Scope(name))

    def assignment(self, node: ast.stmt, scope: _Scope) -> None:
        targets = _targets(node)
        for target in targets:
            self.store(target, scope)
        if scope.local or scope.owner:
            return
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and node.value is not None:
            self.exported(targets[0], node.value, first=not isinstance(node, ast.AugAssign))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            called = node.value.func
            if isinstance(called, ast.Attribute) and called.attr in ("extend", "append"):
                for argument in node.value.args:
                    self.exported(called.value, argument, first=False)

    def bind(self, name: str, kind: DefinitionKind, line: int, owner: str) -> None:
        if owner:
            self.members.setdefault(f"{owner}.{name}", Definition(kind, line))
            return
        old = self.names.get(name)
        # an import that is also defined (the fallback in `except ImportError`) counts as defined
        if old is None or (old.kind == "import" and kind != "import"):
            self.names[name] = Definition(kind, line)

    def store(self, node: ast.expr, scope: _Scope) -> None:
        if isinstance(node, ast.Name) and not scope.local:
            self.bind(node.id, "constant", node.lineno, scope.owner)
        elif isinstance(node, (ast.Tuple, ast.List)):
            for item in node.elts:
                self.store(item, scope)
        elif isinstance(node, ast.Starred):
            self.store(node.value, scope)
        elif isinstance(node, ast.Attribute):
            own = scope.owner and isinstance(node.value, ast.Name) and node.value.id == scope.receiver
            if own:
                self.attributes.setdefault(scope.owner, {}).setdefault(node.attr, node.lineno)
            else:
                self.stores.add(node.attr)

    def imported(self, node: ast.Import | ast.ImportFrom, kind: ImportKind, tried: bool) -> list[Import]:
        if isinstance(node, ast.Import):
            found = [Import(a.name, None, a.asname, kind, tried, node.lineno) for a in node.names]
        else:
            target = imported_module(node, self.parent)
            # a parenthesised list spans lines: each name knows its own
            found = [Import(target, a.name, a.asname, kind, tried, a.lineno) for a in node.names]
        self.imports.extend(found)
        return found

    def exported(self, target: ast.expr, value: ast.expr, *, first: bool) -> None:
        if not (isinstance(target, ast.Name) and target.id == "__all__"):
            return
        items = value.elts if isinstance(value, (ast.List, ast.Tuple, ast.Set)) else [value]
        strings = [i.value for i in items if isinstance(i, ast.Constant) and isinstance(i.value, str)]
        self.exports_constant = len(strings) == len(items) and (first or self.exports_constant)
        self.exports = strings if first or self.exports is None else self.exports + strings


def _targets(node: ast.stmt) -> list[ast.expr]:
    """What an assignment assigns to."""
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, (ast.AnnAssign, ast.AugAssign)) else []


def _catches_import_error(caught: ast.expr | None) -> bool:
    if caught is None:
        return True
    items = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(last_name(i) in _CATCHES for i in items)


def _suppresses(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call)
        and last_name(node.func) == "suppress"
        and any(last_name(a) in _CATCHES for a in node.args)
    )


def _dynamic(tree: ast.Module, module: str, parent: str) -> Iterator[Dynamic]:
    values = _values(tree) if module else {}
    if module:
        values |= {"__name__": (module,), "__package__": (parent,)}
    callers = Callers(tree)
    for node in nodes(tree):
        if isinstance(node, ast.Call) and last_name(node.func) in _IMPORTERS:
            for argument in _texts(node.args[0], values) if node.args else (None,):
                if argument is None and last_name(node.func) in _BY_NAME and callers.name(node):
                    continue
                if argument and argument.startswith("."):
                    argument = absolute(argument, parent)
                yield Dynamic(node.lineno, last_name(node.func), argument)


def _values(tree: ast.Module) -> dict[str, tuple[str, ...]]:
    """What the target of a loop at the top goes through, where that is a tuple of constant strings."""
    loops = [n for n in tree.body if isinstance(n, ast.For) and isinstance(n.target, ast.Name)]
    if not loops:
        return {}
    bound = bindings(tree)
    tuples = {
        n.targets[0].id: n.value
        for n in tree.body
        if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name) and bound[n.targets[0].id] == 1
    }
    values: dict[str, tuple[str, ...]] = {}
    for loop in loops:
        over = tuples.get(loop.iter.id) if isinstance(loop.iter, ast.Name) else loop.iter
        assert isinstance(loop.target, ast.Name)
        if isinstance(over, ast.Tuple) and bound[loop.target.id] == 1:
            texts = [i.value for i in over.elts if isinstance(i, ast.Constant) and isinstance(i.value, str)]
            if len(texts) == len(over.elts):
                values[loop.target.id] = tuple(texts)
    return values


def _texts(node: ast.expr, values: Mapping[str, tuple[str, ...]]) -> tuple[str | None, ...]:
    """The texts of a constant string or of an f-string, with `*` for each hole whose `values` are unknown;
    None for anything else."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    if parts == [node] and not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        return (None,)
    texts: dict[str, None] = {}
    for chosen in product(*values.values()):
        known = dict(zip(values, chosen, strict=True))
        found = (constant_text(part, known.get) for part in parts)
        texts["".join("*" if text is None else text for text in found)] = None
    return tuple(text if text.strip("*") else None for text in texts)


def _is_main(node: ast.stmt) -> bool:
    """Whether this is `if __name__ == "__main__":`."""
    if not (isinstance(node, ast.If) and isinstance(node.test, ast.Compare)):
        return False
    sides = [node.test.left, *node.test.comparators]
    named = any(isinstance(side, ast.Name) and side.id == "__name__" for side in sides)
    return named and any(isinstance(side, ast.Constant) and side.value == "__main__" for side in sides)
