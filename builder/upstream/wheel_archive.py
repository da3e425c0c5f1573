"""Reads an untrusted wheel: every member is checked before any is used.

What stays is copied as it was compressed: the result does not depend on the zlib of this machine, and
hundreds of MB are not compressed again.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import mmap
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from builder.errors import BuildError, Problem, fail
from builder.manifest.paths import path_fault

Buffer = bytes | memoryview

#: More than any kernel wheel unpacks to (bytes); a bigger one is an attack or a mistake.
MAX_UNPACKED = 16_000_000_000
#: The largest member that is read whole (bytes): Python files and metadata.
MAX_TEXT = 64_000_000
#: What is unpacked at once (bytes); it becomes 66 MB at most, as deflate goes.
_PIECE = 1 << 16
_LISTED = 20
#: signatures of RECORD: RECORD does not list them, and they do not fit a repacked wheel
_SIGNATURES = ("RECORD.jws", "RECORD.p7s")


@dataclass(frozen=True, slots=True)
class Packed:
    """One file of an archive: its packed stream, and what its data is (sizes in bytes)."""

    path: str
    executable: bool
    method: int  # 0 stored, 8 deflated
    stream: Buffer
    crc: int
    size: int
    sha256: bytes

    @property
    def mode(self) -> int:
        """The Unix mode that every wheel of ours gives the file."""
        return 0o100755 if self.executable else 0o100644

    def data(self) -> bytes:
        """The unpacked content. Raises BuildError (K002) for one too large to be read whole."""
        if self.size > MAX_TEXT:
            raise fail("K002", f"The member '{self.path}' has {self.size:,} bytes, too many for a text.")
        return b"".join(_unpack(self.method, self.stream, self.size))


@dataclass(frozen=True, slots=True)
class Archive:
    """A checked wheel: its members by path, and the name of its dist-info without the suffix."""

    members: Mapping[str, Packed]
    stem: str

    @property
    def info(self) -> str:
        return f"{self.stem}.dist-info"


def read(buffer: Buffer, workers: int = 2, limit: int = MAX_UNPACKED) -> Archive:
    """The wheel in these bytes, with every member unpacked once and compared with RECORD.

    `limit`: the most that it may unpack to (bytes).
    Raises BuildError (K002) with everything that is wrong: unsafe or repeated names, links, broken
    streams, members that RECORD does not list or lists otherwise.
    """
    view = memoryview(buffer)
    infos = _listed(view, limit)
    _stop(list(_names(infos)))
    files = [info for info in infos if not info.is_dir()]
    with ThreadPoolExecutor(workers) as pool:
        results = list(pool.map(lambda info: _member(view, info), files))
    _stop([*(item for item in results if isinstance(item, str)), *_overlaps(infos)])
    members = {item.path: item for item in results if isinstance(item, Packed)}
    stem = _stem(members)
    info = f"{stem}.dist-info"
    _stop(list(_record(members, info)))
    for name in _SIGNATURES:
        members.pop(f"{info}/{name}", None)
    return Archive(dict(sorted(members.items())), stem)


def _stop(faults: Sequence[str]) -> None:
    """Raise BuildError (K002) for the faults, of which the first are listed and the others counted."""
    more = len(faults) - _LISTED
    counted = [f"There are {more} more such faults in the wheel."] if more > 0 else []
    if faults:
        raise BuildError(Problem("K002", fault) for fault in (*faults[:_LISTED], *counted))


def _listed(view: memoryview, limit: int) -> list[zipfile.ZipInfo]:
    # the central directory of a wheel that is mapped into memory is read without a copy of the wheel
    file: Any = view.obj if isinstance(view.obj, mmap.mmap) else io.BytesIO(view)
    try:
        with zipfile.ZipFile(file) as archive:
            infos, comment = archive.infolist(), archive.comment
    except (zipfile.BadZipFile, NotImplementedError, struct.error, ValueError, EOFError, OSError) as error:
        raise fail("K002", f"The wheel is not a zip archive that can be read: {error}.") from None
    total = sum(info.file_size for info in infos)
    if total > limit:
        raise fail("K002", f"The wheel says that it unpacks to {total:,} bytes.")
    # an archive before or behind this one is what another program would read
    if comment or min((info.header_offset for info in infos), default=0):
        raise fail("K002", "The wheel has something before its first member, or behind its list of members.")
    return infos


def _names(infos: list[zipfile.ZipInfo]) -> Iterator[str]:
    """A fault for each name that leaves the installation folder, clashes, or is not that of a plain file."""
    seen: dict[str, str] = {}  # name without case -> name
    for info in infos:
        name = info.orig_filename
        shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in name)[:200]
        fault = path_fault(name.removesuffix("/")) if name == info.filename else "has a NUL character"
        # where case does not count, one would overwrite the other
        key = name.casefold().rstrip("/")
        if fault is None and key in seen:
            fault = "is there twice" if seen[key] == name else f"is '{seen[key]}' but for its case"
        seen[key] = name
        if fault := fault or _fault(info):
            yield f"The member '{shown}' of the wheel {fault}."


def _fault(info: zipfile.ZipInfo) -> str | None:
    if not info.filename.isascii() and not info.flag_bits & 0x800:
        return "has a name of no stated encoding"
    kind = stat.S_IFMT(info.external_attr >> 16)
    if info.create_system == 3 and kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "is a link or a device"
    if info.is_dir() and info.file_size:
        return "is a folder with content"
    if info.flag_bits & 0x1:
        return "is encrypted"
    return None if info.compress_type in (0, 8) else f"is packed by method {info.compress_type}"


def _member(view: memoryview, info: zipfile.ZipInfo) -> Packed | str:
    """The member with its digest; a fault when its stream contradicts the directory."""
    start = _start(view, info)
    if start is None or start + info.compress_size > len(view):
        return f"The member '{info.filename}' of the wheel has no stream of its own."
    stream = view[start : start + info.compress_size]
    digest, crc, size = hashlib.sha256(), 0, 0
    try:
        for piece in _unpack(info.compress_type, stream, info.file_size):
            digest.update(piece)
            crc = zlib.crc32(piece, crc)
            size += len(piece)
    except zlib.error as error:
        return f"The member '{info.filename}' of the wheel cannot be unpacked: {error}."
    if (size, crc) != (info.file_size, info.CRC):
        return f"The member '{info.filename}' of the wheel is damaged."
    executable = bool(info.external_attr >> 16 & 0o111)
    return Packed(info.filename, executable, info.compress_type, stream, crc, size, digest.digest())


def _start(view: memoryview, info: zipfile.ZipInfo) -> int | None:
    """Where the stream of a member starts: after its local header, which must be for the same name."""
    at = info.header_offset
    if at < 0 or at + 30 > len(view):
        return None
    mark, flags, names, extra = struct.unpack_from("<4s2xH18xHH", view, at)
    raw = info.orig_filename.encode("utf-8" if info.flag_bits & 0x800 else "cp437", "replace")
    if mark != b"PK\x03\x04" or flags & 0x1 or bytes(view[at + 30 : at + 30 + names]) != raw:
        return None
    return int(at + 30 + names + extra)


def _unpack(method: int, stream: Buffer, size: int) -> Iterator[bytes]:
    """The data in pieces; it ends soon after `size` (bytes). Raises zlib.error."""
    view = memoryview(stream)
    pieces = (view[at : at + _PIECE] for at in range(0, len(view), _PIECE))
    if method == 0:
        yield from map(bytes, pieces)
        return
    maker, got = zlib.decompressobj(-15), 0
    for piece in pieces:
        data = maker.decompress(piece)
        got += len(data)
        yield data
        if got > size or maker.unused_data:
            break
    if not maker.eof or maker.unused_data:
        raise zlib.error("the stream does not end where its member does")


def _overlaps(infos: list[zipfile.ZipInfo]) -> Iterator[str]:
    """A fault for members that share bytes: readers would disagree about their content."""
    end, before = 0, ""
    for info in sorted(infos, key=lambda i: i.header_offset):
        if info.header_offset < end:
            yield f"The members '{before}' and '{info.filename}' of the wheel overlap."
        end, before = info.header_offset + 30 + len(info.orig_filename) + info.compress_size, info.filename


def _stem(members: Mapping[str, Packed]) -> str:
    folders = {p.partition("/")[0] for p in members if p.partition("/")[0].endswith(".dist-info")}
    if len(folders) != 1:
        what = "no dist-info" if not folders else f"more than one dist-info: {', '.join(sorted(folders))}"
        raise fail("K002", f"The wheel has {what}.")
    folder = folders.pop()
    needed = (f"{folder}/{name}" for name in ("METADATA", "WHEEL", "RECORD"))
    _stop([f"The wheel has no {path}." for path in needed if path not in members])
    return folder.removesuffix(".dist-info")


def _record(members: Mapping[str, Packed], info: str) -> Iterator[str]:
    """A fault for every contradiction between RECORD and the members."""
    own = f"{info}/RECORD"
    try:
        rows = list(csv.reader(io.StringIO(members[own].data().decode("utf-8")), strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        yield f"RECORD of the wheel cannot be read: {error}."
        return
    seen: set[str] = set()
    for row in filter(None, rows):
        path, digest, size = (*row, "", "")[:3]
        if path in seen:
            yield f"RECORD of the wheel lists '{path}' twice."
        seen.add(path)
        if path == own or path in (f"{info}/{name}" for name in _SIGNATURES):
            continue
        member = members.get(path)
        if member is None:
            yield f"RECORD of the wheel lists '{path}', and there is no such member."
        elif not digest.startswith("sha256="):
            yield f"RECORD of the wheel has no sha256 of '{path}'."
        elif digest != f"sha256={base64.urlsafe_b64encode(member.sha256).rstrip(b'=').decode()}":
            yield f"The member '{path}' of the wheel is not what RECORD says."
        elif size and size != str(member.size):
            yield f"The member '{path}' has {member.size:,} bytes, and RECORD says {size}."
    allowed = {own, *(f"{info}/{name}" for name in _SIGNATURES)}
    for path in sorted(set(members) - seen - allowed):
        yield f"RECORD of the wheel does not list '{path}'."
