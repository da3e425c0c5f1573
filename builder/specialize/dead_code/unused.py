"""Imports and local constants that only what we took away did read."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec

from builder.source.fields import bound_name, nodes
from builder.source.layout import suites
from builder.specialize.dead_code.import_effects import (
    import_noticed,
    imported_before,
    is_made,
    may_name_only,
    run_by_import,
    submodules,
)
from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.names import names_in_class
from builder.specialize.folding.flow import catches
from builder.specialize.folding.imports import suppressed
from builder.specialize.text_index.content import Content
from builder.specialize.text_index.text_search import (
    DEFINITIONS,
    lines_with,
    loads,
    loads_within,
    nodes_on,
)
from builder.specialize.unit import Unit, once, told
from builder.specialize.world import SpecializerWorld


@dataclass(frozen=True, slots=True)
class Bound:
    """A name that an import statement binds."""

    name: str
    node: ast.Import | ast.ImportFrom
    index: int
    public: bool  # bound at module level, where other files may take it


class Unused:
    """What is no longer read in edited files. Answers about one file are kept with its content."""

    def __init__(self, before: Callable[[str], Unit | None]) -> None:
        """`before`: the file as upstream has it; None when upstream lacks it."""
        self._before = before
        #: path -> (line, name) of imports that nobody reads and that stay, since their modules do more
        self.kept: dict[str, set[tuple[int, str]]] = {}
        #: path -> modules of which nothing is taken any more, and which still run
        self.named_only: dict[str, set[str]] = {}
        #: path -> an import's name that is read, and whether it is public -> how often the name occurs
        self._read: dict[str, dict[tuple[str, bool], int]] = {}

    def imports(self, world: SpecializerWorld, unit: Unit) -> tuple[list[Bound], list[Bound]]:
        """Imported names that nobody reads any more, though upstream's file read them: those that leave, and
        those that leave while the import of their module stays."""
        unread = [
            bound
            for bound in self._unread_in(world, unit)
            if bound.node.names[bound.index] not in unit.leaving
            and not (bound.public and self._taken_elsewhere(world, unit, bound.name))
        ]
        leaving = list(unnoticed(world, unit, unread))
        staying = [bound for bound in unread if bound not in leaving]
        self.kept[unit.path] = {(b.node.lineno, b.name) for b in staying} | self._named_only_in(unit)
        return leaving, [b for b in staying if self._may_name_only(world, unit, b, staying)]

    def _may_name_only(self, world: SpecializerWorld, unit: Unit, bound: Bound, staying: list[Bound]) -> bool:
        """Return whether an import that stays for what its module does may take none of its names."""
        if not isinstance(bound.node, ast.ImportFrom) or _is_tried(world, unit, bound.node):
            return False
        unread = {each.node.names[each.index] for each in staying if each.node is bound.node}
        if not (unread | unit.leaving).issuperset(bound.node.names):
            return False
        return may_name_only(world, unit, bound.node)

    def _named_only_in(self, unit: Unit) -> set[tuple[int, str]]:
        """Line and module of each import that took names in upstream's file and takes none now."""
        modules = self.named_only.get(unit.path, ())
        return {
            (node.lineno, alias.name)
            for node in (nodes_on(unit, "import") if modules else ())
            if isinstance(node, ast.Import)
            for alias in node.names
            if alias.name in modules
        }

    def _unread_in(self, world: SpecializerWorld, unit: Unit) -> list[Bound]:
        before = self._before(unit.path)
        if before is None:
            return []
        exact = (name for name, known in world.facts.predicates.items() if known.exact)
        counts = world.words.of(unit.path)
        predicates = {last for name in exact if (last := name.rpartition(".")[2]).encode() in counts}

        numbers = unit.told(
            ("unread imports", before.content.digest, tuple(sorted(predicates))),
            lambda: list(self._unread(unit, before, counts, predicates)),
        )
        return [imports_of(unit)[number] for number in numbers]

    def _unread(
        self, unit: Unit, before: Unit, counts: Mapping[bytes, int], predicates: set[str]
    ) -> Iterator[int]:
        """The numbers of those among the imports of a file. `counts`: how often it holds each word."""
        read = self._read.setdefault(unit.path, {})
        for number, bound in enumerate(imports_of(unit)):
            name, asked = bound.name, (bound.name, bound.public)
            count = counts[name.encode()]
            if read.get(asked) == count:
                continue  # edits only take occurrences away, and none of this name was taken
            if _read_in_class(unit, name) or (
                loads(unit, name) and not (bound.public and _shadowed(unit, name))
            ):
                read[asked] = count
            # a predicate that the facts decide has no use left, whether or not upstream used it here
            elif (bound.node.names[bound.index].name in predicates or loads(before, name)) and not _is_listed(
                unit, bound.node
            ):
                yield number

    def _taken_elsewhere(self, world: SpecializerWorld, unit: Unit, name: str) -> bool:
        """Return whether another file takes this name from here, or from a module that star-imports this
        one."""
        todo, seen = [unit.path], {unit.path}
        encoded = name.encode()
        holders = [p for p in world.words.holders(encoded) if p != unit.path]
        if _asks_itself(world, unit, name) or world.words.holding(names_in_class(name)):
            return True
        while todo:
            source = todo.pop()
            module = world.names[source]
            folder, last = source.rpartition("/")[0], module.rpartition(".")[2].encode()
            stars = world.links.stars(module)
            imports = world.links.takers(module, name) | stars
            naming = world.words.holding([last, b"__module__"])
            for path in holders:
                near = path in naming or path.rpartition("/")[0] == folder
                asks = path in imports or (near and _may_ask_for(world.content(path), encoded))
                if asks and takes(world.unit(path), module, name):
                    return True
                if takes_attribute(world, path, module, name):
                    return True
            further = stars - seen
            seen |= further
            todo.extend(sorted(further))
        return False

    def locals(self, unit: Unit) -> list[ast.stmt]:
        """Assignments of a constant, or of a list of constants, to a local that nobody reads, though
        upstream's function did."""
        before = self._before(unit.path)
        if before is None:
            return []
        asked = "unread locals", before.content.digest
        numbers = unit.told(asked, lambda: list(self._unread_locals(unit, before)))
        found = (constants_of(unit)[number][1] for number in numbers)
        return [stmt for stmt in found if stmt not in unit.leaving]

    def _unread_locals(self, unit: Unit, before: Unit) -> Iterator[int]:
        """The numbers of those among the constants of a file."""
        for number, (function, _, name) in enumerate(constants_of(unit)):
            if (
                loads_within(unit, name, function)
                or _read_in_class(unit, name)
                or _reads_all(unit, function)
                or not _was_read(before, function.name, name)
            ):
                continue
            scope = unit.scopes.of(function)
            bindings = scope.names.get(name, [])
            if name not in scope.outer and len(bindings) == 1 and bindings[0].kind == "assign":
                yield number


