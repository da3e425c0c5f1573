"""datasets: the hash by which outlines knows a tokenizer again."""

from __future__ import annotations

from verification.machine.absent import implement


def install() -> None:
    """Implement what is asked of it."""
    implement("datasets.fingerprint.Hasher.hash", lambda value: type(value).__qualname__)
