"""The names a file defines: what others may import, and what must not vanish unexplained."""

from __future__ import annotations

from builder.specialize.scopes import Scope
from builder.specialize.world import Unit


def defined(unit: Unit) -> frozenset[str]:
    """Qualified names bound at top level and in classes, imports included."""
    found: set[str] = set()
    _collect(unit, unit.scopes.root, unit.name, found)
    return frozenset(found)


def _collect(unit: Unit, scope: Scope, prefix: str, found: set[str]) -> None:
    for name, bindings in scope.names.items():
        full = f"{prefix}.{name}"
        found.add(full)
        for binding in bindings:
            if binding.kind == "class":
                _collect(unit, unit.scopes.of(binding.node), full, found)
