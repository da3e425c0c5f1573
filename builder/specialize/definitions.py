"""The names a file defines: what others may import, and what must not vanish unexplained."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from builder.specialize.evaluating.scopes import Binding, Scope
from builder.specialize.unit import Unit, told


@told
def defined(unit: Unit) -> frozenset[str]:
    """Qualified names bound at top level and in classes, imports included."""
    return frozenset(_names(unit, unit.scopes.root, unit.name, lambda binding: True))


def vanishing(unit: Unit) -> frozenset[str]:
    """Those of them that what leaves at the end of the round takes along."""

    def stays(binding: Binding) -> bool:
        if binding.node in unit.leaving or binding.alias in unit.leaving:
            return False
        line = getattr(binding.node, "lineno", 0)
        return not any(low <= line <= high for low, high in unit.hidden)

    return defined(unit) - frozenset(_names(unit, unit.scopes.root, unit.name, stays))


def _names(unit: Unit, scope: Scope, prefix: str, counts: Callable[[Binding], bool]) -> Iterator[str]:
    for name, bindings in scope.names.items():
        full = f"{prefix}.{name}"
        for binding in filter(counts, bindings):
            alias = binding.alias
            if isinstance(binding.node, ast.Import) and alias and not alias.asname and "." in alias.name:
                continue  # `import a.b` binds `a`, which does not vanish with `a.b`
            home = unit.absolute(binding.node) if isinstance(binding.node, ast.ImportFrom) else ""
            if home == unit.name != unit.package:
                continue  # it takes the name from itself; a package has its modules so
            yield full
            if binding.kind == "class":
                yield from _names(unit, unit.scopes.of(binding.node), full, counts)
