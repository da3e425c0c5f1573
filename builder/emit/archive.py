"""A zip archive as a pure function: sorted names, modes 644 or 755, one date, no extra fields."""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from builder.upstream.wheel_archive import Packed

#: 1980-01-01, the first date that a zip can hold (seconds since 1970, UTC)
EPOCH = 315532800
_UTF8_NAME = 0x800
_LEVEL = 6
_TOO_MUCH = "more files or bytes than a zip without ZIP64 can hold"


@dataclass(frozen=True, slots=True)
class Member:
    """One file of the archive."""

    data: bytes
    executable: bool = False

    @property
    def mode(self) -> int:
        """Permission bits, with the type bits of a regular file."""
        return 0o100755 if self.executable else 0o100644

    @property
    def size(self) -> int:
        return len(self.data)

    @property
    def sha256(self) -> bytes:
        return hashlib.sha256(self.data).digest()


def pack(members: Mapping[str, Member], epoch: int = EPOCH, workers: int = 2) -> bytes:
    """The archive's bytes: the same for any number of workers, and with the same zlib on any machine.

    `epoch` is the date of every member in seconds since 1970; a zip knows two-second steps from 1980 to
    2107, in UTC here. Members keep the order of the mapping.
    """
    # zlib releases the GIL, so threads are enough
    with ThreadPoolExecutor(workers) as pool:
        packed = list(pool.map(deflate, members.keys(), members.values()))
    return b"".join(join(packed, epoch))


def join(members: Iterable[Packed], epoch: int = EPOCH) -> Iterator[bytes | memoryview]:
    """The archive of these members as chunks, in their order; nothing is compressed here.

    Raises ValueError for more files or bytes than a zip without ZIP64 can hold.
    """
    day, second = _dos(epoch)
    directory: list[bytes] = []
    offset = 0
    for count, member in enumerate(members, 1):
        name = member.path.encode("utf-8")
        flags = 0 if member.path.isascii() else _UTF8_NAME
        sizes = (member.crc, len(member.stream), member.size, len(name))
        made_by = 3 << 8 | 20  # made on Unix, so that unzip applies the mode
        if count > 0xFFFF or offset + len(member.stream) > 0xFFFFFFFF or member.size > 0xFFFFFFFF:
            raise ValueError(_TOO_MUCH)
        directory += (
            struct.pack(
                "<4s6H3I5H2I", b"PK\x01\x02", made_by, 20, flags, member.method, second, day, *sizes,
                0, 0, 0, 0, member.mode << 16, offset,
            ),
            name,
        )  # fmt: skip
        yield struct.pack("<4s5H3I2H", b"PK\x03\x04", 20, flags, member.method, second, day, *sizes, 0) + name
        yield member.stream
        offset += 30 + len(name) + len(member.stream)
    central = b"".join(directory)
    if offset + len(central) > 0xFFFFFFFF:
        raise ValueError(_TOO_MUCH)
    count = len(directory) // 2
    yield central
    yield struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, count, count, len(central), offset, 0)


def deflate(path: str, member: Member) -> Packed:
    """A member with its stream: deflated, or stored where that is no smaller."""
    maker = zlib.compressobj(_LEVEL, zlib.DEFLATED, -15)
    stream = maker.compress(member.data) + maker.flush()
    smaller = len(stream) < len(member.data)
    method, stream = (8, stream) if smaller else (0, member.data)
    crc = zlib.crc32(member.data)
    return Packed(path, member.executable, method, stream, crc, member.size, member.sha256)


def _dos(epoch: int) -> tuple[int, int]:
    import time

    year, month, day, hour, minute, second, *_ = time.gmtime(min(max(epoch, EPOCH), 4354819198))
    return (year - 1980) << 9 | month << 5 | day, hour << 11 | minute << 5 | second // 2
