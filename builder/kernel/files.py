"""The edge: the published wheel, downloaded on request or given, and the one that is written."""

from __future__ import annotations

import hashlib
import mmap
import os
import tempfile
from pathlib import Path

from builder.adapter import PROGRAM
from builder.emit.archive import join
from builder.errors import fail
from builder.kernel.repack import KernelWheel
from builder.upstream import cache, download


def fetch(project: str, version: str, machine: str, where: Path, offline: bool) -> Path:
    """The wheel's file in the cache `where`, under its sha256, downloaded with pip unless it is there.

    Raises BuildError (K001) when it cannot be had.
    """
    if wheel := _cached(where, project, version, machine):
        return wheel
    try:
        if offline:
            raise download.PipError("it is not in the cache, and no network may be used")
        with cache.writing(where) as folder, cache.scratch(folder) as temporary:
            if wheel := _cached(folder, project, version, machine):
                return wheel  # another process downloaded it while this one waited
            got = download.wheel(project, version, temporary, download.PLATFORMS[machine])
            return cache.keep(got, folder / "kernel" / cache.sha256_of(got) / got.name)
    except download.PipError as error:
        message = f"The wheel of {project} {version} cannot be had: {error.reason}."
        raise fail("K001", message, hint="get it elsewhere and name it with --wheel") from None


def _cached(folder: Path, project: str, version: str, machine: str) -> Path | None:
    """A copy whose content still has the digest that its folder is named by."""
    name = project.replace("-", "_")
    for path in sorted((folder / "kernel").glob(f"*/{name}-{version}-*_{machine}.whl")):
        if cache.sha256_of(path) == path.parent.name:
            return path
    return None


def mapped(path: Path) -> memoryview:
    """The bytes of a wheel without reading them all into memory. Raises BuildError (K001)."""
    try:
        with path.open("rb") as file:
            if not os.fstat(file.fileno()).st_size:
                raise fail("K001", f"The wheel '{path.name}' is empty.")
            # the mapping goes with the last part of it that is in use
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise fail("K001", f"The wheel '{path}' cannot be read: {reason}.") from None


def write(folder: Path, wheel: KernelWheel) -> tuple[Path, str, int]:
    """Write the wheel into a folder, which is made if need be; what had its name is replaced in one step.

    Returns path, sha256 and size in bytes. Raises BuildError (E002).
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{PROGRAM}.", dir=folder) as scratch:
            part, hashed = Path(scratch, wheel.name), hashlib.sha256()
            with part.open("wb") as file:
                for piece in join(wheel.members):
                    file.write(piece)
                    hashed.update(piece)
                file.flush()
                os.fchmod(file.fileno(), 0o644)
                os.fsync(file.fileno())
                size = file.tell()
            os.replace(part, folder / wheel.name)
            return folder / wheel.name, hashed.hexdigest(), size
    except OSError as error:
        raise fail("E002", f"'{folder}' cannot be written: {error.strerror or error}.") from None
    except ValueError as error:
        raise fail("K002", f"The repacked wheel would hold {error}.") from None
