"""Rows of a registry that nothing asks for, and rows whose target is gone: what registers them leaves.

Only constants decide: the keys are those that the program asks for, and a row of a loop over constants is the
row of each of them. Where its key cannot be told, a row stays; where one asks by such a key, all rows stay.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

from builder.source.fields import constant_text, nodes
from builder.source.ops import DropItem, Op, Remove
from builder.specialize.dead_code.cleanup import Cleaned
from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.facts import Facts, Gone, Registry
from builder.specialize.text_index.content import Contents
from builder.specialize.text_index.text_search import nodes_like
from builder.specialize.unit import Unit
from builder.specialize.world import KnownOfFiles, Memory, SpecializerWorld

Function = ast.FunctionDef | ast.AsyncFunctionDef
#: loop variable -> what it is in one turn; None: that cannot be told
Values = Mapping[str, ast.expr | None]
#: methods of a function that `functools.lru_cache` made, which do not call it
_OF_CACHES = frozenset(["cache_clear", "cache_info"])


class Ask(NamedTuple):
    """A place at which the program asks a registry. `key`: None where it cannot be told."""

    unit: Unit
    node: ast.expr | ast.alias
    key: str | None


def leaving(world: SpecializerWorld, frozen: frozenset[str]) -> Cleaned:
    """What takes the rows away that nothing asks for, or whose target is gone."""
    cleaned = Cleaned()
    for registry in world.facts.registries:
        keys = {ask.key for ask in _asks(world, registry)}
        for unit in _with_rows(world, registry) if None not in keys else ():
            for op in _Rows(world, registry, unit, keys).ops() if unit.path not in frozen else ():
                cleaned.ops[unit.path].append(op)
                if isinstance(op, Remove):
                    unit.hidden.append((op.node.lineno, op.node.end_lineno or op.node.lineno))
                    for name in _stores(op.node):
                        cleaned.dead[f"{unit.name}.{name}"] = f"nothing asks for these rows of {registry.row}"
    return cleaned


def unclear(world: SpecializerWorld) -> Iterator[tuple[str, int, str]]:
    """Path, line and sentence of each place because of which all rows of a registry stay."""
    for registry in world.facts.registries:
        sentence = f"all rows of {registry.row} stay: what is asked for cannot be told"
        for unit, node, key in _asks(world, registry):
            if key is None:
                yield unit.path, node.lineno, sentence


def with_wrappers(
    facts: Facts, upstream: Mapping[str, bytes], names: Mapping[str, str], contents: Contents
) -> Facts:
    """The facts, with upstream's functions beside rows that ask for one, and are the target of none: nothing
    calls them but by their names."""
    found: set[str] = set()
    for registry in facts.registries:
        words = [name.rpartition(".")[2].encode() for name in (registry.row, *registry.asked_by)]
        files = {path: data for path, data in upstream.items() if any(word in data for word in words)}
        world = SpecializerWorld(files, names, (), facts, Memory(), KnownOfFiles.of(files, names, contents))
        units = {unit.name: unit.text for unit in _with_rows(world, registry)}
        for unit, node, key in _asks(world, registry):
            around = unit.top_statement(node)
            if key is None or unit.name not in units or not isinstance(around, Function):
                continue
            target = f"{unit.name}:{around.name}".encode()
            if not around.decorator_list and not any(target in text for text in units.values()):
                found.add(f"{unit.name}.{around.name}")
    return replace(facts, uncalled=facts.uncalled | found)


def _with_rows(world: SpecializerWorld, registry: Registry) -> Iterator[Unit]:
    """The files with a statement at the top that registers rows."""
    for path in sorted(world.words.holding([registry.row.rpartition(".")[2].encode()])):
        unit = world.unit(path)
        if any(_rows_of(Evaluator(world, unit), registry, stmt) for stmt in unit.module.tree.body):
            yield unit


# -- who asks ---------------------------------------------------------------------------------------------


def _asks(world: SpecializerWorld, registry: Registry) -> Iterator[Ask]:
    for unit, node in (use for function in sorted(registry.asked_by) for use in _uses(world, function)):
        call = unit.module.parents.get(node)
        if isinstance(call, ast.Attribute) and call.attr in _OF_CACHES:
            continue
        given: list[ast.expr] = []
        if isinstance(call, ast.Call) and call.func is node:
            given = [*call.args, *(each.value for each in call.keywords if each.arg == registry.key)]
        key = given[0].value if given and isinstance(given[0], ast.Constant) else None
        if not given or not _hands_on(registry, unit, given[0]):
            yield Ask(unit, node, key if isinstance(key, str) else None)
    own = {*registry.asked_by, registry.registered_by}
    for unit, node in _uses(world, registry.held_by):
        if f"{unit.name}.{unit.scope_of(node).qualname}" not in own:
            yield Ask(unit, node, None)


def _uses(world: SpecializerWorld, qualified: str) -> Iterator[tuple[Unit, ast.expr | ast.alias]]:
    """Where the program reads a name of a module, or imports it under another one."""
    last = qualified.rpartition(".")[2]

    def may_use(node: ast.AST) -> bool:
        if isinstance(node, ast.alias):
            return node.name == last and node.asname not in (None, last)
        return last in (getattr(node, "id", ""), getattr(node, "attr", ""))

    for path in sorted(world.words.holding([last.encode()])):
        unit = world.unit(path)
        for node in nodes_like(unit, last, "may be used", may_use):
            if isinstance(node, ast.alias):
                above = unit.module.parents.get(node)
                source = unit.absolute(above) if isinstance(above, ast.ImportFrom) else ""
                if world.canonical(source, last) == qualified:
                    yield unit, node
            else:
                read, scope = cast(ast.Name | ast.Attribute, node), unit.scope_of(node)
                meant = Evaluator(world, unit).qualified(read, scope)
                if isinstance(read.ctx, ast.Load) and meant == qualified:
                    yield unit, read


def _hands_on(registry: Registry, unit: Unit, argument: ast.expr) -> bool:
    """Whether a function that is asked hands on its own parameter."""
    scope = unit.scope_of(argument)
    owner = scope.find(argument.id) if isinstance(argument, ast.Name) else None
    kinds = [binding.kind for binding in owner.names[argument.id]] if owner is scope else []  # type: ignore[attr-defined]
    return kinds == ["parameter"] and f"{unit.name}.{scope.qualname}" in registry.asked_by


# -- rows -------------------------------------------------------------------------------------------------


def _rows_of(evaluator: Evaluator, registry: Registry, stmt: ast.stmt) -> list[ast.Call]:
    """The rows that a statement registers, if it does nothing else: a call, or a loop of such."""
    if isinstance(stmt, ast.For) and not stmt.orelse:
        inner = [_rows_of(evaluator, registry, each) for each in stmt.body]
        return [row for rows in inner for row in rows] if all(inner) else []
    call, root = getattr(stmt, "value", None), evaluator.unit.scopes.root
    if not isinstance(stmt, ast.Expr) or not isinstance(call, ast.Call) or len(call.args) != 1:
        return []
    row = call.args[0]
    if call.keywords or not isinstance(row, ast.Call) or row.args:
        return []
    named = evaluator.qualified(call.func, root), evaluator.qualified(row.func, root)
    return [row] if named == (registry.registered_by, registry.row) else []


@dataclass
class _Rows:
    """The rows of one file."""

    world: SpecializerWorld
    registry: Registry
    unit: Unit
    keys: set[str | None]

    def __post_init__(self) -> None:
        body = self.unit.module.tree.body
        self.evaluator = Evaluator(self.world, self.unit)
        self.pairs = list(zip(body, [*body[1:], None], strict=True))
        self.names: defaultdict[str, list[ast.Name]] = defaultdict(list)
        for node in nodes(self.unit.module.tree):
            if isinstance(node, ast.Name):
                self.names[node.id].append(node)
        #: names at the top that are bound once
        self.constants = {
            name: stmt
            for stmt in body
            if isinstance(stmt, (ast.Assign, ast.AnnAssign)) and len(_stores(stmt)) == 1
            for name in _stores(stmt)
            if len(self.unit.scopes.root.names.get(name, ())) == 1
        }
        self.values = {name: stmt.value for name, stmt in self.constants.items()}

    def ops(self) -> Iterator[Op]:
        for stmt, after in self.pairs:
            if not _rows_of(self.evaluator, self.registry, stmt):
                continue
            if not isinstance(stmt, ast.For):
                if self.leaves(stmt, self.values):
                    yield Remove(stmt)
                continue
            constant = self.constant_of(stmt)
            listed = constant.value if constant is not None else stmt.iter
            elements = listed.elts if isinstance(listed, (ast.List, ast.Tuple)) else []
            gone = [n for n, each in enumerate(elements) if self.turn_leaves(stmt, each, self.values)]
            if not gone or self.used_elsewhere(stmt):
                continue
            if len(gone) < len(elements):
                yield from (DropItem(cast(ast.expr, listed), "elts", index) for index in gone)
                continue
            also = after if _deletes(after, stmt) else None
            yield from (Remove(each) for each in (constant, stmt, also) if each is not None)

    def used_elsewhere(self, loop: ast.For) -> bool:
        """Whether a variable is used outside of loops at the top that bind it and the `del` after each."""
        own = [
            (_stores(stmt), stmt.lineno, getattr(after if _deletes(after, stmt) else stmt, "end_lineno", 0))
            for stmt, after in self.pairs
            if isinstance(stmt, ast.For)
        ]
        return any(
            not any(name in bound and low <= node.lineno <= high for bound, low, high in own)
            for name in _stores(loop)
            for node in self.names[name]
        )

    def constant_of(self, loop: ast.For) -> ast.Assign | ast.AnnAssign | None:
        """The statement that holds what a loop goes over, for it alone."""
        name = loop.iter.id if isinstance(loop.iter, ast.Name) else ""
        alone = name.startswith("_") and len(self.names[name]) == 2
        return (
            None if not alone or self.world.links.takers(self.unit.name, name) else self.constants.get(name)
        )

    def turn_leaves(self, loop: ast.For, element: ast.expr, values: Values) -> bool:
        """Whether all rows of one turn of a loop leave."""
        known = {**values, **_bound(loop.target, element)}
        for stmt in loop.body:
            if isinstance(stmt, ast.For):
                listed = known.get(stmt.iter.id) if isinstance(stmt.iter, ast.Name) else stmt.iter
                if not isinstance(listed, (ast.List, ast.Tuple)):
                    return False
                if not all(self.turn_leaves(stmt, each, known) for each in listed.elts):
                    return False
            elif not self.leaves(stmt, known):
                return False
        return True

    def leaves(self, stmt: ast.stmt, values: Values) -> bool:
        (row,) = _rows_of(self.evaluator, self.registry, stmt)
        fields = {keyword.arg: _text(keyword.value, values) for keyword in row.keywords}
        key, target = fields.get(self.registry.key), fields.get(self.registry.target)
        return key is not None and (key not in self.keys or (target is not None and self.gone(target)))

    def gone(self, target: str) -> bool:
        """Whether the module is gone, or what is taken of it (`package.module:Class.method`)."""
        (module, _, name), world = target.partition(":"), self.world
        if module in world.removed_files or world.module_gone(module) is not None:
            return True
        return module in world.paths and isinstance(world.canonical(module, name.partition(".")[0]), Gone)


def _stores(tree: ast.AST) -> set[str]:
    """The names that are bound in a statement."""
    return {n.id for n in nodes(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _deletes(stmt: ast.stmt | None, loop: ast.For) -> bool:
    """Whether a statement deletes variables of a loop, and nothing else."""
    return isinstance(stmt, ast.Delete) and {getattr(t, "id", "") for t in stmt.targets} <= _stores(loop)


def _bound(target: ast.expr, value: ast.expr | None) -> dict[str, ast.expr | None]:
    """What a loop binds to its variables in one turn."""
    if isinstance(target, ast.Name):
        return {target.id: value}
    names = target.elts if isinstance(target, ast.Tuple) else []
    parts: list[ast.expr] | list[None] = [None] * len(names)
    if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(names):
        parts = value.elts
    found = [_bound(each, part) for each, part in zip(names, parts, strict=True)]
    return {name: part for some in found for name, part in some.items()}


def _text(node: ast.expr | None, values: Values) -> str | None:
    """The text that an expression gives, as far as constants decide it; None where they do not."""
    return constant_text(node, lambda name: constant_text(values.get(name), lambda name: None))
