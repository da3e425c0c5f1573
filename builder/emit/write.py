"""Writes the output folder atomically.

Everything is written to a staging folder beside the old output, which then takes its place in one step;
the old output is deleted last. A kill at any point leaves the old output or the new one complete, and
the next run removes the leftovers.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from builder import progress
from builder.emit import marker as marks
from builder.emit.marker import INDEX, MARKER, TREE, Index, Marker
from builder.emit.place import (
    Exchange,
    Place,
    exchange,
    is_mount_point,
    place_of,
    probe,
    uninterrupted,
)
from builder.errors import BuildError, Problem, fail
from builder.manifest.paths import reserved_by_git
from builder.tree import EXECUTABLE, FILE, GITLINK, SYMLINK, Entry, Snapshot, blob_id

_LISTED = 20
#: names of the stages passed to `checkpoint`, in order; `between` only where folders cannot be exchanged
STAGES = ("locked", "staged", "half", "written", "between", "swapped", "cleaned")


@dataclass(frozen=True, slots=True)
class Output:
    """An output: the tree, the files beside it, and a key of all inputs that decide them."""

    tree: Snapshot
    files: Mapping[str, bytes]
    key: str


def unchanged(out: Path, key: str | None = None, asked: str | None = None) -> bool:
    """Return whether `out` holds the whole output of the build with this key, or for this digest of a request
    (see `write`), and nothing of a killed run lies beside it. Writes nothing, takes no lock."""
    try:
        place = Place(os.path.realpath(os.fsencode(out)))
        same = asked is None or marks.read_index(place.folder).asked == asked
        return same and place.quiet and _holds(place, key)
    except OSError:
        return False


def _holds(place: Place, key: str | None) -> bool:
    try:
        marker = marks.read(place.folder)
    except ValueError:
        return False
    if marker is None or (key is not None and marker.key != key):
        return False
    return marks.condition(place.folder, marker).intact


def check(out: Path) -> None:
    """Raise what `write` would raise about the place itself, before any work is done for it.

    Raises BuildError: E001 for files that are not ours, E002 for a place that cannot be written.
    """
    place = place_of(out)
    with _coded(out):
        if os.path.lexists(place.folder):
            _inspect(out, place)
        if is_mount_point(place.folder):
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), os.fsdecode(place.folder))
        try:
            with _locked(out, place, 0):
                probe(place)
        except BuildError:
            return  # another builder is writing there, so that it can be done; `write` waits for it


def write(
    out: Path,
    output: Output,
    *,
    asked: str = "",
    wait_s: float = 5.0,
    checkpoint: Callable[[str], None] = lambda stage: None,
    swap: Exchange = exchange,
) -> bool:
    """Make `out` hold exactly this output; False when it already did.

    A symlink is followed. `asked` is the digest of the request, if that decides the output; it is kept in
    the index, since two requests may give the same output. `wait_s` is how long to wait for
    another builder (seconds). `checkpoint` is called with each name of `STAGES`.
    Raises BuildError: E001 when the folder holds files that are not ours or were edited by hand,
    E002 when the place cannot be written, E004 when another builder keeps it; the old output is intact.
    """
    if unchanged(out, output.key):
        return False
    place = place_of(out)
    with _coded(out), _locked(out, place, wait_s):
        checkpoint("locked")
        if not os.path.lexists(place.folder) and os.path.lexists(place.old):
            os.rename(place.old, place.folder)
        if _holds(place, output.key):  # the builder that we waited for wrote the same output
            _clean(place)
            return False
        reuse = _inspect(out, place)
        staging = place.staging()
        try:
            _fill(staging, output, asked, place.folder, reuse, checkpoint)
            checkpoint("written")
            _put(staging, place, swap, checkpoint)
        finally:
            _clean(place)
        checkpoint("cleaned")
    return True


@contextlib.contextmanager
def _coded(out: Path) -> Iterator[None]:
    """Turn an OSError into E002."""
    try:
        yield
    except OSError as error:
        what = f"{error.strerror or error}"
        if error.filename:
            what = f"{os.fsdecode(error.filename)}: {what}"
        hint = {
            errno.EXDEV: "give a folder that is not a mount point itself",
            errno.EBUSY: "give a folder that is not a mount point itself",
            errno.ENOSPC: "free some space; the previous output is intact",
        }.get(error.errno or 0)
        raise fail("E002", f"'{out}' cannot be written: {what}.", hint=hint) from error


@contextlib.contextmanager
def _locked(out: Path, place: Place, wait_s: float) -> Iterator[None]:
    from filelock import FileLock, Timeout

    path = os.fsdecode(place.lock)
    lock = FileLock(path, timeout=wait_s, poll_interval=0.05)
    try:
        lock.acquire()
    except Timeout as error:
        if not os.path.lexists(path):
            probe(place)  # a lock that cannot be made looks like one that is taken
        message = f"Another builder has been writing to '{out}' for {wait_s:g} s."
        raise fail("E004", message, hint="wait for it, or choose another OUT") from error
    try:
        yield
    finally:
        with uninterrupted():
            # unlink while holding the lock: a process waiting for this inode sees it has no name, and retries
            with contextlib.suppress(OSError):
                os.unlink(path)
            lock.release()


def _inspect(out: Path, place: Place) -> dict[str, tuple[Entry, marks.Stat]]:
    """Raise E001 unless the folder is absent, empty, or ours and as we left it (files may be missing).

    Returns what is there and as we left it: path -> entry and stat.
    """
    if not os.path.lexists(place.folder):
        return {}
    if not os.path.isdir(place.folder):
        raise fail("E001", f"'{out}' is a file, not a folder.", hint="give another OUT")
    there = sorted(os.fsdecode(name) for name in os.listdir(place.folder))
    if not there:
        return {}
    try:
        marker = marks.read(place.folder)
    except ValueError as error:
        message = f"The file '{MARKER}' in '{out}' is not valid, so the folder is left untouched."
        raise fail("E001", message, hint="move the folder away, or choose another OUT") from error
    if marker is None:
        names = ", ".join(there[:5]) + (", ..." if len(there) > 5 else "")
        message = f"'{out}' is not empty, and the builder did not write it (it holds {names})."
        raise fail("E001", message, hint="choose another OUT, or move the files away")
    condition = marks.condition(place.folder, marker)
    hint = f"move it away, or delete '{out}'; changes belong into overlays/"
    texts = [f"'{path}' in '{out}' was not written by the builder." for path in condition.foreign]
    texts += [f"'{path}' in '{out}' was edited after it was built." for path in condition.edited]
    problems = [Problem("E001", _printable(text), hint=hint) for text in texts[:_LISTED]]
    if len(texts) > _LISTED:
        problems.append(Problem("E001", f"There are {len(texts) - _LISTED} more such files in '{out}'."))
    if problems:
        raise BuildError(problems)
    return {path: (marker.files[path], stat) for path, stat in condition.clean.items()}


def _printable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _fill(
    staging: bytes,
    output: Output,
    asked: str,
    previous: bytes,
    reuse: Mapping[str, tuple[Entry, marks.Stat]],
    checkpoint: Callable[[str], None],
) -> None:
    """Write everything below a new folder: tree, files, index, and the marker last.

    A file that the previous output has is linked, not written: it keeps its inode, so that nothing is
    freed when the previous output is deleted. On ext4 creating files after a large delete is 20 times
    slower than this.
    """
    entries = {f"{TREE}/{path}": entry for path, entry in output.tree.tree.items()}
    for name, data in output.files.items():
        if name in (MARKER, INDEX) or name == TREE or name.startswith(TREE + "/"):
            raise ValueError(f"'{name}' is not a name for a file beside the tree")
        entries[name] = Entry(FILE, blob_id(data))
    index = Index(asked=asked)
    made: set[bytes] = set()
    _folder(staging, made)
    _folder(os.path.join(staging, TREE.encode()), made)
    checkpoint("staged")
    half = len(entries) // 2
    for number, (path, entry) in enumerate(progress.counted("files", sorted(entries.items()))):
        if number == half:
            checkpoint("half")
        target = os.path.join(staging, _plain(path))
        _folder(os.path.dirname(target), made)
        if entry.mode == GITLINK:
            _folder(target, made)
            continue
        there, stat = reuse.get(path, (None, None))
        if there == entry and stat and _link(os.path.join(previous, _plain(path)), target):
            index.stats[path] = stat
            continue
        data = output.files[path] if path in output.files else output.tree[path.removeprefix(f"{TREE}/")]
        index.stats[path] = _file(target, entry.mode, data)
    progress.summary(f"{len(entries):,} files")
    listed = {path: entry for path, entry in entries.items() if entry.mode != GITLINK}
    _file(os.path.join(staging, INDEX.encode()), FILE, index.to_bytes())
    _file(os.path.join(staging, MARKER.encode()), FILE, Marker(output.key, listed).to_bytes())


def _plain(path: str) -> bytes:
    parts = path.split("/")
    if "\0" in path or any(part in ("", ".", "..") or reserved_by_git(part) for part in parts):
        raise fail("E002", _printable(f"'{path}' is not a path that can be written inside a folder."))
    return path.encode("utf-8", "surrogateescape")


def _folder(path: bytes, made: set[bytes]) -> None:
    """Make a folder and those above it, down from the staging folder, whatever the umask."""
    if path in made:
        return
    if made:
        _folder(os.path.dirname(path), made)
    os.mkdir(path)
    os.chmod(path, 0o755)
    made.add(path)


def _file(path: bytes, mode: str, data: bytes) -> marks.Stat:
    if mode == SYMLINK:
        os.symlink(data, path)
        return marks.stat_of(os.lstat(path))
    # EXCL: on a case-insensitive file system, colliding names are an error instead of a mix
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(handle, rest) :]
        os.fchmod(handle, 0o755 if mode == EXECUTABLE else 0o644)
        return marks.stat_of(os.fstat(handle))
    finally:
        os.close(handle)


def _link(source: bytes, target: bytes) -> bool:
    try:
        os.link(source, target, follow_symlinks=False)
    except (OSError, NotImplementedError):
        return False  # a file system without hard links: write a copy
    return True


def _put(staging: bytes, place: Place, swap: Exchange, checkpoint: Callable[[str], None]) -> None:
    """Make the staged folder the output; what was there is then in the staging folder, or `old`."""
    if not os.path.lexists(place.folder) or not os.listdir(place.folder):
        os.rename(staging, place.folder)  # an empty folder gives way in the same step
    elif not swap(staging, place.folder):
        if os.path.lexists(place.old):
            shutil.rmtree(place.old)
        os.rename(place.folder, place.old)
        try:
            checkpoint("between")
            os.rename(staging, place.folder)
        except BaseException:
            os.rename(place.old, place.folder)
            raise
    checkpoint("swapped")


def _clean(place: Place) -> None:
    """Delete the leftovers of this and killed runs beside the output; the next run retries failures."""
    with uninterrupted(), contextlib.suppress(OSError):
        for path in place.leftovers():
            shutil.rmtree(path, ignore_errors=True)
