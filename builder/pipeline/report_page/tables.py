"""Tables of values that many rows of the page share, so that each is stored once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from builder.emit.ledger import Reason


@dataclass(slots=True)
class Table:
    """Numbers values in the order in which they are first asked for."""

    rows: list[Any] = field(default_factory=list)
    _numbers: dict[Any, int] = field(default_factory=dict)

    def number(self, value: Any) -> int:
        """The number of a hashable value."""
        if value not in self._numbers:
            self._numbers[value] = len(self.rows)
            self.rows.append(value)
        return self._numbers[value]


@dataclass(slots=True)
class Tables:
    """`reasons` holds (batch, rule, place); `texts` holds sentences."""

    reasons: Table = field(default_factory=Table)
    texts: Table = field(default_factory=Table)

    def of(self, reasons: Iterable[Reason]) -> list[int]:
        """The numbers of reasons, each once, in order."""
        rows = ((r.batch, r.rule, str(r.mark) if r.mark else "") for r in reasons)
        return list(dict.fromkeys(self.reasons.number(row) for row in rows))

    def text(self, sentence: str | None) -> int:
        """The number of a sentence; -1 for none."""
        return self.texts.number(sentence) if sentence else -1
