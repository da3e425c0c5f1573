"""Uses that no walk over names shows: each would fail, or do something else, in the output.

A method of a base class that runs in place of one declared absent; a field declared absent that a call
gives (`given_fields`); a name in `__all__` that is put together and does not exist any more.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from importlib import import_module

from builder.source.fields import nodes
from builder.specialize.dead_code.hierarchy import INERT_BASES, Class, Hierarchy
from builder.specialize.evaluating.names import names_of, text
from builder.specialize.given_fields import given_uses
from builder.specialize.leftovers import Leftover, use_of
from builder.specialize.unit import Unit
from builder.specialize.world import SpecializerWorld

_WORD = re.compile(r"[A-Za-z_]\w*")
_COPIES = frozenset(["list", "set", "sorted", "tuple"])


def hidden_uses(
    world: SpecializerWorld, hierarchy: Hierarchy, before: Callable[[str], Unit | None]
) -> Iterator[Leftover]:
    """Every such use. `before`: a file as upstream has it."""
    absent: dict[str, dict[str, str]] = {}  # class -> member -> its qualified name
    for name in sorted(world.facts.symbols):
        owner, _, member = name.rpartition(".")
        if owner.rpartition(".")[0] in world.paths:
            absent.setdefault(owner, {})[member] = name
    for owner, members in absent.items():
        for cls in hierarchy.named(owner):
            for member, name in members.items():
                yield from _exposed(world, hierarchy, cls, member, name)
            yield from given_uses(world, hierarchy, cls, members, before)
    yield from _exported(world)


def _exposed(
    world: SpecializerWorld, hierarchy: Hierarchy, cls: Class, method: str, name: str
) -> Iterator[Leftover]:
    inherited = (base for base in hierarchy.lineage(cls).classes if base.node is not cls.node)
    within = any(base.binds(method) for base in inherited) and _is_called(world, method)
    if within or any(_has_method(base, method) for base in hierarchy.lineage(cls).external):
        yield use_of(cls.unit, cls.node, f"{cls.node.name}.{method}", name, cls.scope.qualname)


def _has_method(base: str, method: str) -> bool:
    """Return whether a class of the standard library has a method, which the library may call itself."""
    module, _, name = base.rpartition(".")
    if base not in INERT_BASES or (module or "builtins").partition(".")[0] not in sys.stdlib_module_names:
        return False
    found = getattr(import_module(module or "builtins"), name, None)
    return callable(getattr(found, method, None)) and not method.startswith("__")


def _is_called(world: SpecializerWorld, method: str) -> bool:
    holders = world.words.holders(method.encode())
    return any(method.encode() in world.content(path).attributes for path in holders)


# -- exports ----------------------------------------------------------------------------------------


def _exported(world: SpecializerWorld) -> Iterator[Leftover]:
    """Names that are gone and that a string of a module says whose `__all__` is no plain list."""
    lost: dict[str, set[str]] = {}
    for name in world.memory.gone:
        module, _, last = name.rpartition(".")
        lost.setdefault(module, set()).add(last)
    for path in world.words.holders(b"__all__"):
        names = lost.get(world.names[path])
        if not names or not any(name.encode() in world.words.of(path) for name in names):
            continue
        unit = world.unit(path)
        if all(map(_is_plain, unit.module.tree.body)):
            continue
        for node in nodes(unit.module.tree):
            said = text(node) if isinstance(node, ast.Constant) else None
            for name in sorted(names.intersection(_WORD.findall(said or ""))):
                if len(said or "") < 200:
                    yield use_of(unit, node, name, f"{unit.name}.{name}", "__all__")


def _is_plain(stmt: ast.stmt) -> bool:
    """Return whether a statement leaves `__all__` alone, or makes it of lists of names that it spells out."""
    if not any(isinstance(node, ast.Name) and node.id == "__all__" for node in nodes(stmt)):
        return True
    if isinstance(stmt, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        return stmt.value is not None and _is_spelled_out(stmt.value)
    if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call):
        call = stmt.value
        if getattr(call.func, "attr", "") == "append":
            return all(isinstance(argument, ast.Constant) for argument in call.args)
        return getattr(call.func, "attr", "") == "extend" and all(map(_is_spelled_out, call.args))
    return False


def _is_spelled_out(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):
        return _is_spelled_out(node.left) and _is_spelled_out(node.right)
    if isinstance(node, ast.Call):
        return (names_of(node.func) or ("",))[0] in _COPIES and all(map(_is_spelled_out, node.args))
    if isinstance(node, ast.Attribute):  # what another module exports is looked at there
        return node.attr == "__all__"
    if isinstance(node, ast.Starred):
        return _is_spelled_out(node.value)
    if not isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return False
    return all(isinstance(item, ast.Constant) or _is_spelled_out(item) for item in node.elts)
