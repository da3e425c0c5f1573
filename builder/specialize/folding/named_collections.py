"""Collections of texts that have a name: what is in them, and whether an option may be one of them.

Only tuples and frozen sets count, which nothing can change.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from builder.specialize.rebinding import rebound
from builder.specialize.unit import Unit, told
from builder.specialize.world import SpecializerWorld, question

_FROZEN = frozenset(["frozenset", "tuple"])
_MAKERS = _FROZEN | {"list", "set", "sorted"}


@question
def lists_only_absent(world: SpecializerWorld, qualified: str, *names: str) -> bool:
    """Return whether a name is that of a collection whose texts the option `names` never has."""
    texts = _listed(world, qualified, ())
    return texts is not None and all(world.facts.never_has(names, each) for each in texts)


@question
def is_collection(world: SpecializerWorld, qualified: str) -> bool:
    """Return whether a name is that of a collection of texts."""
    return _listed(world, qualified, ()) is not None


def _listed(world: SpecializerWorld, qualified: str, busy: Sequence[str]) -> list[str] | None:
    """The texts in what the one binding of a module-level name gives it."""
    module, _, name = qualified.rpartition(".")
    path = world.paths.get(module)
    if path is None or qualified in busy:
        return None
    unit = world.unit(path)
    if not _has_frozen(unit, name) or rebound(world, qualified):
        return None
    return _texts(world, unit, _frozen(unit, name), (*busy, qualified))


@told
def _has_frozen(unit: Unit, name: str) -> bool:
    return _frozen(unit, name) is not None


def _frozen(unit: Unit, name: str) -> ast.expr | None:
    """What a name of the module is bound to once, if nothing can change it."""
    values = [binding.value for binding in unit.scopes.root.names.get(name, ())]
    return values[0] if len(values) == 1 and values[0] is not None and _is_frozen(values[0]) else None


def _is_frozen(node: ast.expr) -> bool:
    match node:
        case ast.BinOp(left=left):
            return _is_frozen(left)
        case ast.Call(func=ast.Name(id=name)):
            return name in _FROZEN
    return isinstance(node, (ast.Attribute, ast.Name, ast.Tuple))


def _texts(
    world: SpecializerWorld, unit: Unit, node: ast.expr | None, busy: Sequence[str]
) -> list[str] | None:
    from builder.specialize.evaluating.evaluate import Evaluator  # which asks about this itself

    match node:
        case ast.Constant(value=str(said)):
            return [said]
        case ast.Name() | ast.Attribute():
            named = Evaluator(world, unit).qualified(node, unit.scopes.root)
            return _listed(world, named, busy) if isinstance(named, str) else None
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            if not all(isinstance(part, (ast.Constant, ast.Starred)) for part in parts):
                return None
        case ast.Call(func=ast.Name(id=name), args=[*parts], keywords=[]) if (
            name in _MAKERS and len(parts) < 2 and not any(isinstance(p, ast.Constant) for p in parts)
        ):
            pass  # of a text these make letters
        case ast.BinOp(left=left, op=ast.Add() | ast.BitOr(), right=right):
            parts = [left, right]
        case ast.Starred(value=part) if not isinstance(part, ast.Constant):
            parts = [part]
        case _:
            return None
    found = [_texts(world, unit, part, busy) for part in parts]
    return None if None in found else [text for texts in found if texts is not None for text in texts]
