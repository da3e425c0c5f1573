"""Which binding a name refers to: Python's scoping rules, statically. What other files see of a module."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from builder.source.fields import INNER_FIELDS, bound_name, inner_nodes

Function = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
Comprehension = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True, slots=True)
class Binding:
    """One place where a name gets a value. `value` is set for `name = expression` alone."""

    kind: str  # assign, import, def, class, parameter, other
    node: ast.AST
    value: ast.expr | None = None
    alias: ast.alias | None = None


def _may_span(lines: Sequence[int] | None, node: ast.AST) -> bool:
    """Return whether a node may span one of the lines."""
    if lines is None:
        return True
    at = bisect_left(lines, node.lineno)  # type: ignore[attr-defined]
    return at < len(lines) and lines[at] <= node.end_lineno  # type: ignore[attr-defined]


@dataclass(eq=False, slots=True)
class Scope:
    """A module, class, function, lambda or comprehension with the names that it binds."""

    node: ast.AST
    parent: Scope | None
    kind: str  # module, class, function, comprehension
    qualname: str
    names: dict[str, list[Binding]] = field(default_factory=dict)
    globals: set[str] = field(default_factory=set)  # declared `global`
    nonlocals: set[str] = field(default_factory=set)  # declared `nonlocal`
    star: list[ast.ImportFrom] = field(default_factory=list)

    def bind(self, name: str, binding: Binding) -> None:
        self.names.setdefault(name, []).append(binding)

    def find(self, name: str) -> Scope | None:
        """The scope that binds a name as seen from here; None for a builtin or an unbound name."""
        scope: Scope | None = self
        first = True
        while scope is not None:
            if name in scope.globals:
                root = scope.root
                return root if name in root.names else None
            if name in scope.names and name not in scope.nonlocals and (first or scope.kind != "class"):
                return scope
            first = False
            scope = scope.parent
        return None

    @property
    def outer(self) -> set[str]:
        """The names that belong to other scopes by declaration."""
        return self.globals | self.nonlocals

    @property
    def root(self) -> Scope:
        """The module's scope."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope


class Scopes:
    """Every scope of a module, by its node."""

    def __init__(
        self, tree: ast.Module, declaring: Sequence[int] | None = None, binding: Sequence[int] | None = None
    ) -> None:
        """The lines of the text that may hold certain keywords, 1-based and sorted; None: they are not known.

        `declaring`: those that may hold `global` or `nonlocal`. A function that spans none of them binds
        nothing outside of itself, and is looked into only when its scope is asked for. `binding`: those that
        may hold `lambda`, `for` or `:=`. An expression that spans none of them opens no scope and binds no
        name.
        """
        self.root = Scope(tree, None, "module", "")
        self.by_node: dict[ast.AST, Scope] = {tree: self.root}
        self.waiting: dict[ast.AST, Scope] = {}
        self._binding = binding
        builder = _Builder(self, declaring, binding)
        builder.suite(tree.body, self.root)
        builder.bind_nonlocals()

    def of(self, node: ast.AST) -> Scope:
        """The scope that a node opens; raises KeyError for a node that opens none."""
        while node not in self.by_node and self.waiting:
            self._look_into(next(iter(self.waiting)))
        if node in self.waiting:
            self._look_into(node)
        return self.by_node[node]

    def every(self) -> list[Scope]:
        """All scopes of the module."""
        while self.waiting:
            self._look_into(next(iter(self.waiting)))
        return list(dict.fromkeys([self.root, *self.by_node.values()]))

    def _look_into(self, node: ast.AST) -> None:
        _Builder(self, (), self._binding).suite(node.body, self.waiting.pop(node))  # type: ignore[attr-defined]


