"""JSON as it is kept in docs/: compressed with xz, the same bytes for the same data."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any


def packed(data: Any) -> bytes:
    """The bytes of a file that holds the data: keys sorted, a fixed preset, no time stamp."""
    text = json.dumps(data, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME)


def unpacked(file: bytes) -> Any:
    """The data in the bytes of a file. Raises ValueError where they hold none."""
    try:
        return json.loads(lzma.decompress(file))
    except lzma.LZMAError as error:
        raise ValueError(f"this is no JSON that is compressed with xz: {error}") from error


def write(path: Path, data: Any) -> None:
    """Replace a file by one that holds the data."""
    path.write_bytes(packed(data))


def read(path: Path) -> Any:
    """The data in a file. Raises OSError or ValueError."""
    return unpacked(path.read_bytes())
