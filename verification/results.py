"""What a check found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

PASSED, FAILED, NOT_RUN = "passed", "failed", "not run"


@dataclass(frozen=True, slots=True)
class Case:
    """One comparison of the two trees. A case that neither tree can run has not run; it proves nothing."""

    name: str
    verdict: str
    lines: tuple[str, ...] = ()  # what differs, or why it did not run
    figures: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Check:
    """All cases of one kind."""

    name: str
    cases: tuple[Case, ...]
    lines: tuple[str, ...] = ()  # what is wrong with the check as a whole

    @property
    def counts(self) -> dict[str, int]:
        """verdict -> number of cases."""
        found = Counter(case.verdict for case in self.cases)
        return {verdict: found[verdict] for verdict in (PASSED, FAILED, NOT_RUN)}

    @property
    def verdict(self) -> str:
        """Failed if anything failed; not run if nothing ran; else passed."""
        if self.lines or self.counts[FAILED]:
            return FAILED
        return PASSED if self.counts[PASSED] else NOT_RUN


def idle(checks: Iterable[Check]) -> list[str]:
    """A sentence for each check in which no case ran: it says nothing of the trees."""
    return [
        f"no case of {check.name} ran: {' / '.join(check.cases[0].lines) if check.cases else 'there is none'}"
        for check in checks
        if check.verdict == NOT_RUN
    ]


def passed(checks: Iterable[Check]) -> bool:
    """Return whether every check passed, with nothing left out."""
    return all(check.verdict == PASSED for check in checks)
