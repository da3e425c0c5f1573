"""A zip archive as a pure function: sorted names, modes 644 or 755, one date, no extra fields."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

#: 1980-01-01, the first date that a zip can hold (seconds since 1970, UTC)
EPOCH = 315532800
_UTF8_NAME = 0x800
_LEVEL = 6


@dataclass(frozen=True, slots=True)
class Member:
    """One file of the archive."""

    data: bytes
    executable: bool = False

    @property
    def mode(self) -> int:
        """Permission bits, with the type bits of a regular file."""
        return 0o100755 if self.executable else 0o100644


def pack(members: Mapping[str, Member], epoch: int = EPOCH, workers: int = 2) -> bytes:
    """The archive's bytes: the same for any number of workers, and with the same zlib on any machine.

    `epoch` is the date of every member in seconds since 1970; a zip knows two-second steps from 1980 to
    2107, in UTC here. Members keep the order of the mapping.
    """
    day, second = _dos(epoch)
    items = list(members.items())
    # zlib works outside the interpreter's lock, so threads are enough
    if workers > 1 and len(items) > 1:
        with ThreadPoolExecutor(workers) as pool:
            shares = [items[start::workers] for start in range(workers)]
            halves = list(pool.map(_deflate_all, shares))
        packed = [halves[n % workers][n // workers] for n in range(len(items))]
    else:
        packed = _deflate_all(items)
    body: list[bytes] = []
    directory: list[bytes] = []
    offset = 0
    for (path, member), (method, stream, crc) in zip(items, packed, strict=True):
        name = path.encode("utf-8")
        flags = 0 if path.isascii() else _UTF8_NAME
        sizes = (crc, len(stream), len(member.data), len(name))
        body += (
            struct.pack("<4s5H3I2H", b"PK\x03\x04", 20, flags, method, second, day, *sizes, 0),
            name,
            stream,
        )
        made_by = 3 << 8 | 20  # unix, so that the mode counts
        directory += (
            struct.pack(
                "<4s6H3I5H2I", b"PK\x01\x02", made_by, 20, flags, method, second, day, *sizes,
                0, 0, 0, 0, member.mode << 16, offset,
            ),
            name,
        )  # fmt: skip
        offset += 30 + len(name) + len(stream)
    central = b"".join(directory)
    if len(items) > 0xFFFF or offset + len(central) > 0xFFFFFFFF:
        raise ValueError("more files or bytes than a zip without its 64-bit form can hold")
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, len(items), len(items), len(central), offset, 0)
    return b"".join((*body, central, end))


def _deflate_all(items: Sequence[tuple[str, Member]]) -> list[tuple[int, bytes, int]]:
    return [_deflate(member.data) for _, member in items]


def _deflate(data: bytes) -> tuple[int, bytes, int]:
    """Zip method (0 stored, 8 deflated), stream, CRC."""
    maker = zlib.compressobj(_LEVEL, zlib.DEFLATED, -15)
    stream = maker.compress(data) + maker.flush()
    return (8, stream, zlib.crc32(data)) if len(stream) < len(data) else (0, data, zlib.crc32(data))


def _dos(epoch: int) -> tuple[int, int]:
    import time

    year, month, day, hour, minute, second, *_ = time.gmtime(min(max(epoch, EPOCH), 4354819198))
    return (year - 1980) << 9 | month << 5 | day, hour << 11 | minute << 5 | second // 2
