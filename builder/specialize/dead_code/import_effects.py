"""Decides whether importing a module does anything but define its names.

An import whose names nobody reads leaves only where running the module, and what it imports in its turn,
cannot be noticed: nothing registers, writes to another module, or calls what may have an effect. Of an import
that stays for what its module does, `from package.module import name` becomes `import package.module`.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterator, Set
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

from builder.graph.names import packages_around
from builder.source.fields import inner_nodes
from builder.source.layout import suites
from builder.specialize.dead_code.definition_effects import Effects
from builder.specialize.dead_code.hierarchy import INERT_BASES
from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.names import names_of
from builder.specialize.evaluating.scopes import Scope
from builder.specialize.folding.effects import repeatable
from builder.specialize.rebinding import module_exposed
from builder.specialize.text_index.content import Content
from builder.specialize.text_index.text_search import DEFINITIONS, nodes_on
from builder.specialize.unit import Unit, told
from builder.specialize.world import SpecializerWorld, question

#: Modules of the standard library that do something when they are imported.
_LOUD = frozenset(
    ["antigravity", "this", "readline", "rlcompleter", "turtle", "idlelib", "site", "sitecustomize"]
)
#: Methods of a class that are told of classes that name it as a base.
_HOOKS = frozenset(["__init_subclass__", "__class_getitem__"])
#: Identifiers of files that may reach a submodule by a text.
_BY_TEXT = frozenset([b"__import__", b"getattr", b"hasattr", b"import_module", b"resolve_name"])
#: Calls that make a value, as modules do at their top level.
_MAKERS = frozenset([
    "collections.OrderedDict", "collections.defaultdict", "collections.deque", "collections.namedtuple",
    "contextvars.ContextVar", "functools.partial", "logging.getLogger", "os.environ.get", "os.getenv",
    "os.path.abspath", "os.path.dirname", "os.path.join", "pathlib.Path", "re.compile", "threading.Lock",
    "threading.RLock", "threading.local", "time.time", "typing.NewType", "typing.ParamSpec",
    "typing.TypeVar",
])  # fmt: skip


#: Functions that read every name of a module or a function, also one that an import adds.
_READ_ALL = (b"dir", b"eval", b"exec", b"globals", b"locals", b"vars")
#: Submodules that run before every program does.
_EARLY = frozenset(["collections.abc", "os.path"])


@question
def import_noticed(world: SpecializerWorld, module: str, importer: str) -> bool:
    """Return whether importing a module from another one may be noticed."""
    return any(run_by_import(world, module, importer))


def run_by_import(world: SpecializerWorld, module: str, importer: str) -> Iterator[str]:
    """The module and the packages around it, as far as somebody may notice that an import runs them.

    Packages around the importer ran before.
    """
    quiet = module in world.facts.quiet_imports
    for each in (module, *packages_around(module)):
        if f"{importer}.".startswith(f"{each}."):
            continue
        if (not quiet and _noticed(world, each)) or _reached_without_import(world, each, importer):
            yield each


def _reached_without_import(world: SpecializerWorld, module: str, importer: str) -> bool:
    """Return whether a file takes a submodule from its package, or from `sys.modules`, without importing
    it itself."""
    package = module.rpartition(".")[0]
    if not package or module in _EARLY:
        return False
    if module_exposed(world, package):
        return True  # who gets the package may take it
    own = world.paths.get(importer)
    return any(path != own for path in _reaching(world, module)) or (
        own is not None and _reaches(world, own, module, True)
    )


def _reaching(world: SpecializerWorld, module: str) -> tuple[str, ...]:
    """Two of the files that take a submodule so, if there are as many."""
    known: tuple[str, ...] | None = world.derived.get(("reaching", module))
    if known is None:
        holders = world.words.holders(module.rpartition(".")[2].encode())
        known = tuple(islice((path for path in holders if _reaches(world, path, module, False)), 2))
        world.derived["reaching", module] = known
    return known


def _reaches(world: SpecializerWorld, path: str, module: str, own: bool) -> bool:
    """Return whether a file takes a submodule from its package, or from `sys.modules`.

    `own`: the file is the one whose import of the submodule leaves, so that this import does not count.
    """
    package, _, last = module.rpartition(".")
    data, content = world.files[path], world.content(path)
    quoted, attribute = last.encode() in content.quoted, last.encode() in content.attributes
    if quoted and not own and b"sys.modules" in data:
        return True
    inside = path == world.paths.get(package) or _takes_all(world, path, package)
    if inside and _reads_as_global(world.unit(path), last):
        return True
    if not (quoted or attribute) or not _imports_package(content, module):
        return False
    if not own and _imports_at_the_top(content, module):
        return False
    return bool(quoted and world.words.of(path).keys() & _BY_TEXT) or (
        attribute and _reads_attribute(world, path, module)
    )


def _takes_all(world: SpecializerWorld, path: str, package: str) -> bool:
    unit = world.unit(path) if "*" in world.content(path).imported else None
    return unit is not None and any(unit.absolute(star) == package for star in unit.scopes.root.star)


def _reads_as_global(unit: Unit, name: str) -> bool:
    """Return whether a file reads a global that none of its statements binds."""
    if name in unit.scopes.root.names:
        return False
    reads = (node for node in nodes_on(unit, name) if isinstance(node, ast.Name) and node.id == name)
    return any(unit.scope_of(node).find(name) is None for node in reads)


def _reads_attribute(world: SpecializerWorld, path: str, module: str) -> bool:
    unit, last = world.unit(path), module.rpartition(".")[2]
    evaluator = Evaluator(world, unit)
    attributes = (n for n in nodes_on(unit, last) if isinstance(n, ast.Attribute) and n.attr == last)
    return any(evaluator.qualified(node, unit.scope_of(node)) == module for node in attributes)


def _imports_package(content: Content, module: str) -> bool:
    """Return whether there is an `import a` or `from b import a` for a package `a` around a module."""
    packages = {name.rpartition(".")[2] for name in packages_around(module)}
    return any(
        not packages.isdisjoint(names) if names else f"{module}.".startswith(f"{written}.")
        for _, written, names in content.statements
    )


def _imports_at_the_top(content: Content, module: str) -> bool:
    """Return whether a file imports a module, in no branch and in no function."""
    package, _, last = module.rpartition(".")
    return any(
        (written == module or (written == package and last in names))
        and content.data[offset : offset + 1].isalpha()
        for offset, written, names in content.statements
    )


def _noticed(world: SpecializerWorld, module: str) -> bool:
    if not world.facts.quiet_imports.isdisjoint((module, *packages_around(module))):
        return False
    if module in world.paths:
        return module_noticed(world, module)
    first = module.partition(".")[0]
    standard = first in sys.stdlib_module_names and first not in _LOUD
    return not (standard or world.is_module(module))


def imported_before(
    world: SpecializerWorld,
    unit: Unit,
    stmt: ast.stmt,
    leaving: Collection[ast.AST],
    asked: Collection[str],
) -> bool:
    """Return whether the modules `asked` for began to run for certain before this file comes to a statement.

    Such modules are the packages around the file, what the imports above the statement import that stay,
    and what such modules import in their turn. Only imports count that stand at the top of a file, in no
    branch. A module that leads to this file may have come no further than to the import by which it does.
    """
    leading = world.links.leading_to(unit.name)
    todo = [unit.name]
    seen = {unit.name}
    while todo and not seen.issuperset(asked):
        name = todo.pop()
        further = list(packages_around(name))
        if name == unit.name:
            further += _imported(world, _imports_before(unit, leaving, unit.top_statement(stmt)), frozenset())
        elif name in world.paths:
            with suppress(SyntaxError):
                other = world.unit(world.paths[name])
                further += _imported(world, _imports(other), leading.difference([name, *further]))
        fresh = [each for each in dict.fromkeys(further) if each not in seen]
        seen.update(fresh)
        todo += fresh
    return seen.issuperset(asked)


class _Import(NamedTuple):
    """A module that runs, or began to run, where an import statement does.

    package  the package from which it is taken as a name; "" if it is named itself
    certain  the statement stands at the top of the file, in no branch
    """

    module: str
    package: str
    certain: bool


@told
def _imports(unit: Unit) -> list[_Import]:
    """What a file imports while it is imported, in this order."""
    return _imports_before(unit, unit.leaving, None)


def _imports_before(unit: Unit, leaving: Collection[ast.AST], last: ast.AST | None) -> list[_Import]:
    """What a file imports while it is imported, in this order, and above a statement at its top."""
    found: list[_Import] = []
    for top in unit.module.tree.body:
        if top is last:
            break
        for stmt in _outside_functions(top):
            taken = [alias.name for alias in stmt.names if alias not in leaving and stmt not in leaving]
            if isinstance(stmt, ast.Import):
                found += (_Import(name, "", stmt is top) for name in taken)
            elif taken or stmt in unit.running:
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
        if not each.certain:
            continue
        if not each.package or _is_submodule(world, each.package, each.module):
            yield each.module


def _is_submodule(world: SpecializerWorld, package: str, module: str) -> bool:
    """Return whether `from package import name` imports a submodule: the package has nothing of that name."""
    name = module.removeprefix(f"{package}.")
    return (
        world.is_module(module)
        and not world.defines(package, name)
        and not world.defines(package, "__getattr__")
    )


def submodules(world: SpecializerWorld, package: str, name: str) -> list[str]:
    """The submodules that `from package import name` may import."""
    if name != "*":
        return [f"{package}.{name}"] if world.is_module(f"{package}.{name}") else []
    path = world.paths.get(package, "")
    listed = path.endswith("/__init__.py") and b"__all__" in world.files[path]
    inside = (each for each in world.paths if listed and each.rpartition(".")[0] == package)
    return [each for each in inside if each.rpartition(".")[2].encode() in world.content(path).quoted]


def modules_run(world: SpecializerWorld, unit: Unit, stmt: ast.Import | ast.ImportFrom) -> list[str] | None:
    """The modules that an import runs; None where a module makes what is taken from it."""
    if isinstance(stmt, ast.Import):
        return [alias.name for alias in stmt.names]
    source = unit.absolute(stmt)
    if any(is_made(world, source, alias.name) for alias in stmt.names):
        return None
    return [source, *(each for alias in stmt.names for each in submodules(world, source, alias.name))]


def is_made(world: SpecializerWorld, module: str, name: str) -> bool:
    """Return whether a module's `__getattr__` makes what is imported from it."""
    if module not in world.paths or world.is_module(f"{module}.{name}"):
        return False
    return world.defines(module, "__getattr__") and (name == "*" or not world.defines(module, name))


