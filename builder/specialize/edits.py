"""Carries edits out on the text of files, and compares the result with what the oracle does on the tree.

Names that a file defines, and that others may import, must not vanish unexplained.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from builder.source.ops import Op
from builder.source.oracle import agrees, first_difference
from builder.source.splice import splice
from builder.specialize.evaluating.scopes import Scope
from builder.specialize.text_index.content import Contents
from builder.specialize.unit import Unit, told


def edited(
    unit: Unit, ops: Sequence[Op], contents: Contents, check: bool
) -> tuple[Unit | None, frozenset[str], str]:
    """The file after edits, the names that leave with them, and why the edits are not what was asked for.

    None where they cannot be carried out, or change nothing. `check`: compare them with the oracle.
    """
    try:
        data = splice(unit.module, ops)
    except (ValueError, AssertionError) as error:
        return None, frozenset(), f"the edits cannot be done: {error}"
    if data == unit.content.data:
        return None, frozenset(), ""
    try:
        after = Unit(unit.path, unit.name, contents.of(data))
    except SyntaxError as error:
        return None, frozenset(), f"the edits do not give Python: {error}"
    if check and not agrees(unit.module, ops, after.module):
        return after, frozenset(), first_difference(after.module, unit.module, ops)
    return after, defined(unit) - defined(after), ""


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
