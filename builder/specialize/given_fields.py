"""Calls and patterns that give a class a field that is declared absent.

Keywords for it are folded away where their value has no effect. Only what names the class, or is in it or in
an heir, is looked at.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping

from builder.source.fields import nodes
from builder.specialize.dead_code.hierarchy import Class, Hierarchy
from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.names import is_own_class, names_of, text
from builder.specialize.folding.positions import names_given
from builder.specialize.leftovers import Leftover, use_of
from builder.specialize.text_index.text_search import nodes_on
from builder.specialize.unit import Unit, told
from builder.specialize.world import SpecializerWorld


def given_uses(
    world: SpecializerWorld,
    hierarchy: Hierarchy,
    cls: Class,
    absent: Mapping[str, str],
    before: Callable[[str], Unit | None],
) -> Iterator[Leftover]:
    """Calls and patterns that give a field that is gone, or whose positions count it.

    `absent`: name of an absent field -> its qualified name; `before`: a file as upstream has it.
    """
    upstream = before(cls.unit.path)
    fields = _fields(upstream, cls.node.name) if upstream is not None else []
    gone = {field: name for field, name in absent.items() if field in fields}
    if not gone:
        return
    counts_all = any(names_of(base)[:1] == ("NamedTuple",) for base in cls.node.bases)
    heirs = hierarchy.heirs(cls)
    makers = [each for heir in (cls, *heirs) for each in _by_name(world, heir)]
    family = (*hierarchy.lineage(cls).classes, *heirs)
    makers += [(each.unit, call) for each in family for call in _inside(each)]
    for unit, node in makers:
        positions = _positions(unit, node)
        for field, name in gone.items():
            if positions > fields.index(field) or (positions and counts_all) or _gives(unit, node, field):
                yield use_of(unit, node, f"{cls.node.name}({field})", name, unit.scope_of(node).qualname)


@told
def _fields(unit: Unit, cls: str) -> list[str]:
    """The annotated names of a class at the top of a file, in order."""
    for stmt in unit.module.tree.body:
        if isinstance(stmt, ast.ClassDef) and stmt.name == cls:
            return [
                inner.target.id
                for inner in stmt.body
                if isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name)
            ]
    return []


def _by_name(world: SpecializerWorld, cls: Class) -> Iterator[tuple[Unit, ast.AST]]:
    """The calls and patterns that name a class, also under the name that an import gives it."""
    for called in sorted(names_given(world, cls.node.name)):
        for unit in map(world.unit, world.words.holders(called.encode())):
            evaluator = Evaluator(world, unit)
            for node in nodes_on(unit, called):
                if isinstance(node, (ast.Call, ast.MatchClass)):
                    named = node.func if isinstance(node, ast.Call) else node.cls
                    if isinstance(named, ast.Attribute) and named.attr in ("__init__", "_make"):
                        named = named.value
                    if evaluator.qualified(named, unit.scope_of(node)) == cls.qualified:
                        yield unit, node
                elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
                    held = evaluator.qualified(node.value, unit.scope_of(node)) == cls.qualified
                    yield from _held(world, node) if held else ()


def _held(world: SpecializerWorld, assigned: ast.Assign | ast.AnnAssign) -> Iterator[tuple[Unit, ast.AST]]:
    """The calls of what a class is assigned to: `self.kind(...)` after `kind = Args`."""
    targets = assigned.targets if isinstance(assigned, ast.Assign) else [assigned.target]
    for name in {names_of(target)[0] for target in targets if names_of(target)}:
        for unit in map(world.unit, world.words.holders(name.encode())):
            for node in nodes_on(unit, name):
                if isinstance(node, ast.Call) and names_of(node.func)[:1] == (name,):
                    yield unit, node


def _inside(cls: Class) -> Iterator[ast.Call]:
    """The calls in a class that make an object of it: `cls(...)`, `super().__init__(...)`."""
    for node in nodes(cls.node):
        if isinstance(node, ast.Call):
            owner = node.func.value if getattr(node.func, "attr", "") == "__init__" else None  # type: ignore[attr-defined]
            of_base = isinstance(owner, ast.Call) and names_of(owner.func) == ("super",)
            if of_base or is_own_class(node.func, cls.unit):
                yield node


def _positions(unit: Unit, node: ast.AST) -> float:
    """How many positions a call or a pattern gives, but for what a function hands on of its own `*args`."""
    if isinstance(node, ast.MatchClass):
        return len(node.patterns)
    arguments = node.args if isinstance(node, ast.Call) else []
    made = isinstance(node, ast.Call) and names_of(node.func)[:1] == ("_make",)
    starred = [argument.value for argument in arguments if isinstance(argument, ast.Starred)]
    own = getattr(getattr(unit.scope_of(node).node, "args", None), "vararg", None)
    given = [value for value in starred if own is None or getattr(value, "id", "") != own.arg]
    return float("inf") if made or given else len(arguments) - len(starred)


def _fills_dict(unit: Unit, field: str) -> bool:
    """Return whether a file gives a dict a key of this name: as a key, an item, or a keyword."""
    for node in nodes_on(unit, field):
        if isinstance(node, ast.keyword) and node.arg == field:
            return True
        if isinstance(node, ast.Constant) and node.value == field:
            parent = unit.module.parents.get(node)
            if isinstance(parent, ast.Dict) or isinstance(getattr(parent, "ctx", None), ast.Store):
                return True
    return False


def _gives(unit: Unit, node: ast.AST, field: str) -> bool:
    """Return whether a call has a field as a keyword, or in a dict: `Args(**{"mode": 1})`,
    `Args(**dict(mode=1))`."""
    if isinstance(node, ast.MatchClass):
        return field in node.kwd_attrs
    keywords = getattr(node, "keywords", ())
    unpacked = [k.value for k in keywords if k.arg is None]
    if any(isinstance(value, ast.Name) for value in unpacked) and _fills_dict(unit, field):
        return True
    parts = (part for value in unpacked for part in nodes(value))
    return any(k.arg == field for k in keywords) or any(
        (isinstance(part, ast.Dict) and any(key is not None and text(key) == field for key in part.keys))
        or (isinstance(part, ast.keyword) and part.arg == field)
        for part in parts
    )