def unnoticed(world: SpecializerWorld, unit: Unit, unread: Sequence[Bound]) -> Iterator[Bound]:
    """Those of the imported names that may leave: every module runs as before, or nobody notices."""
    unread = [bound for bound in unread if not _is_tried(world, unit, bound.node)]
    leaving = {bound.node.names[bound.index] for bound in unread} | unit.leaving
    for bound in unread:
        alias = bound.node.names[bound.index]
        if isinstance(bound.node, ast.Import):
            asked = [alias.name]
        else:
            source = unit.absolute(bound.node)
            if is_made(world, source, alias.name):
                continue
            whole = leaving.issuperset(bound.node.names)
            asked = [source] if whole else []
            asked += submodules(world, source, alias.name)
            if _is_standard_module(f"{source}.{alias.name}"):
                asked.append(f"{source}.{alias.name}")
        noticed = [
            each
            for module in asked
            if import_noticed(world, module, unit.name)
            for each in run_by_import(world, module, unit.name)
        ]
        if (
            not noticed
            or never_runs(unit, bound.node)
            or imported_before(world, unit, bound.node, leaving, noticed)
        ):
            yield bound


@cache
def _is_standard_module(name: str) -> bool:
    """Return whether the standard library has a module below one of its packages: `xml.sax`."""
    if name.partition(".")[0] not in sys.stdlib_module_names:
        return False
    try:
        return find_spec(name) is not None
    except ImportError:  # what is before the last dot is no package
        return False


def _is_tried(world: SpecializerWorld, unit: Unit, stmt: ast.stmt) -> bool:
    """Return whether the program asks by this import whether the module is there."""
    for below, at in unit.around(stmt):
        if isinstance(at, DEFINITIONS):
            break
        if isinstance(at, (ast.With, ast.AsyncWith)):
            handlers = suppressed(Evaluator(world, unit), at, unit.scope_of(at))
        else:
            handlers = getattr(at, "handlers", []) if below in getattr(at, "body", ()) else []
        if any(catches(handler, ImportError) is not False for handler in handlers):
            return True
    return False


def never_runs(unit: Unit, stmt: ast.stmt) -> bool:
    """Return whether a statement is for type checkers only."""
    return any(
        isinstance(at, ast.If) and below in at.body and getattr(at.test, "id", "") == "TYPE_CHECKING"
        for below, at in unit.around(stmt)
    )


