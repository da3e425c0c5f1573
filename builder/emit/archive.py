"""A zip archive as a pure function: modes 644 or 755, one date, no extra fields."""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterable, Iterator

from builder.upstream.wheel_archive import Packed

#: 1980-01-01 as a zip has it: the first date that it can hold; the time of day is zero
_DAY = 1 << 5 | 1
_UTF8_NAME = 0x800
_LEVEL = 6
_TOO_MUCH = "more files or bytes than a zip without ZIP64 can hold"


def join(members: Iterable[Packed]) -> Iterator[bytes | memoryview]:
    """The archive of these members as chunks, in their order; nothing is compressed here.

    Raises ValueError for more files or bytes than a zip without ZIP64 can hold.
    """
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
                "<4s6H3I5H2I", b"PK\x01\x02", made_by, 20, flags, member.method, 0, _DAY, *sizes,
                0, 0, 0, 0, member.mode << 16, offset,
            ),
            name,
        )  # fmt: skip
        yield struct.pack("<4s5H3I2H", b"PK\x03\x04", 20, flags, member.method, 0, _DAY, *sizes, 0) + name
        yield member.stream
        offset += 30 + len(name) + len(member.stream)
    central = b"".join(directory)
    if offset + len(central) > 0xFFFFFFFF:
        raise ValueError(_TOO_MUCH)
    count = len(directory) // 2
    yield central
    yield struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, count, count, len(central), offset, 0)


def deflate(path: str, data: bytes, executable: bool = False) -> Packed:
    """A file as a member: deflated, or stored where that is no smaller."""
    maker = zlib.compressobj(_LEVEL, zlib.DEFLATED, -15)
    stream = maker.compress(data) + maker.flush()
    method, stream = (8, stream) if len(stream) < len(data) else (0, data)
    digest = hashlib.sha256(data).digest()
    return Packed(path, executable, method, stream, zlib.crc32(data), len(data), digest)
