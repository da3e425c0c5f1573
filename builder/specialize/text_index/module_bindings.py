"""What a module binds at its top level: all that other files can see of it, and little of its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from builder.specialize.evaluating.scopes import Binding, Scope


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import binds: a module, or with `name` something that is taken from it."""

    module: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class ModuleBindings:
    """The names that a module binds.

    `names`: name -> what its imports bind, or None when something else than an import binds it;
    `stars`: the absolute modules of the star imports; `covered`: name -> those of them that stand after
    the first binding of that name, and may bind it again.
    """

    names: Mapping[str, tuple[Imported, ...] | None]
    stars: tuple[str, ...]
    covered: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def imported(
    node: ast.Import | ast.ImportFrom, alias: ast.alias, absolute: Callable[[ast.ImportFrom], str]
) -> Imported:
    """What an import binds by one of its names; `absolute` gives the module of `from X import`."""
    if isinstance(node, ast.Import):
        return Imported(alias.name if alias.asname else alias.name.split(".")[0])
    return Imported(absolute(node), alias.name)


def imported_by(binding: Binding, absolute: Callable[[ast.ImportFrom], str]) -> Imported:
    """What the binding of an import refers to."""
    assert isinstance(binding.node, (ast.Import, ast.ImportFrom)) and binding.alias is not None
    return imported(binding.node, binding.alias, absolute)


def module_bindings(root: Scope, absolute: Callable[[ast.ImportFrom], str]) -> ModuleBindings:
    """What the module's scope binds."""
    names = {
        name: tuple(imported_by(b, absolute) for b in bindings)
        if all(b.kind == "import" for b in bindings)
        else None
        for name, bindings in root.names.items()
        if bindings
    }
    covered = {}
    for name, bindings in root.names.items() if root.star else ():
        first = min((getattr(b.node, "lineno", 0) for b in bindings), default=0)
        later = tuple(absolute(node) for node in root.star if node.lineno > first)
        if later:
            covered[name] = later
    return ModuleBindings(names, tuple(absolute(node) for node in root.star), covered)
