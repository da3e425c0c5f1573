"""The edge: the wheel that is given, and the one that is written, whole or not at all."""

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


def digest(view: memoryview) -> str:
    """sha256 of a buffer, in hex."""
    return hashlib.sha256(view).hexdigest()


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
