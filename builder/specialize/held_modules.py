"""The modules that a file has as values, so that whoever gets one may read or write any of its names."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from builder.specialize.text_index.module_bindings import Imported, imported
from builder.specialize.text_index.text_search import nodes_on
from builder.specialize.unit import Unit
from builder.specialize.world import SpecializerWorld


def modules_held(world: SpecializerWorld, unit: Unit) -> frozenset[str]:
    """The modules that a file has as values, and not only to take something from them."""
    found: frozenset[str] | None = unit.cache.get("modules held")  # type: ignore[assignment]
    if found is None:
        found = unit.cache["modules held"] = frozenset(_held(world, unit))
    return found


def holds_itself(unit: Unit) -> bool:
    """Does a file have its own module as a value, by `sys.modules[__name__]`?"""
    return any(
        isinstance(node, ast.Subscript)
        and getattr(node.value, "attr", getattr(node.value, "id", "")) == "modules"
        and getattr(node.slice, "id", "") == "__name__"
        and not isinstance(unit.module.parents.get(node), ast.Attribute)
        and not _spells_the_name(unit.module.parents.get(node))
        for node in nodes_on(unit, "modules")
    )


def _held(world: SpecializerWorld, unit: Unit) -> Iterator[str]:
    for what, name, is_package in unit.told(("imports bound", unit.package), lambda: _bound(unit)):
        found = name if is_package else world.what_is(what)
        if isinstance(found, str) and world.is_module(found) and _is_bare(unit, name):
            yield found


def _bound(unit: Unit) -> list[tuple[Imported, str, bool]]:
    """What the imports of a file bind at any depth, the name, and whether that is the package of a module."""
    found: dict[tuple[Imported, str, bool], None] = {}
    for node in nodes_on(unit, "import"):
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            continue
        for alias in node.names:
            if alias.name != "*":
                is_package = isinstance(node, ast.Import) and not alias.asname
                first = alias.name.partition(".")[0] if is_package else alias.name
                found[imported(node, alias, unit.absolute), alias.asname or first, is_package] = None
    return list(found)


def _is_bare(unit: Unit, name: str) -> bool:
    return unit.told(("bare", name), lambda: _bare(unit, name))


def _bare(unit: Unit, name: str) -> bool:
    """Is a module that is bound to a name used in other ways than to take something from it?"""
    for node in nodes_on(unit, name):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            parent = unit.module.parents.get(node)
            if isinstance(parent, ast.Attribute) and not parent.attr.startswith("__"):
                continue
            if not _spells_the_name(parent):
                return True
    return False


def _spells_the_name(parent: ast.AST | None) -> bool:
    """Is this `setattr(module, "name", ...)`, which looks up that name alone?"""
    if not isinstance(parent, ast.Call) or len(parent.args) < 2:
        return False
    called = getattr(parent.func, "id", "") in ("delattr", "getattr", "hasattr", "setattr")
    return called and isinstance(parent.args[1], ast.Constant)
