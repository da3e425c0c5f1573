"""Rows of a registry that nothing asks for, and rows whose target is gone: what registers them leaves.

A registry is an inventory of texts: a row says by which key a function is asked for, and in which module the
function is. Only constants decide: the keys are those that the program asks for, and a row of a loop over
constants is the row of each of them. Where a key cannot be told, the row stays; where somebody asks by a
key that cannot be told, all rows stay.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import cast

from builder.source.ops import DropItem, Op, Remove
from builder.specialize.dead_code.cleanup import Cleaned
from builder.specialize.dead_code.origins import definition_around
from builder.specialize.dead_code.spelled_names import scope_around
from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.facts import Facts, Gone, Registry
from builder.specialize.text_index.import_index import ImportIndex
from builder.specialize.text_index.text_search import nodes_on
from builder.specialize.unit import Unit
from builder.specialize.world import SpecializerWorld

Function = ast.FunctionDef | ast.AsyncFunctionDef
#: loop variable -> what it is in one turn; None: that cannot be told
Values = Mapping[str, ast.expr | None]
#: methods that make a text of a text
_STRIPS = {"lstrip": str.lstrip, "rstrip": str.rstrip, "strip": str.strip}


@dataclass(frozen=True, slots=True)
class Ask:
    """A place at which the program asks a registry. `key`: None where it cannot be told."""

    unit: Unit
    node: ast.AST
    key: str | None


def leaving(world: SpecializerWorld, links: ImportIndex, frozen: frozenset[str]) -> Cleaned:
    """What takes the rows away that nothing asks for, or whose target is gone."""
    cleaned = Cleaned()
    for registry in world.facts.registries:
        asks = list(_asks(world, registry))
        if any(ask.key is None for ask in asks):
            continue
        keys = {ask.key for ask in asks if ask.key is not None}
        for unit in _with_rows(world, registry):
            for op in _Rows(world, registry, unit, keys, links).ops() if unit.path not in frozen else ():
                cleaned.ops[unit.path].append(op)
                if isinstance(op, Remove):
                    unit.hidden.append((op.node.lineno, op.node.end_lineno or op.node.lineno))
                    for name in _stores(op.node):
                        cleaned.dead[f"{unit.name}.{name}"] = f"nothing asks for these rows of {registry.row}"
    return cleaned


def unclear(world: SpecializerWorld) -> Iterator[tuple[str, int, str]]:
    """Path, line and sentence of each place because of which all rows of a registry stay."""
    for registry in world.facts.registries:
        for ask in _asks(world, registry):
            if ask.key is None:
                line = getattr(ask.node, "lineno", 1)
                yield ask.unit.path, line, f"all rows of {registry.row} stay: what is asked for is unknown"


def with_wrappers(world: SpecializerWorld) -> Facts:
    """The facts, with the functions beside rows that ask for one: nothing calls them but by their names."""
    found = {
        f"{ask.unit.name}.{around.name}"
        for registry in world.facts.registries
        for modules in [{unit.name for unit in _with_rows(world, registry)}]
        for ask in _asks(world, registry)
        if ask.key is not None and ask.unit.name in modules
        if isinstance(around := definition_around(ask.unit, ask.node), Function) and not around.decorator_list
    }
    return replace(world.facts, uncalled=world.facts.uncalled | found) if found else world.facts


def _with_rows(world: SpecializerWorld, registry: Registry) -> Iterator[Unit]:
    """The files with a statement at the top that registers rows."""
    for path in sorted(world.words.holding([registry.row.rpartition(".")[2].encode()])):
        unit = world.unit(path)
        evaluator = Evaluator(world, unit)
        if any(_rows_of(evaluator, registry, stmt) for stmt in unit.module.tree.body):
            yield unit


# -- who asks ---------------------------------------------------------------------------------------------


def _asks(world: SpecializerWorld, registry: Registry) -> Iterator[Ask]:
    for function in sorted(registry.asked_by):
        for unit, node, parent in _uses(world, function):
            called = isinstance(parent, ast.Call) and parent.func is node
            argument = _argument(parent, registry.key) if called else None
            key = argument.value if isinstance(argument, ast.Constant) else None
            if not (argument is not None and _hands_on(registry, unit, node, argument)):
                yield Ask(unit, node, key if isinstance(key, str) else None)
    own = {*registry.asked_by, registry.registered_by}
    for unit, node, _ in _uses(world, registry.held_by):
        if f"{unit.name}.{scope_around(unit, node).qualname}" not in own:
            yield Ask(unit, node, None)


def _uses(world: SpecializerWorld, qualified: str) -> Iterator[tuple[Unit, ast.AST, ast.AST | None]]:
    """Where the program reads a name of a module, or imports it under another one, and what is above."""
    last = qualified.rpartition(".")[2]
    for path in sorted(world.words.holding([last.encode()])):
        unit = world.unit(path)
        evaluator, parents = Evaluator(world, unit), unit.module.parents
        for node in nodes_on(unit, last):
            parent, meant = parents.get(node), None
            if isinstance(node, ast.alias) and node.name == last and node.asname not in (None, last):
                source = unit.absolute(parent) if isinstance(parent, ast.ImportFrom) else ""
                meant = world.canonical(source, last)
            elif last in (getattr(node, "id", None), getattr(node, "attr", None)) and _is_read(node):
                meant = evaluator.qualified(cast(ast.expr, node), scope_around(unit, node))
            if meant == qualified:
                yield unit, node, parent


def _is_read(node: ast.AST) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Load)


def _argument(call: ast.AST | None, key: str) -> ast.expr | None:
    """What is asked for: the first argument, or the one that is called like the key."""
    if not isinstance(call, ast.Call):
        return None
    named = (keyword.value for keyword in call.keywords if keyword.arg == key)
    return call.args[0] if call.args else next(named, None)


def _hands_on(registry: Registry, unit: Unit, node: ast.AST, argument: ast.expr) -> bool:
    """Does a function that is asked itself ask for what it was asked for?"""
    scope = scope_around(unit, node)
    if f"{unit.name}.{scope.qualname}" not in registry.asked_by or not isinstance(scope.node, Function):
        return False
    given = scope.node.args
    return getattr(argument, "id", None) in {
        a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)
    }


# -- rows -------------------------------------------------------------------------------------------------


def _rows_of(evaluator: Evaluator, registry: Registry, stmt: ast.stmt) -> list[ast.Call]:
    """The rows that a statement registers, if it does nothing else: a call, or a loop of such."""
    if isinstance(stmt, ast.For) and not stmt.orelse:
        inner = [_rows_of(evaluator, registry, each) for each in stmt.body]
        return [row for rows in inner for row in rows] if all(inner) else []
    call = stmt.value if isinstance(stmt, ast.Expr) else None
    if not isinstance(call, ast.Call) or len(call.args) != 1 or call.keywords:
        return []
    row, root = call.args[0], evaluator.unit.scopes.root
    return (
        [row]
        if isinstance(row, ast.Call)
        and not row.args
        and evaluator.qualified(call.func, root) == registry.registered_by
        and evaluator.qualified(row.func, root) == registry.row
        else []
    )


class _Rows:
    """The rows of one file."""

    def __init__(
        self,
        world: SpecializerWorld,
        registry: Registry,
        unit: Unit,
        keys: set[str],
        links: ImportIndex,
    ) -> None:
        self._world = world
        self._registry = registry
        self._unit = unit
        self._keys = keys
        self._links = links
        self._evaluator = Evaluator(world, unit)
        self._body = unit.module.tree.body
        self._names: defaultdict[str, list[ast.Name]] = defaultdict(list)
        for node in ast.walk(unit.module.tree):
            if isinstance(node, ast.Name):
                self._names[node.id].append(node)

    def ops(self) -> Iterator[Op]:
        for stmt, after in zip(self._body, [*self._body[1:], None], strict=True):
            if not _rows_of(self._evaluator, self._registry, stmt):
                continue
            if not isinstance(stmt, ast.For):
                if self._leaves(stmt, {}):
                    yield Remove(stmt)
                continue
            constant, listed = self._over(stmt)
            elements = listed.elts if listed is not None else []
            gone = [index for index, each in enumerate(elements) if self._turn_leaves(stmt, each, {})]
            if not gone or not all(map(self._is_of_loop, self._named(_stores(stmt)))):
                continue
            if len(gone) < len(elements):
                yield from (DropItem(listed, "elts", index) for index in gone if listed is not None)
                continue
            yield from (Remove(each) for each in (stmt, constant) if each is not None)
            if after is not None and _deletes(after, stmt):
                yield Remove(after)

    def _named(self, names: Iterable[str]) -> list[ast.Name]:
        return [node for name in names for node in self._names[name]]

    def _is_of_loop(self, name: ast.Name) -> bool:
        """Is a variable used in a loop at the top that binds it, or in the `del` after that loop?"""
        parents, around = self._unit.module.parents, cast(ast.AST, name)
        while isinstance(above := parents.get(around), ast.AST) and above is not self._unit.module.tree:
            around = above
        at = next(index for index, stmt in enumerate(self._body) if stmt is around)
        loops = [stmt for stmt in self._body[max(at - 1, 0) : at + 1] if isinstance(stmt, ast.For)]
        return any(
            name.id in _stores(loop) and (loop is around or _deletes(self._body[at], loop)) for loop in loops
        )

    def _over(self, loop: ast.For) -> tuple[ast.stmt | None, ast.List | ast.Tuple | None]:
        """What a loop goes over: the statement that holds the constants for it alone, if a name does, and
        the constants."""
        listed: ast.expr | None = loop.iter
        constant = None
        if isinstance(listed, ast.Name):
            name = listed.id
            alone = name.startswith("_") and len(self._names[name]) == 2
            if alone and not self._links.takers(self._unit.name, name):
                constant = next((stmt for stmt in self._body if _binds(stmt, name)), None)
            listed = getattr(constant, "value", None)
        return constant, listed if isinstance(listed, (ast.List, ast.Tuple)) else None

    def _turn_leaves(self, loop: ast.For, element: ast.expr, values: Values) -> bool:
        """Do all rows of one turn of a loop leave?"""
        known = {**values, **_bound(loop.target, element)}
        for stmt in loop.body:
            if not isinstance(stmt, ast.For):
                if not self._leaves(stmt, known):
                    return False
                continue
            listed = known.get(stmt.iter.id) if isinstance(stmt.iter, ast.Name) else stmt.iter
            if not isinstance(listed, (ast.List, ast.Tuple)):
                return False
            if not all(self._turn_leaves(stmt, each, known) for each in listed.elts):
                return False
        return True

    def _leaves(self, stmt: ast.stmt, values: Values) -> bool:
        (row,) = _rows_of(self._evaluator, self._registry, stmt)
        fields = {keyword.arg: _text(keyword.value, values) for keyword in row.keywords}
        key, target = fields.get(self._registry.key), fields.get(self._registry.target)
        return key is not None and (key not in self._keys or (target is not None and self._gone(target)))

    def _gone(self, target: str) -> bool:
        """Is the module gone, or what is taken of it (`package.module:Class.method`)?"""
        module, _, name = target.partition(":")
        world = self._world
        if module in world.removed_files or world.module_gone(module) is not None:
            return True
        return module in world.paths and isinstance(world.canonical(module, name.partition(".")[0]), Gone)


def _stores(tree: ast.AST) -> set[str]:
    """The names that are bound in a statement."""
    return {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _deletes(stmt: ast.stmt, loop: ast.For) -> bool:
    """Does a statement delete variables of a loop, and nothing else?"""
    return isinstance(stmt, ast.Delete) and {getattr(t, "id", "") for t in stmt.targets} <= _stores(loop)


def _binds(stmt: ast.stmt, name: str) -> bool:
    """Does a statement give a value to this name, and to no other?"""
    return isinstance(stmt, (ast.Assign, ast.AnnAssign)) and _stores(stmt) == {name}


def _bound(target: ast.expr, value: ast.expr | None) -> dict[str, ast.expr | None]:
    """What a loop binds to its variables in one turn."""
    if isinstance(target, ast.Name):
        return {target.id: value}
    if isinstance(target, ast.Tuple):
        parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else ()
        if len(parts) != len(target.elts):
            return {node.id: None for node in ast.walk(target) if isinstance(node, ast.Name)}
        found = [_bound(each, part) for each, part in zip(target.elts, parts, strict=True)]
        return {name: part for some in found for name, part in some.items()}
    return {}


def _text(node: ast.expr | None, values: Values) -> str | None:
    """The text that an expression gives, as far as constants decide it; None where they do not."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.Name):
        return _text(values.get(node.id), {})
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts: list[str | None] = [_text(node.left, values), _text(node.right, values)]
    elif isinstance(node, ast.JoinedStr):
        parts = [_text(each, values) for each in node.values]
    elif isinstance(node, ast.FormattedValue) and node.conversion == -1 and node.format_spec is None:
        parts = [_text(node.value, values)]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _STRIPS:
        text, given = _text(node.func.value, values), [_text(each, values) for each in node.args]
        if text is None or None in given or len(given) > 1 or node.keywords:
            return None
        parts = [_STRIPS[node.func.attr](text, *given)]
    else:
        return None
    return None if None in parts else "".join(part for part in parts if part is not None)
