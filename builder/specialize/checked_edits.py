"""Carries edits out on the text of files, and compares the result with what the oracle does on the tree."""

from __future__ import annotations

from collections.abc import Sequence

from builder.source.agreement import agrees, first_difference
from builder.source.ops import Op
from builder.source.splice import splice
from builder.specialize.text_index.content import Contents
from builder.specialize.unit import Unit


def edited(unit: Unit, ops: Sequence[Op], contents: Contents, check: bool) -> tuple[Unit | None, str]:
    """The file after edits, and why they are not what was asked for.

    None where they cannot be carried out, or change nothing. `check`: compare them with the oracle.
    """
    try:
        data = splice(unit.module, ops)
    except (ValueError, AssertionError) as error:
        return None, f"the edits cannot be done: {error}"
    if data == unit.content.data:
        return None, ""
    try:
        after = Unit(unit.path, unit.name, contents.of(data))
    except SyntaxError as error:
        return None, f"the edits do not give Python: {error}"
    if check and not agrees(unit.module, ops, after.module):
        return after, first_difference(after.module, unit.module, ops)
    return after, ""