def may_name_only(world: SpecializerWorld, unit: Unit, stmt: ast.ImportFrom) -> bool:
    """Return whether an import may take no names, and only run its module.

    `import package.module` binds `package`, which nobody may notice.
    """
    source = unit.absolute(stmt)
    if source not in world.paths or not _may_bind(world, unit, source.partition(".")[0]):
        return False
    if _is_in_class(unit, stmt):
        return False
    return not any(
        alias.name == "*" or submodules(world, source, alias.name) or is_made(world, source, alias.name)
        for alias in stmt.names
    )


def _may_bind(world: SpecializerWorld, unit: Unit, package: str) -> bool:
    """Return whether a file can bind the name of a package, so that neither it nor another file notices."""
    if any(world.words.of(unit.path)[name] for name in _READ_ALL):
        return False
    taken = world.links.stars(unit.name) or world.links.takers(unit.name, package)
    if taken or world.is_module(f"{unit.name}.{package}") or world.defines(unit.name, "__getattr__"):
        return False
    return not _uses(unit, package)


@told
def _uses(unit: Unit, name: str) -> bool:
    """Return whether a file uses a name other than in the path of an import."""
    for node in nodes_on(unit, name):
        if isinstance(node, ast.alias):
            if name in (node.asname, node.name):
                return True
        elif isinstance(node, ast.Call):
            asked = names_of(node.func)[:1] in (("getattr",), ("hasattr",))
            if asked and any(getattr(argument, "value", None) == name for argument in node.args):
                return True
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            if name in node.names:
                return True
        elif name in (getattr(node, part, None) for part in ("id", "arg", "name", "rest")):
            return True
    return False


