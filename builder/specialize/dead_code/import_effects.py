"""Does importing a module do anything but define its names?

An import whose names nobody reads leaves only where running the module, and what it imports in its turn,
cannot be noticed: nothing registers, writes to another module, or calls what may have an effect.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterator, Set
from contextlib import suppress
from typing import NamedTuple

from builder.graph.names import packages_around
from builder.source.layout import suites
from builder.specialize.dead_code.definition_effects import Effects
from builder.specialize.dead_code.hierarchy import INERT_BASES
from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.names import names_of
from builder.specialize.evaluating.scopes import Scope
from builder.specialize.text_index.import_index import ImportIndex
from builder.specialize.text_index.outline import imports
from builder.specialize.text_index.text_search import nodes_on
from builder.specialize.world import SpecializerWorld, Unit, question

#: Modules of the standard library that do something when they are imported.
_LOUD = frozenset(
    ["antigravity", "this", "readline", "rlcompleter", "turtle", "idlelib", "site", "sitecustomize"]
)
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
    """Does a file take a submodule from its package, without importing it itself?

    Only files count that import a package around it as such, or reach modules by `sys.modules`; the latter
    does not count in the importer.
    """
    package, _, last = module.rpartition(".")
    if not package:
        return False
    holders = world.words.holding([last.encode()])
    for path in sorted(holders):
        outline = world.outline(path)
        if (
            path != world.paths.get(importer)
            and b"sys.modules" in world.files[path]
            and last.encode() in outline.quoted
        ):
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


def imported_before(
    world: SpecializerWorld, links: ImportIndex, unit: Unit, stmt: ast.stmt, leaving: Collection[ast.AST]
) -> set[str]:
    """The modules that began to run for certain before this file comes to a statement.

    These are the packages around the file, what the imports above the statement import that stay, and what
    such modules import in their turn. Only imports count that stand at the top of a file, in no branch. A
    module that leads to this file may have come no further than to the import by which it does.
    """
    leading = links.leading_to(unit.name)
    while unit.module.parents.get(stmt) is not unit.module.tree:
        stmt = unit.module.parents[stmt]  # type: ignore[assignment]
    todo = [unit.name]
    seen = {unit.name}
    while todo:
        name = todo.pop()
        further = list(packages_around(name))
        if name == unit.name:
            further += _imported(world, _imports(unit, leaving, stmt), frozenset())
        elif name in world.paths:
            with suppress(SyntaxError):
                other = world.unit(world.paths[name])
                further += _imported(world, _imports_of(other), leading.difference([name, *further]))
        fresh = [each for each in dict.fromkeys(further) if each not in seen]
        seen.update(fresh)
        todo += fresh
    return seen


class _Import(NamedTuple):
    """A module that runs, or began to run, where an import statement does.

    package  the package from which it is taken as a name; "" if it is named itself
    certain  the statement stands at the top of the file, in no branch
    """

    module: str
    package: str
    certain: bool


def _imports_of(unit: Unit) -> list[_Import]:
    return unit.told(("imports", unit.package), lambda: _imports(unit, unit.leaving))


def _imports(unit: Unit, leaving: Collection[ast.AST], last: ast.stmt | None = None) -> list[_Import]:
    """What a file imports while it is imported, in this order, and above a statement at its top."""
    found: list[_Import] = []
    for top in unit.module.tree.body:
        if top is last:
            break
        for stmt in _outside_functions(top):
            taken = [alias.name for alias in stmt.names if alias not in leaving and stmt not in leaving]
            if isinstance(stmt, ast.Import):
                found += (_Import(name, "", stmt is top) for name in taken)
            elif taken:
                source = unit.absolute(stmt)
                found.append(_Import(source, "", stmt is top))
                found += (_Import(f"{source}.{name}", source, stmt is top) for name in taken)
    return found


def _outside_functions(stmt: ast.stmt) -> Iterator[ast.Import | ast.ImportFrom]:
    if isinstance(stmt, (ast.Import, ast.ImportFrom)):
        yield stmt
    elif not isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef)):
        for suite in suites(stmt):
            for inner in suite:
                yield from _outside_functions(inner)


def _imported(world: SpecializerWorld, imports: list[_Import], leading: Set[str]) -> Iterator[str]:
    """The modules that run for certain, up to the first import of one that leads back."""
    for each in imports:
        if leading and not leading.isdisjoint((each.module, *packages_around(each.module))):
            return
        if each.certain and (not each.package or _is_submodule(world, each.package, each.module)):
            yield each.module


def _is_submodule(world: SpecializerWorld, package: str, module: str) -> bool:
    """Does `from package import name` import a submodule? Not if the package has something of that name."""
    name = module.removeprefix(f"{package}.")
    return (
        world.is_module(module)
        and not world.defines(package, name)
        and not world.defines(package, "__getattr__")
    )


@question
def module_noticed(world: SpecializerWorld, module: str) -> bool:
    """May somebody notice that a module of the tree runs?"""
    try:
        unit = world.unit(world.paths[module])
    except SyntaxError:
        return True
    return not _Module(world, unit).quiet(unit.module.tree.body)


@question
def notices_subclasses(world: SpecializerWorld, qualified: str) -> bool:
    """May a class do something when another one inherits from it?"""
    if qualified in INERT_BASES or qualified in world.facts.bases:
        return False
    module, _, name = qualified.rpartition(".")
    path = world.paths.get(module)
    if path is None:
        return True
    unit = world.unit(path)
    evaluator, bindings = Evaluator(world, unit), unit.scopes.root.names.get(name, [])
    for binding in bindings:
        node = binding.node
        if not isinstance(node, ast.ClassDef) or node.keywords:
            return True
        told = ("__init_subclass__", "__class_getitem__")
        if any(getattr(stmt, "name", "") in told for stmt in node.body):
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
        return all(map(self.target, stmt.targets)) and self.value(stmt.value)

    def _AugAssign(self, stmt: ast.AugAssign) -> bool:
        return self.target(stmt.target) and self.value(stmt.value) and not self.shared(stmt.target)

    def shared(self, node: ast.expr) -> bool:
        """May a name hold a collection of another module, which `+=` changes in place?"""
        made = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.BoolOp, ast.IfExp)
        bindings = self.root.names.get(node.id, []) if isinstance(node, ast.Name) else []
        return any(b.kind == "import" or isinstance(b.value, made) for b in bindings)

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
        bindings = self.root.names.get(node.id, []) if isinstance(node, ast.Name) else []
        literals = (ast.Dict, ast.List, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
        return bool(bindings) and all(isinstance(b.value, literals) for b in bindings)

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
