"""Results of earlier builds, kept in the cache folder.

The file can be deleted at any time, and only the version of the builder that wrote it reads it. A build
that proves something (`lock`, `--paranoid`) does not use it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from builder.pipeline.run import Recalled

#: Limits for each kind of entry, about ten upstreams; the oldest are dropped first.
MAX_ENTRIES = {"summaries": 16_000, "told": 8, "folds": 8_000, "tops": 8_000, "specializations": 6}
_PREFIX = "recalled-"


@contextmanager
def recalled(cache: Path | None) -> Iterator[Recalled]:
    """The stored results; what the block adds is stored when it ends. A file that cannot be read or written
    costs only time."""
    from builder.upstream.cache import default_cache

    folder = cache or default_cache()
    path = folder / f"{_PREFIX}{_version()}"
    found = _read(path)
    before = _sizes(found)
    yield found
    if _sizes(found) != before:
        with contextlib.suppress(OSError):
            _write(path, found)


def _version() -> str:
    from builder.pipeline.request_key import own_digest

    python = f"{sys.implementation.cache_tag}-{sys.hexversion:x}"
    return hashlib.sha256(f"{own_digest()} {python}".encode()).hexdigest()[:16]


def _sizes(found: Recalled) -> list[object]:
    """Changes with every addition; entries that are used again move to the end."""
    return [
        next(reversed(part), None) if MAX_ENTRIES[name] < 10 else len(part) for name, part in _parts(found)
    ]


def _parts(found: Recalled) -> list[tuple[str, dict[object, object]]]:
    return [(name, getattr(found, name)) for name in MAX_ENTRIES]


def _read(path: Path) -> Recalled:
    from builder.pipeline.run import Recalled

    with contextlib.suppress(OSError, pickle.PickleError, EOFError, AttributeError, ImportError, ValueError):
        data = path.read_bytes()
        if hashlib.sha256(data[32:]).digest() == data[:32]:
            found = pickle.loads(data[32:])
            if isinstance(found, Recalled):
                return found
    return Recalled()


def _write(path: Path, found: Recalled) -> None:
    for name, part in _parts(found):
        for key in list(part)[: -MAX_ENTRIES[name]]:
            del part[key]
    data = pickle.dumps(found, pickle.HIGHEST_PROTOCOL)
    path.parent.mkdir(parents=True, exist_ok=True)
    for old in path.parent.glob(f"{_PREFIX}*"):  # of other versions of the builder
        if old != path:
            old.unlink(missing_ok=True)
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(hashlib.sha256(data).digest() + data)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
