"""Which known name was probably meant by one that nothing has."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """`did you mean ...?`, or None when nothing is near."""
    close = difflib.get_close_matches(name, sorted(candidates), 1, 0.75)
    return f"did you mean {close[0]}?" if close else None
