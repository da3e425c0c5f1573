"""manifest.lock at the edge: what was proven must come out again; a new proof is written whole."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from builder.emit import lock


def confirm(root: Path, pin: str, proof: lock.Proof, without: Sequence[str], update: bool) -> str | None:
    """Compare with the lock beside the manifest, or record the proof there. The drift in a sentence.

    Raises BuildError (G012) when a locked pin did not reproduce.
    """
    path = root / lock.NAME
    known = lock.from_bytes(path.read_bytes()) if path.is_file() else {}
    if update:
        if without:
            return f"{lock.NAME} is left alone: a build without {', '.join(without)} proves no pin."
        beside = path.with_name(f".{path.name}.new")
        beside.write_bytes(lock.to_bytes(lock.update(known, pin, proof)))
        os.replace(beside, path)
        return f"{lock.NAME} records '{pin}'."
    found = lock.compare(known, pin, proof, without=without)
    lock.require(found)
    return found.drift