class _Builder:
    def __init__(
        self, scopes: Scopes, declaring: Sequence[int] | None, binding: Sequence[int] | None
    ) -> None:
        self.scopes = scopes
        self.declaring = declaring
        self.binding = binding
        self.nonlocals: list[tuple[str, Scope, ast.AST]] = []
        self.visitors: dict[type[ast.AST], Callable[[_Builder, ast.AST, Scope], None]] = {}

    def bind_nonlocals(self) -> None:
        """Names that an inner function writes are no constants of the outer one."""
        for name, scope, node in self.nonlocals:
            owner = scope.parent.find(name) if scope.parent is not None else None
            if owner is not None:
                owner.bind(name, Binding("other", node))

    def open(self, node: ast.AST, parent: Scope, kind: str, name: str) -> Scope:
        scope = Scope(node, parent, kind, f"{parent.qualname}.{name}" if parent.qualname else name)
        self.scopes.by_node[node] = scope
        return scope

    def suite(self, stmts: list[ast.stmt], scope: Scope) -> None:
        for stmt in stmts:
            self.visit(stmt, scope)

    def visit(self, node: ast.AST, scope: Scope) -> None:
        kind = type(node)
        visitor = self.visitors.get(kind)
        if visitor is None:
            found = getattr(_Builder, f"visit_{kind.__name__}", _Builder.visit_children)
            visitor = self.visitors[kind] = found
        visitor(self, node, scope)

    def visit_children(self, node: ast.AST, scope: Scope) -> None:
        for name in INNER_FIELDS[node.__class__]:
            value = getattr(node, name, None)
            if isinstance(value, ast.AST):
                self.visit(value, scope)
            elif isinstance(value, list):
                for item in value:
                    if isinstance(item, ast.AST):
                        self.visit(item, scope)

    def visit_Constant(self, node: ast.Constant, scope: Scope) -> None:
        pass

    def visit_Attribute(self, node: ast.Attribute, scope: Scope) -> None:
        self.visit(node.value, scope)

    def later(self, node: ast.AST) -> bool:
        """Return whether a function may be looked into later, as it is known to declare no name of an
        outer scope."""
        return not _may_span(self.declaring, node)

    def expression(self, node: ast.expr, scope: Scope) -> None:
        """Visit an expression that is evaluated, unless it is known to open no scope and to bind no name."""
        if _may_span(self.binding, node):
            self.visit(node, scope)

    def visit_Expr(self, node: ast.Expr, scope: Scope) -> None:
        self.expression(node.value, scope)

    def visit_Return(self, node: ast.Return, scope: Scope) -> None:
        if node.value is not None:
            self.expression(node.value, scope)

    def visit_If(self, node: ast.If, scope: Scope) -> None:
        self.expression(node.test, scope)
        self.suite(node.body, scope)
        self.suite(node.orelse, scope)

    visit_While = visit_If

    def visit_FunctionDef(self, node: ast.FunctionDef, scope: Scope) -> None:
        self.name(node.name, scope, Binding("def", node))
        for item in (*node.decorator_list, *node.args.defaults, *(d for d in node.args.kw_defaults if d)):
            self.expression(item, scope)
        if node.returns is not None:
            self.expression(node.returns, scope)
        inner = self.open(node, scope, "function", node.name)
        self.parameters(node.args, inner)
        if self.later(node):
            self.scopes.waiting[node] = inner
        else:
            self.suite(node.body, inner)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda, scope: Scope) -> None:
        for item in (*node.args.defaults, *(d for d in node.args.kw_defaults if d)):
            self.visit(item, scope)
        inner = self.open(node, scope, "function", "<lambda>")
        self.parameters(node.args, inner)
        self.visit(node.body, inner)

    def parameters(self, args: ast.arguments, scope: Scope) -> None:
        every = [*args.posonlyargs, *args.args, *args.kwonlyargs]
        for arg in (*every, *(a for a in (args.vararg, args.kwarg) if a)):
            scope.bind(arg.arg, Binding("parameter", arg))
            if arg.annotation is not None and scope.parent is not None:
                self.expression(arg.annotation, scope.parent)

    def visit_ClassDef(self, node: ast.ClassDef, scope: Scope) -> None:
        self.name(node.name, scope, Binding("class", node))
        for item in (*node.decorator_list, *node.bases, *(k.value for k in node.keywords)):
            self.expression(item, scope)
        self.suite(node.body, self.open(node, scope, "class", node.name))

    def comprehension(self, node: ast.AST, scope: Scope) -> None:
        inner = self.open(node, scope, "comprehension", "<comprehension>")
        for index, generator in enumerate(node.generators):  # type: ignore[attr-defined]
            self.visit(generator.iter, inner if index else scope)
            self.target(generator.target, inner, Binding("other", generator))
            for test in generator.ifs:
                self.visit(test, inner)
        for name in ("elt", "key", "value"):
            child = getattr(node, name, None)
            if child is not None:
                self.visit(child, inner)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = comprehension

    def visit_ImportFrom(self, node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
        for alias in node.names:
            if isinstance(node, ast.ImportFrom) and alias.name == "*":
                scope.star.append(node)
            else:
                self.name(bound_name(node, alias), scope, Binding("import", node, alias=alias))

    visit_Import = visit_ImportFrom

    def visit_Global(self, node: ast.Global, scope: Scope) -> None:
        scope.globals.update(node.names)

    def visit_Nonlocal(self, node: ast.Nonlocal, scope: Scope) -> None:
        scope.nonlocals.update(node.names)
        self.nonlocals += [(name, scope, node) for name in node.names]

    def visit_Assign(self, node: ast.Assign, scope: Scope) -> None:
        self.expression(node.value, scope)
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.name(target.id, scope, Binding("assign", node, node.value))
            else:
                self.target(target, scope, Binding("other", node))

    def visit_AnnAssign(self, node: ast.AnnAssign, scope: Scope) -> None:
        self.expression(node.annotation, scope)
        if node.value is not None:
            self.expression(node.value, scope)
        if isinstance(node.target, ast.Name):
            kind = "assign" if node.value is not None else "declare"
            self.name(node.target.id, scope, Binding(kind, node, node.value))
        else:
            self.target(node.target, scope, Binding("other", node))

    def visit_NamedExpr(self, node: ast.NamedExpr, scope: Scope) -> None:
        self.visit(node.value, scope)
        at = scope
        while at.kind == "comprehension" and at.parent is not None:
            at = at.parent
        self.name(node.target.id, at, Binding("other", node))

    def visit_Name(self, node: ast.Name, scope: Scope) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.name(node.id, scope, Binding("other", node))

    def visit_ExceptHandler(self, node: ast.ExceptHandler, scope: Scope) -> None:
        if node.type is not None:
            self.visit(node.type, scope)
        if node.name:
            self.name(node.name, scope, Binding("other", node))
        self.suite(node.body, scope)

    def visit_MatchAs(self, node: ast.MatchAs, scope: Scope) -> None:
        if node.name:
            self.name(node.name, scope, Binding("other", node))
        if node.pattern is not None:
            self.visit(node.pattern, scope)

    def visit_MatchStar(self, node: ast.MatchStar, scope: Scope) -> None:
        if node.name:
            self.name(node.name, scope, Binding("other", node))

    def visit_MatchMapping(self, node: ast.MatchMapping, scope: Scope) -> None:
        if node.rest:
            self.name(node.rest, scope, Binding("other", node))
        for child in inner_nodes(node):
            self.visit(child, scope)

    def target(self, node: ast.AST, scope: Scope, binding: Binding) -> None:
        if isinstance(node, ast.Name):
            self.name(node.id, scope, binding)
        elif isinstance(node, (ast.Tuple, ast.List)):
            for item in node.elts:
                self.target(item, scope, binding)
        elif isinstance(node, ast.Starred):
            self.target(node.value, scope, binding)
        else:
            self.visit(node, scope)

    def name(self, name: str, scope: Scope, binding: Binding) -> None:
        if name in scope.globals:  # a write through `global`: the module's name has one more binding
            scope.root.bind(name, Binding("other", binding.node))
        elif name not in scope.nonlocals:
            scope.bind(name, binding)


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import binds: a module, or with `name` something that is taken from it."""

    module: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class ModuleBindings:
    """The names that a module binds.

    `names`: name -> what its imports bind, or None when something else than an import binds it;
    `stars`: the absolute modules of the star imports; `covered`: name -> those of them that stand after
    the first binding of that name, and may bind it again.
    """

    names: Mapping[str, tuple[Imported, ...] | None]
    stars: tuple[str, ...]
    covered: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def imported(
    node: ast.Import | ast.ImportFrom, alias: ast.alias, absolute: Callable[[ast.ImportFrom], str]
) -> Imported:
    """What an import binds by one of its names; `absolute` gives the module of `from X import`."""
    if isinstance(node, ast.Import):
        return Imported(alias.name if alias.asname else alias.name.split(".")[0])
    return Imported(absolute(node), alias.name)


def imported_by(binding: Binding, absolute: Callable[[ast.ImportFrom], str]) -> Imported:
    """What the binding of an import refers to."""
    assert isinstance(binding.node, (ast.Import, ast.ImportFrom)) and binding.alias is not None
    return imported(binding.node, binding.alias, absolute)


def module_bindings(root: Scope, absolute: Callable[[ast.ImportFrom], str]) -> ModuleBindings:
    """What the module's scope binds."""
    names = {
        name: tuple(imported_by(b, absolute) for b in bindings)
        if all(b.kind == "import" for b in bindings)
        else None
        for name, bindings in root.names.items()
        if bindings
    }
    covered = {}
    for name, bindings in root.names.items() if root.star else ():
        first = min((getattr(b.node, "lineno", 0) for b in bindings), default=0)
        later = tuple(absolute(node) for node in root.star if node.lineno > first)
        if later:
            covered[name] = later
    return ModuleBindings(names, tuple(absolute(node) for node in root.star), covered)
