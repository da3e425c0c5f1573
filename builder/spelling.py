"""Suggests the known name that an unknown one probably means."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str], most: int = 1, cutoff: float = 0.6) -> str | None:
    """The known names closest to `name`, as a hint; None when none is close. Case does not count.

    `most`: how many are offered. `cutoff`: how alike they must be, from 0 to 1 (`difflib`).
    """
    by_lower = {one.lower(): one for one in sorted(set(known), reverse=True)}
    exact = difflib.get_close_matches(name, sorted(set(known)), most, cutoff)
    close = exact or [
        by_lower[one] for one in difflib.get_close_matches(name.lower(), by_lower, most, cutoff)
    ]
    return f"did you mean {' or '.join(f'`{one}`' for one in close)}?" if close else None
