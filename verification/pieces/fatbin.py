"""Machine code for GPUs in shared libraries: what a card cannot run is overwritten with zeros.

The file keeps its size and all its offsets; zeros cost nothing once it is compressed. It stands for nvprune,
which comes with CUDA's toolkit alone.
"""

from __future__ import annotations

import mmap
import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

_MAGIC = struct.pack("<I", 0xBA55ED50)
_PTX, _ELF = 1, 2
#: Each function of machine code has a section of this name.
_FUNCTION = re.compile(rb"\.nv\.info\.([A-Za-z0-9_]+)")


@dataclass(frozen=True, slots=True)
class _Entry:
    kind: int
    architecture: int  # 90 for sm_90 and sm_90a
    packed: bool  # compressed, so that no name is to be seen
    begin: int
    end: int


def prune(
    library: Path, architecture: int, wanted: Callable[[bytes, bool], bool] = lambda names, packed: True
) -> tuple[int, int]:
    """Overwrite what `architecture` cannot run; the bytes kept and zeroed.

    `wanted` decides about machine code, by the names of its functions and whether these are compressed.
    """
    kept = zeroed = 0
    with library.open("r+b") as file, mmap.mmap(file.fileno(), 0) as data:
        for entry in list(_entries(data)):
            size = entry.end - entry.begin
            if _fits(entry, architecture) and (
                entry.kind != _ELF or wanted(_names(data, entry), entry.packed)
            ):
                kept += size
            else:
                data[entry.begin : entry.end] = bytes(size)
                zeroed += size
    return kept, zeroed


def _fits(entry: _Entry, architecture: int) -> bool:
    if entry.kind == _ELF:
        return entry.architecture == architecture
    return entry.kind != _PTX or entry.architecture <= architecture


def _names(data: mmap.mmap, entry: _Entry) -> bytes:
    return b" ".join(_FUNCTION.findall(data[entry.begin : entry.end]))


def _entries(data: mmap.mmap) -> Iterator[_Entry]:
    """What the fat binaries of a library hold."""
    at = 0
    while (at := data.find(_MAGIC, at)) >= 0:
        version, header, size = struct.unpack_from("<HHQ", data, at + 4)
        if version != 1 or header != 16 or at + 16 + size > len(data):
            at += 4
            continue
        at, end = at + 16, at + 16 + size
        while at < end:
            kind, _, header, length = struct.unpack_from("<HHIQ", data, at)
            if not 32 <= header <= 4096:
                break
            (packed,) = struct.unpack_from("<I", data, at + 16)
            (architecture,) = struct.unpack_from("<I", data, at + 28)
            yield _Entry(kind, architecture, bool(packed), at + header, at + header + length)
            at += header + length
        at = end
