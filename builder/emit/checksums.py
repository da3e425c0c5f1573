"""SHA256SUMS: one line a file, as `sha256sum -c` reads it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

NAME = "SHA256SUMS"


def sha256sums(files: Mapping[str, bytes]) -> bytes:
    """Digests of these files, sorted by name. tree/ is not among them: its tree id covers it."""
    return "".join(
        f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(files.items())
    ).encode()
