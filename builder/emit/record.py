"""A recorded cut: what a proven build came to, kept beside the lock so that nobody has to cut it again.

It holds paths, spans of upstream's files, reasons and figures, and no text of upstream: see
`builder/pipeline/packing.py`. `manifest.lock` has its digest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from builder import json_xz
from builder.emit.place import write_whole

FOLDER = "records"


@dataclass(frozen=True, slots=True)
class RecordedCut:
    """`proven`: the day (ISO 8601); `builder`: the version of the builder that proved it; `entries`: the
    packed parts of the outcome by their keys."""

    proven: str
    builder: str
    entries: Mapping[str, str]


def path_of(root: Path, pin: str) -> Path:
    """The file of a pin's record beside the manifest."""
    return root / FOLDER / f"{pin}.json.xz"


def read(root: Path, pin: str, sha256: str) -> RecordedCut | None:
    """The record of a pin; None where there is none with this digest."""
    try:
        data = path_of(root, pin).read_bytes()
        if hashlib.sha256(data).hexdigest() != sha256:
            return None
        return RecordedCut(**json_xz.unpacked(data))
    except (OSError, ValueError, TypeError, RecursionError):
        return None


def write(root: Path, pin: str, record: RecordedCut, before: str) -> str:
    """Write the record of a pin and give its digest; `before` is that of the record that is there.

    A record with the same entries stays as it is. Raises BuildError (E002).
    """
    old = read(root, pin, before)
    if old is not None and old.entries == record.entries:
        return before
    data = json_xz.packed(asdict(record))
    path = path_of(root, pin)
    write_whole(path, data, make_folder=True)
    return hashlib.sha256(data).hexdigest()
