"""Carries edits out on the text of files and compares the result with the oracle.

The oracle makes the same edits on the syntax tree. A comparison needs the new text parsed, so it waits
until somebody parses the text anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from builder.source.agreement import agrees, first_difference
from builder.source.ops import Op
from builder.source.parse import Module
from builder.source.splice import splice
from builder.specialize.results import Mismatch
from builder.specialize.unit import Unit


class CheckedEdits:
    """The edits of one run. `mismatches`: those that the oracle does not confirm."""

    def __init__(self, check: bool) -> None:
        self.mismatches: list[Mismatch] = []
        self._check = check
        self._pending: dict[str, tuple[Unit, Sequence[Op]]] = {}

    def splice(self, unit: Unit, ops: Iterable[Op]) -> bytes | None:
        """The text of a file after the edits; None, and a mismatch, where they cannot be carried out."""
        try:
            return splice(unit.module, ops)
        except (ValueError, AssertionError) as error:
            self.report(unit.path, f"the edits cannot be done: {error}")
            return None

    def postpone(self, unit: Unit, ops: Sequence[Op]) -> None:
        """Remember an edit that `confirm` compares later. `unit`: the file before the edit."""
        self._pending[unit.path] = (unit, ops)

    def pending(self, path: str) -> bool:
        """Return whether an edit of the file waits for its comparison."""
        return path in self._pending

    def take(self, path: str) -> tuple[Unit, Sequence[Op]] | None:
        """The edit of a file that waits, which then no longer does."""
        return self._pending.pop(path, None)

    def confirm(self, unit: Unit) -> None:
        """Compare the edit of a file that waits, if there is one. `unit`: the file after the edit."""
        pending = self.take(unit.path)
        if pending is not None:
            self.compare(*pending, unit.module)

    def compare(self, unit: Unit, ops: Iterable[Op], after: Module) -> None:
        """Report a mismatch unless the edits of `unit` give the program `after`."""
        if self._check and not agrees(unit.module, ops, after):
            self.report(unit.path, first_difference(after, unit.module, ops))

    def report(self, path: str, sentence: str) -> None:
        """Report a mismatch; an empty path stands for the program as a whole."""
        self.mismatches.append(Mismatch(path, sentence))

    def since(self, count: int) -> tuple[Mismatch, ...]:
        """Take back and give the mismatches after the first `count`."""
        recent = tuple(self.mismatches[count:])
        del self.mismatches[count:]
        return recent
