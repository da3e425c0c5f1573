"""The names a file defines: what others may import, and what must not vanish unexplained."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from builder.specialize.evaluating.scopes import Scope
from builder.specialize.unit import Unit, told


@told
def defined(unit: Unit) -> frozenset[str]:
    """Qualified names bound at top level and in classes, imports included."""
    return frozenset(_names(unit, unit.scopes.root, unit.name))


def _names(unit: Unit, scope: Scope, prefix: str) -> Iterator[str]:
    for name, bindings in scope.names.items():
        full = f"{prefix}.{name}"
        for binding in bindings:
            alias = binding.alias
            if isinstance(binding.node, ast.Import) and alias and not alias.asname and "." in alias.name:
                continue  # `import a.b` binds `a`, which does not vanish with `a.b`
            home = unit.absolute(binding.node) if isinstance(binding.node, ast.ImportFrom) else ""
            if home == unit.name != unit.package:
                continue  # it takes the name from itself; a package has its modules so
            yield full
            if binding.kind == "class":
                yield from _names(unit, unit.scopes.of(binding.node), full)
