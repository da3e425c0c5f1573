"""The results of earlier runs, kept in an SQLite file in the cache folder.

SQLite makes each save whole or not at all, lets several builders read and write at once, and reads single
entries. An entry belongs to the builder that made it, and is checked before it is used. A file that is
missing, damaged or cannot be written costs only time. What proves a pin (`lock`, `--update-lock`,
`--paranoid`) does not use it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from builder import memo
from builder.errors import BuildError

if TYPE_CHECKING:
    from builder.pipeline.run import Recalled

NAME = "results-2.sqlite3"
#: How large all entries may get; those that were not used for longest leave first.
MAX_BYTES = 400_000_000
#: Entries that the others never push out, since each stands for a whole build, and how large they may get.
LASTING, MAX_LASTING_BYTES = "outcomes", 200_000_000
#: How long to wait for another builder that saves (seconds).
_PATIENCE = 10.0
_SCHEMA = (
    # `key` is of builder, kind and key; `value` is a digest of key and result, then the result
    "create table if not exists results (key blob primary key, value blob not null)",
    # apart, because an update rewrites a row; `used` is the number of the run that used it last
    "create table if not exists uses "
    "(key blob primary key, used integer, size integer, lasting integer) without rowid",
)


@contextmanager
def recalled(cache: Path | None) -> Iterator[Recalled]:
    """The stored results. What the block adds is stored when it ends, even with problems: a result about one
    file does not depend on the others."""
    from builder.pipeline.run import Recalled
    from builder.upstream.cache import default_cache

    file = CacheFile((cache or default_cache()) / NAME, _builder())
    try:
        with memo.using(file):
            yield Recalled.of(file)
    except BuildError:
        file.save()
        raise
    file.save()


def _builder() -> bytes:
    """A digest of the builder, its tools, and the Python that runs it."""
    from builder.pipeline.request_key import own_digest, versions

    return memo.digest(own_digest(), versions(), sys.implementation.cache_tag, sys.hexversion)


class CacheFile:
    """Results by kind and key, of one builder. `put` keeps them in memory, `save` writes them."""

    def __init__(self, path: Path, builder: bytes) -> None:
        self._path = path
        self._builder = builder
        self._added: dict[tuple[str, bytes], bytes] = {}
        self._used: set[bytes] = set()
        # process -> its connection: one must not be used on both sides of a fork
        self._readers: dict[int, sqlite3.Connection] = {}
        self._readable = path.is_file()

    def get(self, kind: str, key: bytes) -> bytes | None:
        """The result under a key, or None; never one that was damaged or that another builder made."""
        if (data := self._added.get((kind, key))) is not None:
            return data
        if not self._readable:
            return None
        name = self._name(kind, key)
        try:
            row = self._reader().execute("select value from results where key = ?", (name,)).fetchone()
        except sqlite3.Error as error:
            self._give_up(error)
            return None
        if row is None or not isinstance(row[0], bytes) or row[0][:32] != _check(name, row[0][32:]):
            return None
        self._used.add(name)
        return row[0][32:]

    def put(self, kind: str, key: bytes, data: bytes) -> None:
        """Keep a result; `save` writes it."""
        self._added[kind, key] = data

    def added(self) -> memo.Entries:
        """What this process has put."""
        return self._added

    def save(self) -> None:
        """Write what was put, and forget what was not used for longest. What cannot be written is lost."""
        self._close()
        if not self._added:
            return
        with contextlib.suppress(OSError, sqlite3.Error):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.closing(sqlite3.connect(self._path, _PATIENCE, isolation_level=None)) as writer:
                # a file that a crash of the machine damages costs only time
                writer.execute("pragma synchronous = off")
                writer.execute("begin immediate")
                self._write(writer)
                writer.execute("commit")

    def _write(self, writer: sqlite3.Connection) -> None:
        for statement in _SCHEMA:
            writer.execute(statement)
        (run,) = writer.execute("select coalesce(max(used), 0) + 1 from uses").fetchone()
        for (kind, key), data in self._added.items():
            name = self._name(kind, key)
            writer.execute("insert or replace into results values (?, ?)", (name, _check(name, data) + data))
            use = name, run, len(data), kind == LASTING
            writer.execute("insert or replace into uses values (?, ?, ?, ?)", use)
        writer.executemany("update uses set used = ? where key = ?", [(run, one) for one in self._used])
        _shrink(writer)

    def _name(self, kind: str, key: bytes) -> bytes:
        return memo.digest(self._builder, kind, key)

    def _reader(self) -> sqlite3.Connection:
        process = os.getpid()
        if process not in self._readers:
            uri = f"{self._path.absolute().as_uri()}?mode=rw"  # to roll back what a killed builder began
            self._readers[process] = sqlite3.connect(uri, _PATIENCE, uri=True)
        return self._readers[process]

    def _give_up(self, error: sqlite3.Error) -> None:
        """Read nothing more in this run; a file that is no database any more is deleted."""
        self._close()
        self._readable = False
        if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
            with contextlib.suppress(OSError):
                self._path.unlink()

    def _close(self) -> None:
        if reader := self._readers.pop(os.getpid(), None):
            with contextlib.suppress(sqlite3.Error):
                reader.close()


def _check(name: bytes, data: bytes) -> bytes:
    return hashlib.sha256(name + data).digest()


def _shrink(writer: sqlite3.Connection) -> None:
    """Delete what was not used for longest until the rest fits."""
    oldest = []
    for lasting, most in ((False, MAX_BYTES), (True, MAX_LASTING_BYTES)):
        rows = writer.execute("select key, size from uses where lasting = ? order by used", (lasting,))
        stored = rows.fetchall()
        total = sum(size for _, size in stored)
        for key, size in stored:
            if total <= most:
                break
            oldest.append((key,))
            total -= size
    for table in ("results", "uses"):
        writer.executemany(f"delete from {table} where key = ?", oldest)