def _is_in_class(unit: Unit, stmt: ast.stmt) -> bool:
    around = (at for _, at in unit.around(stmt) if isinstance(at, DEFINITIONS))
    return isinstance(next(around, None), ast.ClassDef)


@question
def module_noticed(world: SpecializerWorld, module: str) -> bool:
    """Return whether somebody may notice that a module of the tree runs."""
    try:
        unit = world.unit(world.paths[module])
    except SyntaxError:
        return True
    return not _Module(world, unit).quiet(unit.module.tree.body)


@question
def notices_subclasses(world: SpecializerWorld, qualified: str) -> bool:
    """Return whether a class may do something when another one inherits from it."""
    if qualified in INERT_BASES or qualified in world.facts.bases:
        return False
    unit, bindings = world.home(qualified)
    if unit is None or world.words.holders(b"__subclasses__"):
        return True
    evaluator = Evaluator(world, unit)
    for binding in bindings:
        node = binding.node
        if not isinstance(node, ast.ClassDef) or node.keywords:
            return True
        if not _HOOKS.isdisjoint(unit.scopes.of(node).names):
            return True
        for base in node.bases:
            plain = base.value if isinstance(base, ast.Subscript) else base
            named = evaluator.qualified(plain, unit.scopes.root)
            if not isinstance(named, str) or notices_subclasses(world, named):
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
        return self.value(stmt.value)

    def _Assign(self, stmt: ast.Assign) -> bool:
        unpacked = any(isinstance(target, (ast.Tuple, ast.List)) for target in stmt.targets)
        if unpacked and not repeatable(self.evaluator, stmt.value, self.root):
            return False
        return all(map(self.target, stmt.targets)) and self.value(stmt.value)

    def _AnnAssign(self, stmt: ast.AnnAssign) -> bool:
        return self.target(stmt.target) and (stmt.value is None or self.value(stmt.value))

    def _If(self, stmt: ast.If) -> bool:
        if names_of(stmt.test)[:1] == ("TYPE_CHECKING",):
            return self.quiet(stmt.orelse)
        return self.value(stmt.test) and self.quiet(stmt.body) and self.quiet(stmt.orelse)

    def _Try(self, stmt: ast.Try) -> bool:
        suites = [stmt.body, stmt.orelse, stmt.finalbody, *(handler.body for handler in stmt.handlers)]
        return all(map(self.quiet, suites))

    def _Import(self, stmt: ast.Import | ast.ImportFrom) -> bool:
        asked = modules_run(self.world, self.unit, stmt)
        return asked is not None and not any(
            import_noticed(self.world, module, self.unit.name) for module in asked
        )

    _ImportFrom = _Import

    def _FunctionDef(self, stmt: ast.FunctionDef) -> bool:
        return self.effects.pure(stmt, self.root)

    _AsyncFunctionDef = _FunctionDef

    def _ClassDef(self, stmt: ast.ClassDef) -> bool:
        return self.effects.pure(stmt, self.root) and not self.registers(stmt)

    def registers(self, stmt: ast.ClassDef) -> bool:
        """Return whether a base class may notice that a class inherits from it. Of the tree only those that
        say so do."""
        if stmt.keywords:
            return True
        for base in stmt.bases:
            named = self.evaluator.qualified(
                base.value if isinstance(base, ast.Subscript) else base, self.root
            )
            if not isinstance(named, str) or notices_subclasses(self.world, named):
                return True
        return False

    def target(self, node: ast.expr) -> bool:
        """Return whether a store binds names of this module."""
        if isinstance(node, (ast.Tuple, ast.List)):
            return all(map(self.target, node.elts))
        return isinstance(node, ast.Name)

    def value(self, node: ast.expr) -> bool:
        """Return whether evaluating an expression has no effect."""
        if self.evaluator.pure(node, self.root):
            return True
        if isinstance(node, ast.Call):
            if self.evaluator.qualified(node.func, self.root) not in _MAKERS:
                return False
            return all(map(self.value, (*node.args, *(k.value for k in node.keywords))))
        if isinstance(node, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom, ast.Starred)):
            return False
        children = [child for child in inner_nodes(node) if isinstance(child, ast.expr)]
        plain = (ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Compare, ast.Tuple, ast.List, ast.Dict,
                 ast.Set, ast.Subscript, ast.Attribute, ast.JoinedStr, ast.FormattedValue)  # fmt: skip
        return isinstance(node, plain) and all(map(self.value, children))
