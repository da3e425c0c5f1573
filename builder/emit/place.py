"""The place of an output folder: the builder's names beside it, why it cannot be written, and the exchange
of two folders."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shlex
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from builder.adapter import PROGRAM
from builder.errors import fail

#: what the probe writes (bytes): a file system without room for one block has room for no output
_BLOCK = 4096
_REQUESTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: renameat2 of Linux and renamex_np of macOS have the same flag for an exchange
_AT_FDCWD, _EXCHANGE = -100, 2
_UNABLE = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}
_ESCAPED = re.compile(rb"\\([0-7]{3})")

Exchange = Callable[[bytes, bytes], bool]


@dataclass(frozen=True, slots=True)
class Place:
    """An output folder and our names beside it."""

    folder: bytes

    @property
    def _beside(self) -> bytes:
        parent, name = os.path.split(self.folder)
        return os.path.join(parent, b"." + name + f".{PROGRAM}.".encode())

    @property
    def lock(self) -> bytes:
        return self._beside + b"lock"

    @property
    def old(self) -> bytes:
        return self._beside + b"old"

    def staging(self) -> bytes:
        """A name that no folder has: leftovers of a killed run stay until the end."""
        number = 0
        while os.path.lexists(name := self._beside + b"new%d" % number):
            number += 1
        return name

    @property
    def quiet(self) -> bool:
        """Return whether no builder is working here, and no killed one left anything."""
        return not (os.path.lexists(self.lock) or self.leftovers())

    def leftovers(self) -> list[bytes]:
        """The folders of killed runs beside the output, sorted."""
        parent, start = os.path.split(self._beside + b"new")
        leftovers = [os.path.join(parent, name) for name in os.listdir(parent) if name.startswith(start)]
        # without an output, the old one is no leftover: it is all there is
        spare = os.path.lexists(self.old) and os.path.lexists(self.folder)
        return sorted(leftovers) + ([self.old] if spare else [])


def place_of(out: Path) -> Place:
    """The place that `out` leads to, if a folder can be there. Raises BuildError E002."""
    folder = os.path.realpath(os.fsencode(os.path.abspath(out)))
    parent, name = os.path.split(folder)
    if not name:
        raise fail("E002", f"'{out}' cannot be an output folder: it is the root of the file system.")
    if os.path.islink(folder):
        raise fail("E002", f"'{out}' is a dangling symlink.")
    if not os.path.isdir(parent):
        raise no_parent(out, parent, "an output folder", "give another OUT")
    return Place(folder)


def no_parent(path: Path, parent: bytes, what: str, remedy: str) -> Exception:
    """E002: the folder of a path is missing, or one above it is a file. `what`: what the path was to be."""
    above = parent
    while not os.path.lexists(above):
        above = os.path.dirname(above)
    if not os.path.isdir(above):
        message = f"'{path}' cannot be {what}: '{os.fsdecode(above)}' is a file, not a folder."
        return fail("E002", message, hint=remedy)
    where = os.fsdecode(parent)
    return fail("E002", f"The folder '{where}' does not exist.", hint=f"mkdir -p {shlex.quote(where)}")


def write_whole(
    path: Path, data: bytes, shown: str = "", hint: str | None = None, make_folder: bool = False
) -> None:
    """Write one file, in place of what has its name, whole or not at all; a link stays a link.

    `shown`: the file in the message, by default its name. Raises BuildError (E002).
    """
    file = Path(os.path.realpath(path))
    beside = file.with_name(f".{file.name}.new")
    try:
        if make_folder:
            file.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(data)
        if file.exists():
            shutil.copymode(file, beside)
        os.replace(beside, file)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink()
        message = f"{shown or path.name} cannot be written: {error.strerror or error}."
        raise fail("E002", message, hint=hint) from None


def probe(place: Place) -> None:
    """Try what writing an output takes: a folder beside it with a file of one block, both removed again.

    Permissions alone do not tell: root may write to what is read-only, and a full disk lets anyone in.
    The caller holds the lock of the place. Raises OSError with the true cause.
    """
    staging = place.staging()
    with uninterrupted():
        os.mkdir(staging)
        try:
            handle = os.open(os.path.join(staging, b"probe"), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                os.write(handle, bytes(_BLOCK))
            finally:
                os.close(handle)
        finally:
            shutil.rmtree(staging, ignore_errors=True)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Let requests to end wait for the block: an interrupted clean-up leaves what it should delete."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _REQUESTS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def is_mount_point(folder: bytes) -> bool:
    """Return whether something is mounted at this path; on Linux also when it is of the same file system."""
    if os.path.ismount(folder):
        return True
    with contextlib.suppress(OSError), open("/proc/self/mountinfo", "rb") as rows:
        # spaces and the like are octal escapes there
        return any(
            folder == _ESCAPED.sub(lambda match: bytes([int(match[1], 8)]), row.split(b" ")[4])
            for row in rows
        )
    return False


def exchange(one: bytes, other: bytes) -> bool:
    """Swap two folders of one file system atomically; False when system or file system cannot.

    Raises OSError when the exchange is supported but fails.
    """
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    try:
        if sys.platform == "darwin":
            status = libc.renamex_np(one, other, _EXCHANGE)
        else:
            status = libc.renameat2(_AT_FDCWD, one, _AT_FDCWD, other, _EXCHANGE)
    except AttributeError:
        return False
    number = ctypes.get_errno()
    if status and number not in _UNABLE:
        raise OSError(number, os.strerror(number), os.fsdecode(one), None, os.fsdecode(other))
    return not status
