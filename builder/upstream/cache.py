"""The builder's cache folder of downloads; a kill at any point does no harm.

    cache/upstream.git    bare clone; refs/builder/<commit> marks each commit that is complete
    cache/sdist/          <project>-<version>-<sha256>.tar.gz
    cache/wheel/          <python>/<sha256>/<name>.whl
    cache/tmp/            work in progress of the lock's owner; anything else is a leftover

Readers take no lock: files appear by rename only. Writers hold `cache/lock`, which the system releases
when the process ends, however it ends.
"""

from __future__ import annotations

import atexit
import errno
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from builder.adapter import PROGRAM
from builder.errors import fail

#: Seconds to wait for another builder that is downloading.
LOCK_TIMEOUT = 900.0

_READ_ONLY = {errno.EACCES, errno.EPERM, errno.EROFS}


def default_cache() -> Path:
    """The cache folder when none is given: BUILDER_CACHE, else the user's cache folder."""
    given = os.environ.get("BUILDER_CACHE")
    if given:
        return Path(given)
    import platformdirs

    return Path(platformdirs.user_cache_dir(PROGRAM, appauthor=False))


@contextmanager
def writing(cache: Path) -> Iterator[Path]:
    """The folder to write to, locked: the cache, or a temporary folder if the cache is read-only.

    The temporary folder is removed when the process ends. Raises BuildError E002 if the cache is unusable
    for another reason than being read-only.
    """
    cache = cache.absolute()  # pip and git run in folders of their own
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=cache):
            pass
    except OSError as error:
        if error.errno not in _READ_ONLY:
            message = f"The cache {cache} cannot be used: {error.strerror or error}."
            raise fail("E002", message, hint=_HINT) from None
        temporary = Path(tempfile.mkdtemp(prefix=f"{PROGRAM}-"))
        atexit.register(shutil.rmtree, temporary, ignore_errors=True)
        yield temporary
        return

    from filelock import FileLock, Timeout

    lock = FileLock(cache / "lock", timeout=LOCK_TIMEOUT)
    try:
        lock.acquire()
    except Timeout:
        message = f"Another builder has been writing to the cache {cache} for {LOCK_TIMEOUT:.0f} seconds."
        raise fail("E002", message, hint=_HINT) from None
    try:
        shutil.rmtree(cache / "tmp", ignore_errors=True)
        yield cache
    except OSError as error:
        message = f"The cache {cache} cannot be written: {error.strerror or error}."
        raise fail("E002", message, hint=_HINT) from None
    finally:
        lock.release()


_HINT = "name another folder with --cache or BUILDER_CACHE"


@contextmanager
def scratch(folder: Path) -> Iterator[Path]:
    """A new empty folder on the same file system, removed afterwards; only inside `writing`."""
    (folder / "tmp").mkdir(exist_ok=True)
    path = Path(tempfile.mkdtemp(dir=folder / "tmp"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def sha256_of(path: Path) -> str:
    """The digest of a file of any size, in hex. Raises OSError."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 22):
            digest.update(piece)
    return digest.hexdigest()


def keep(path: Path, target: Path) -> Path:
    """Move a complete file from `scratch` to its place in one step. Raises OSError."""
    target.parent.mkdir(parents=True, exist_ok=True)
    os.replace(path, target)
    return target