def typing_only(unit: Unit) -> list[ast.If]:
    """Each `if TYPE_CHECKING:` of the module whose imports all leave."""
    return [
        stmt
        for stmt in unit.module.tree.body
        if isinstance(stmt, ast.If)
        and not stmt.orelse
        and isinstance(stmt.test, ast.Name)
        and stmt.test.id == "TYPE_CHECKING"
        and stmt.body[0].lineno > (stmt.test.end_lineno or stmt.lineno)
        and all(
            isinstance(inner, (ast.Import, ast.ImportFrom)) and unit.leaving.issuperset(inner.names)
            for inner in stmt.body
        )
    ]


def _shadowed(unit: Unit, name: str) -> bool:
    """Return whether every function that reads a name of the module imports its own."""
    if name not in _inner_imports(unit):
        return False
    for node in nodes_on(unit, name):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and name in node.value:
            return False
        if not isinstance(node, ast.Name) or node.id != name or isinstance(node.ctx, ast.Store):
            continue
        around = (at for below, at in unit.around(node) if isinstance(at, Function) and below in at.body)
        function = next(around, None)
        owner = unit.scopes.of(function).find(name) if function is not None else None
        if owner is None or owner.kind == "module":
            return False
    return True


@once
def _inner_imports(unit: Unit) -> frozenset[str]:
    """The names that imports of functions bind."""
    return frozenset(bound.name for bound in imports_of(unit) if not bound.public)


@once
def imports_of(unit: Unit) -> list[Bound]:
    """Every name that an import of the file binds, at any depth."""
    return list(imported(unit.module.tree.body))


def imported(body: Iterable[ast.stmt], public: bool = True) -> Iterator[Bound]:
    """Every name that an import binds, at any depth; `__future__` and star imports are left out."""
    for stmt in body:
        if isinstance(stmt, (ast.Import, ast.ImportFrom)):
            future = isinstance(stmt, ast.ImportFrom) and stmt.module == "__future__" and not stmt.level
            for index, alias in enumerate(() if future else stmt.names):
                if alias.name != "*":
                    yield Bound(bound_name(stmt, alias), stmt, index, public)
        else:
            inner = public and not isinstance(stmt, DEFINITIONS)
            found = [bound for suite in suites(stmt) for bound in imported(suite, inner)]
            shared = _declared_global(stmt) if found else ()
            yield from (replace(bound, public=True) if bound.name in shared else bound for bound in found)


def _declared_global(stmt: ast.stmt) -> set[str]:
    """The names that a function declares global itself."""
    if not isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return set()
    return {name for each in _statements_in(stmt) if isinstance(each, ast.Global) for name in each.names}


def _statements_in(stmt: ast.stmt) -> Iterator[ast.stmt]:
    for suite in suites(stmt):
        for inner in suite:
            yield inner
            yield from _statements_in(inner)


Function = ast.FunctionDef | ast.AsyncFunctionDef


@once
def constants_of(unit: Unit) -> list[tuple[Function, ast.stmt, str]]:
    """What `constants` finds in the file."""
    return list(constants(unit.module.tree.body, None))


def constants(
    body: Iterable[ast.stmt], function: Function | None
) -> Iterator[tuple[Function, ast.stmt, str]]:
    """(function, statement, name) of every `name = <constant>` in a function, of every `name = [<constants>]`
    and the like, and of every `name = other and False`, which is what a folded condition leaves."""
    for stmt in body:
        if isinstance(stmt, (ast.Assign, ast.AnnAssign)):
            targets = stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target]
            decided = stmt.value is not None and _is_decided(stmt.value)
            if function is not None and decided and len(targets) == 1 and isinstance(targets[0], ast.Name):
                yield function, stmt, targets[0].id
        elif isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from constants(stmt.body, stmt)
        elif isinstance(stmt, ast.ClassDef):
            yield from constants(stmt.body, None)
        else:
            for suite in suites(stmt):
                yield from constants(suite, function)


def _is_decided(value: ast.expr) -> bool:
    """Return whether it is a constant, a list, tuple, set or dict of such, or a condition of names and of a
    constant that decides it."""
    if isinstance(value, (ast.List, ast.Tuple)):
        return all(map(_is_decided, value.elts))
    if isinstance(value, ast.Set):  # the members must have a hash
        return all(isinstance(member, ast.Constant) for member in value.elts)
    if isinstance(value, ast.Dict):
        constant = all(isinstance(key, ast.Constant) for key in value.keys)
        return constant and all(map(_is_decided, value.values))
    if not isinstance(value, ast.BoolOp):
        return isinstance(value, ast.Constant)
    stop = isinstance(value.op, ast.Or)
    return all(isinstance(operand, (ast.Name, ast.Constant)) for operand in value.values) and any(
        isinstance(operand, ast.Constant) and operand.value is stop for operand in value.values
    )


def _read_in_class(unit: Unit, name: str) -> bool:
    """Return whether a file may read a name by what stands for it in a class."""
    return any(loads(unit, short.decode()) for short in names_in_class(name))


