"""The record of an applied edit: where it applied, and the hashes before and after."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from builder.errors import Mark


@dataclass(frozen=True, slots=True)
class Record:
    """One place that one edit changed. `before` and `after` are sha256 hex digits of its source
    text; `before` is None for something new, `after` for something that left."""

    mark: Mark
    batch: str
    why: str
    kind: str
    file: str
    line: int  # in the file before the edit; 0: the whole file
    before: str | None
    after: str | None


def digest(data: bytes | str | None) -> str | None:
    """sha256 in hex; None for None."""
    if data is None:
        return None
    raw = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
    return hashlib.sha256(raw).hexdigest()
