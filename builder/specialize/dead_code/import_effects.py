"""Does importing a module do anything but define its names?

An import whose names nobody reads leaves only where running the module, and what it imports in its turn,
cannot be noticed: nothing registers, writes to another module, or calls what may have an effect.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterator
from contextlib import suppress

from builder.specialize.dead_code.definition_effects import MAKE_MEMBERS, Effects
from builder.specialize.dead_code.hierarchy import INERT_BASES
from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.names import names_of
from builder.specialize.evaluating.scopes import Scope
from builder.specialize.folding.effects import repeatable
from builder.specialize.text_index.outline import imports
from builder.specialize.text_index.text_search import nodes_on
from builder.specialize.world import SpecializerWorld, Unit, question

#: Modules of the standard library that do something when they are imported.
_LOUD = frozenset(
    ["antigravity", "this", "readline", "rlcompleter", "turtle", "idlelib", "site", "sitecustomize"]
)
#: Methods of a class that are told of classes that name it as a base.
_HOOKS = frozenset(["__init_subclass__", "__class_getitem__"])
_LITERALS = (ast.Dict, ast.List, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
#: Calls that make a value, as modules do at their top level.
_MAKERS = frozenset(
    [
        "collections.OrderedDict",
        "collections.defaultdict",
        "collections.deque",
        "collections.namedtuple",
        "contextvars.ContextVar",
        "functools.partial",
        "logging.getLogger",
        "os.environ.get",
        "os.getenv",
        "os.path.abspath",
        "os.path.dirname",
        "os.path.join",
        "pathlib.Path",
        "re.compile",
        "threading.Lock",
        "threading.RLock",
        "threading.local",
        "time.time",
        "typing.NewType",
        "typing.ParamSpec",
        "typing.TypeVar",
    ]
)


@question
def import_noticed(world: SpecializerWorld, module: str, importer: str) -> bool:
    """May importing a module from another one be noticed? Packages around the importer ran before."""
    parts = module.split(".")
    if module in world.facts.quiet_imports:
        return False
    if world.is_module(module) and _taken_as_attribute(world, module, importer):
        return True
    return any(
        _noticed(world, ".".join(parts[: end + 1]))
        for end in range(len(parts))
        if not f"{importer}.".startswith(".".join(parts[: end + 1]) + ".")
    )


def _taken_as_attribute(world: SpecializerWorld, module: str, importer: str) -> bool:
    """Does another file take a submodule from its package, without importing it itself?

    Only files count that import a package around it as such, or reach modules by `sys.modules`.
    """
    package, _, last = module.rpartition(".")
    if not package:
        return False
    holders = world.words.holding([last.encode()])
    for path in sorted(holders - {world.paths.get(importer, "")}):
        outline = world.outline(path)
        if b"sys.modules" in world.files[path] and last.encode() in outline.quoted:
            return True
        if last.encode() not in outline.attributes or not _imports_package(world.files[path], module):
            continue
        unit = world.unit(path)
        evaluator = Evaluator(world, unit)
        attributes = (n for n in nodes_on(unit, last) if isinstance(n, ast.Attribute) and n.attr == last)
        if any(evaluator.qualified(node, unit.scope_of(node)) == module for node in attributes):
            return True
    return False


def _imports_package(data: bytes, module: str) -> bool:
    """Is there an `import a` or `from b import a` for a package `a` around a module, and no `import` of the
    module itself?"""
    plain: set[str] = set()
    packages = set(module.split(".")[:-1])
    for _, written, names in imports(data):
        if not names:
            plain.add(written)
        elif not packages.isdisjoint(names):
            return True
    return any(f"{module}.".startswith(f"{name}.") for name in plain) and module not in plain


def _noticed(world: SpecializerWorld, module: str) -> bool:
    quiet, parts = world.facts.quiet_imports, module.split(".")
    if any(".".join(parts[: end + 1]) in quiet for end in range(len(parts))):
        return False
    if module in world.paths:
        return world.ask("module_noticed", module)
    standard = parts[0] in sys.stdlib_module_names and parts[0] not in _LOUD
    return not (standard or world.is_module(module))


def running_anyway(world: SpecializerWorld, unit: Unit, leaving: Collection[ast.AST]) -> set[str]:
    """The modules that run too when this file is imported without the imports that leave.

    Only imports count that stand at the top of a file, in no branch; the packages around a module run first.
    """
    todo = [*_parents(unit.name), *_certain(world, unit, leaving)]
    seen = {*todo, unit.name}  # who imports this file does not make it import more
    while todo:
        name = todo.pop()
        path = world.paths.get(name)
        further = list(_parents(name))
        if path is not None:
            with suppress(SyntaxError):
                other = world.unit(path)
                further += _certain(world, other, other.leaving)
        fresh = {each for each in further if each not in seen}
        seen |= fresh
        todo += fresh
    return seen


def _parents(module: str) -> Iterator[str]:
    while "." in module:
        module = module.rpartition(".")[0]
        yield module


def _certain(world: SpecializerWorld, unit: Unit, leaving: Collection[ast.AST]) -> Iterator[str]:
    """The modules that a file imports whenever it is imported."""
    if leaving:
        staying = _top_imports(unit, leaving)
    else:
        staying = unit.told(("top imports", unit.package), lambda: _top_imports(unit, ()))
    for source, name in staying:
        if not name or world.is_module(f"{source}.{name}"):
            yield f"{source}.{name}" if name else source


def _top_imports(unit: Unit, leaving: Collection[ast.AST]) -> list[tuple[str, str]]:
    """The imports at the top of a file that stay: (module, ""), and (module, name) of each name it takes."""
    found: dict[tuple[str, str], None] = {}
    for stmt in unit.module.tree.body:
        if isinstance(stmt, ast.Import):
            found.update(((alias.name, ""), None) for alias in stmt.names if alias not in leaving)
        elif isinstance(stmt, ast.ImportFrom) and stmt not in leaving:
            source, taken = unit.absolute(stmt), [a.name for a in stmt.names if a not in leaving]
            if taken:
                found[source, ""] = None
            found.update(((source, name), None) for name in taken)
    return list(found)


@question
def module_noticed(world: SpecializerWorld, module: str) -> bool:
    """May somebody notice that a module of the tree runs?"""
    try:
        unit = world.unit(world.paths[module])
    except SyntaxError:
        return True
    return not _Module(world, unit).quiet(unit.module.tree.body)


@question
def makes_members(world: SpecializerWorld, qualified: str) -> bool:
    """Does a class, or one that it inherits from, have a method that an enumeration calls for its members?"""
    module, _, name = qualified.rpartition(".")
    path = world.paths.get(module)
    if path is None:
        return False
    unit = world.unit(path)
    evaluator = Evaluator(world, unit)
    classes = [b.node for b in unit.scopes.root.names.get(name, []) if isinstance(b.node, ast.ClassDef)]
    bases = (evaluator.qualified(base, unit.scopes.root) for node in classes for base in node.bases)
    return any(not MAKE_MEMBERS.isdisjoint(unit.scopes.of(node).names) for node in classes) or any(
        isinstance(base, str) and world.ask("makes_members", base) for base in bases
    )


@question
def notices_subclasses(world: SpecializerWorld, qualified: str) -> bool:
    """May a class do something when another one inherits from it?"""
    if qualified in INERT_BASES or qualified in world.facts.bases:
        return False
    module, _, name = qualified.rpartition(".")
    path = world.paths.get(module)
    if path is None:
        return True
    if world.ask("attribute_rebound", "__init_subclass__"):
        return True
    unit = world.unit(path)
    evaluator, bindings = Evaluator(world, unit), unit.scopes.root.names.get(name, [])
    for binding in bindings:
        node = binding.node
        if not isinstance(node, ast.ClassDef) or node.keywords:
            return True
        if not _HOOKS.isdisjoint(unit.scopes.of(node).names):
            return True
        for base in node.bases:
            plain = base.value if isinstance(base, ast.Subscript) else base
            named = evaluator.qualified(plain, unit.scopes.root)
            if not isinstance(named, str) or world.ask("notices_subclasses", named):
                return True
    return not bindings


class _Module:
    """Asks what the statements of one module do."""

    def __init__(self, world: SpecializerWorld, unit: Unit) -> None:
        self.world = world
        self.unit = unit
        self.evaluator = Evaluator(world, unit)
        self.effects = Effects(world, self.evaluator)
        self.root: Scope = unit.scopes.root

    def quiet(self, body: list[ast.stmt]) -> bool:
        return all(map(self.statement, body))

    def statement(self, stmt: ast.stmt) -> bool:
        method = getattr(self, f"_{type(stmt).__name__}", None)
        return bool(method is not None and method(stmt))

    def _Pass(self, stmt: ast.Pass) -> bool:
        return True

    def _Expr(self, stmt: ast.Expr) -> bool:
        return self.value(stmt.value) or self.fills_own(stmt.value)

    def _Assign(self, stmt: ast.Assign) -> bool:
        unpacked = any(isinstance(target, (ast.Tuple, ast.List)) for target in stmt.targets)
        if unpacked and not repeatable(self.evaluator, stmt.value, self.root):
            return False
        return all(map(self.target, stmt.targets)) and self.value(stmt.value)

    def _AugAssign(self, stmt: ast.AugAssign) -> bool:
        return self.target(stmt.target) and self.value(stmt.value) and not self.shared(stmt.target)

    def shared(self, node: ast.expr) -> bool:
        """May a target hold a collection of another module, which `+=` changes in place?"""
        return not self.holds(node, (*_LITERALS, ast.Constant, ast.JoinedStr, ast.Tuple, ast.BinOp))

    def _AnnAssign(self, stmt: ast.AnnAssign) -> bool:
        return self.target(stmt.target) and (stmt.value is None or self.value(stmt.value))

    def _If(self, stmt: ast.If) -> bool:
        if names_of(stmt.test)[:1] == ("TYPE_CHECKING",):
            return self.quiet(stmt.orelse)
        return self.value(stmt.test) and self.quiet(stmt.body) and self.quiet(stmt.orelse)

    def _Try(self, stmt: ast.Try) -> bool:
        suites = [stmt.body, stmt.orelse, stmt.finalbody, *(handler.body for handler in stmt.handlers)]
        return all(map(self.quiet, suites))

    def _Import(self, stmt: ast.Import) -> bool:
        return not any(self.world.ask("import_noticed", alias.name, self.unit.name) for alias in stmt.names)

    def _ImportFrom(self, stmt: ast.ImportFrom) -> bool:
        source = self.unit.absolute(stmt)
        if source == "__future__":
            return True
        asked = [
            source,
            *(f"{source}.{a.name}" for a in stmt.names if self.world.is_module(f"{source}.{a.name}")),
        ]
        return not any(self.world.ask("import_noticed", module, self.unit.name) for module in asked)

    def _FunctionDef(self, stmt: ast.FunctionDef) -> bool:
        return self.effects.pure(stmt, self.root)

    _AsyncFunctionDef = _FunctionDef

    def _ClassDef(self, stmt: ast.ClassDef) -> bool:
        return self.effects.pure(stmt, self.root) and not self.registers(stmt)

    def registers(self, stmt: ast.ClassDef) -> bool:
        """May a base class notice that a class inherits from it? Of the tree only those that say so do."""
        if stmt.keywords:
            return True
        for base in stmt.bases:
            named = self.evaluator.qualified(
                base.value if isinstance(base, ast.Subscript) else base, self.root
            )
            if not isinstance(named, str) or self.world.ask("notices_subclasses", named):
                return True
        return False

    def target(self, node: ast.expr) -> bool:
        """Does a store bind a name of this module, or fill a collection of its own?"""
        if isinstance(node, (ast.Tuple, ast.List)):
            return all(map(self.target, node.elts))
        if isinstance(node, ast.Subscript):
            return self.own(node.value) and self.value(node.slice)
        return isinstance(node, ast.Name)

    def own(self, node: ast.expr) -> bool:
        """Is this a collection that the module has made itself?"""
        return self.holds(node, _LITERALS)

    def holds(self, node: ast.expr, kinds: tuple[type[ast.expr], ...]) -> bool:
        """Does a name hold what expressions of these kinds made, whichever statement bound it?"""
        bindings = self.root.names.get(node.id, []) if isinstance(node, ast.Name) else []
        changed = (b for b in bindings if not isinstance(b.node, ast.AugAssign))
        return bool(bindings) and not self.root.star and all(isinstance(b.value, kinds) for b in changed)

    def fills_own(self, node: ast.expr) -> bool:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return False
        fills = node.func.attr in ("add", "append", "extend", "update", "setdefault")
        return fills and self.own(node.func.value) and all(map(self.value, node.args)) and not node.keywords

    def value(self, node: ast.expr) -> bool:
        """Has evaluating an expression no effect?"""
        if self.evaluator.pure(node, self.root):
            return True
        if isinstance(node, ast.Call):
            if self.evaluator.qualified(node.func, self.root) not in _MAKERS:
                return False
            return all(map(self.value, (*node.args, *(k.value for k in node.keywords))))
        if isinstance(node, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom, ast.Starred)):
            return False
        children = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        plain = (ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Compare, ast.Tuple, ast.List, ast.Dict,
                 ast.Set, ast.Subscript, ast.Attribute, ast.JoinedStr, ast.FormattedValue)  # fmt: skip
        return isinstance(node, plain) and all(map(self.value, children))