def _is_listed(unit: Unit, stmt: ast.stmt) -> bool:
    """Return whether a statement is in a function that reads its locals by no name."""
    function = next((at for _, at in unit.around(stmt) if isinstance(at, Function)), None)
    return function is not None and _reads_all(unit, function)


def _reads_all(unit: Unit, function: Function) -> bool:
    """Return whether a function reads its locals by no name."""
    if not lines_with(unit, [b"dir", b"eval", b"exec", b"locals", b"vars"], function):
        return False
    calls = (node for node in nodes(function) if isinstance(node, ast.Call) and node.args)
    of_an_object = {call.func for call in calls if getattr(call.func, "id", "") in ("dir", "vars")}
    return any(
        isinstance(node, ast.Name)
        and node.id in ("dir", "eval", "exec", "locals", "vars")
        and node not in of_an_object
        for node in nodes(function)
    )


@told
def _was_read(before: Unit, function: str, name: str) -> bool:
    """Return whether upstream's function of this name read the local."""
    return any(
        isinstance(node, Function) and node.name == function and loads_within(before, name, node)
        for node in nodes_on(before, name)
    )


def _may_ask_for(content: Content, name: bytes) -> bool:
    """Return whether a name is an attribute of something in a file, or a text such as "name" or
    "package.module:name"."""
    return name in content.attributes or name in content.quoted or name in content.last_quoted


def _asks_itself(world: SpecializerWorld, unit: Unit, name: str) -> bool:
    """Return whether a file looks a global of its own up as an attribute of its module object."""
    if b"sys.modules" not in world.files[unit.path]:
        return False
    content = world.content(unit.path)
    return name.encode() in content.attributes or name.encode() in content.quoted


@told
def takes(unit: Unit, module: str, name: str) -> bool:
    """Return whether a file takes `name` from `module`: by import, star import, as an attribute, or by a
    text."""
    last = module.rpartition(".")[2]
    for node in nodes_on(unit, name):
        if isinstance(node, ast.ImportFrom):
            taken = any(a.name == name and a not in unit.leaving for a in node.names)
            if taken and unit.absolute(node) == module:
                return True
        elif isinstance(node, ast.Attribute):
            if node.attr == name and (
                last in _called(unit, node.value) or _is_loaded(unit, node.value, module)
            ):
                return True
        elif isinstance(node, ast.Constant) and _looks_up(unit, node, name):
            return True
    return any(unit.absolute(node) == module for node in unit.scopes.root.star)


def takes_attribute(world: SpecializerWorld, path: str, module: str, name: str) -> bool:
    """Return whether a file takes a name from what an import has bound this very module to."""
    if name.encode() not in world.content(path).attributes:
        return False
    unit = world.unit(path)
    key = ("owners of attribute", path, name, str(unit.version))
    if key not in world.derived:  # many modules bind a name
        evaluator = Evaluator(world, unit)
        world.derived[key] = {
            evaluator.qualified(node.value, unit.scope_of(node))
            for node in nodes_on(unit, name)
            if isinstance(node, ast.Attribute) and node.attr == name
        }
    return module in world.derived[key]


def _is_loaded(unit: Unit, node: ast.expr, module: str) -> bool:
    """Return whether a file loads a module by its name, so that what no import binds may be this module."""
    owner = unit.scope_of(node).find(node.id) if isinstance(node, ast.Name) else None
    if owner is not None and any(b.alias is not None for b in owner.names[node.id]):  # type: ignore[attr-defined]
        return False
    loads_any = any(word in unit.text for word in (b"import_module", b"__import__", b"sys.modules"))
    return loads_any and any(b"%b%b%b" % (q, module.encode(), q) in unit.text for q in (b'"', b"'"))


def _looks_up(unit: Unit, node: ast.Constant, name: str) -> bool:
    """Return whether a text is the name, or a path to it, and an argument of a call."""
    if not isinstance(node.value, str) or re.split(r"[.:]", node.value)[-1] != name:
        return False
    return isinstance(unit.module.parents.get(node), ast.Call)


def _called(unit: Unit, base: ast.expr) -> set[str]:
    """The last names of the module that an expression may be."""
    if isinstance(base, ast.Attribute):
        return {base.attr}
    if isinstance(base, (ast.Call, ast.Subscript)):  # `import_module("a.b").name`
        texts = (n.value for n in nodes(base) if isinstance(n, ast.Constant) and isinstance(n.value, str))
        return {text.rpartition(".")[2] for text in texts}
    if not isinstance(base, ast.Name):
        return set()
    owner = unit.scope_of(base).find(base.id)
    bindings = owner.names[base.id] if owner is not None else []
    found = {base.id, *(b.alias.name.rpartition(".")[2] for b in bindings if b.alias is not None)}
    for binding in bindings:
        if isinstance(binding.value, (ast.Call, ast.Subscript, ast.Attribute)):
            found |= _called(unit, binding.value)
    return found
