"""What an output folder holds: its marker, the index for a fast check that it is unchanged, and the build
that it was written by.

The marker lists every file with its mode and git blob id; it is the same for the same build anywhere.
The index beside it holds the stats of the files right after writing, so an unchanged folder is recognized
by its stats; a file whose stats differ is read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from builder.adapter import PROGRAM
from builder.tree import EXECUTABLE, FILE, SYMLINK, Entry, Snapshot, Tree, blob_id

TREE = "tree"
MARKER = f".{PROGRAM}"
INDEX = f".{PROGRAM}.index"
_FORMAT = 1

#: the stat of a file: modification time (ns), size (bytes), inode, mode
Stat = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Marker:
    """The content of an output: the key of the build's inputs, and path -> entry."""

    key: str
    files: Mapping[str, Entry]

    def to_bytes(self) -> bytes:
        files = {path: f"{entry.mode} {entry.blob}" for path, entry in sorted(self.files.items())}
        # ascii: a path that is not UTF-8 stays an escape
        return (json.dumps({"format": _FORMAT, "key": self.key, "files": files}, indent=0) + "\n").encode()

    @staticmethod
    def from_bytes(data: bytes) -> Marker:
        """Raises ValueError for anything that `to_bytes` does not write."""
        try:
            document = json.loads(data)
            if document["format"] != _FORMAT:
                raise ValueError(f"marker of format {document['format']}")
            files = {path: Entry(*text.split(" ")) for path, text in document["files"].items()}
            return Marker(str(document["key"]), files)
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError("not a marker") from error


@dataclass(frozen=True, slots=True)
class Condition:
    """The differences between a folder and its marker.

    `foreign` paths are not ours, `edited` ones have other content, `missing` ones are absent or have lost
    their permissions; `clean` ones are as they were written.
    """

    foreign: tuple[str, ...]
    edited: tuple[str, ...]
    missing: tuple[str, ...]
    clean: Mapping[str, Stat]

    @property
    def intact(self) -> bool:
        return not (self.foreign or self.edited or self.missing)


@dataclass(slots=True)
class Index:
    """path -> stat right after writing, and the digest of the request."""

    stats: dict[str, Stat] = field(default_factory=dict)
    asked: str = ""

    def to_bytes(self) -> bytes:
        return json.dumps({"asked": self.asked, "stats": self.stats}, separators=(",", ":")).encode()

    @staticmethod
    def from_bytes(data: bytes) -> Index:
        """An unreadable index counts as empty: every file is then read and compared."""
        try:
            document = json.loads(data)
            stats = {path: (a, b, c, d) for path, (a, b, c, d) in document["stats"].items()}
            return Index(stats, str(document["asked"]))
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
            return Index()


def read(folder: bytes) -> Marker | None:
    """The marker of a folder, or None. Raises ValueError when it cannot be understood."""
    try:
        with open(os.path.join(folder, MARKER.encode()), "rb") as file:
            return Marker.from_bytes(file.read())
    except (FileNotFoundError, NotADirectoryError):
        return None


def read_index(folder: bytes) -> Index:
    """The index of a folder; an empty one where there is none."""
    try:
        with open(os.path.join(folder, INDEX.encode()), "rb") as file:
            return Index.from_bytes(file.read())
    except FileNotFoundError:
        return Index()


def condition(folder: bytes, marker: Marker) -> Condition:
    """Compare a folder with its marker: stats first, content where they differ."""
    index = read_index(folder)
    clean: dict[str, Stat] = {}
    foreign: list[str] = []
    edited: list[str] = []
    for path, on_disk in _files(folder, b""):
        entry = marker.files.get(path)
        if entry is None:
            foreign.append(path)
            continue
        stat = stat_of(on_disk.stat(follow_symlinks=False))
        if index.stats.get(path) == stat:
            clean[path] = stat
        elif not _same(on_disk, entry):
            edited.append(path)
        elif entry.mode == SYMLINK or stat[3] & 0o7777 == (0o755 if entry.mode == EXECUTABLE else 0o644):
            clean[path] = stat
    missing = sorted(marker.files.keys() - clean.keys() - set(edited))
    return Condition(tuple(sorted(foreign)), tuple(sorted(edited)), tuple(missing), clean)


def stat_of(stat: os.stat_result) -> Stat:
    """The part of a stat that the index keeps."""
    return (stat.st_mtime_ns, stat.st_size, stat.st_ino, stat.st_mode)


def _files(folder: bytes, prefix: bytes) -> Iterator[tuple[str, os.DirEntry[bytes]]]:
    """Everything that is not a folder, but for our two own files and Python's caches."""
    with os.scandir(folder) as entries:
        for entry in entries:
            path = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                if entry.name != b"__pycache__":  # importing from the tree does not count as an edit
                    yield from _files(entry.path, path + b"/")
            elif path not in (MARKER.encode(), INDEX.encode()):
                yield path.decode("utf-8", "surrogateescape"), entry


def _same(on_disk: os.DirEntry[bytes], entry: Entry) -> bool:
    if on_disk.is_symlink():
        return entry.mode == SYMLINK and blob_id(os.readlink(on_disk.path)) == entry.blob
    mode = on_disk.stat(follow_symlinks=False).st_mode
    if not on_disk.is_file(follow_symlinks=False) or entry.mode != (EXECUTABLE if mode & 0o100 else FILE):
        return False
    with open(on_disk.path, "rb") as file:
        return blob_id(file.read()) == entry.blob


@dataclass(frozen=True, slots=True)
class Previous:
    """An earlier build.

    `tree`: path -> entry, as it was written. `batches`: path -> the batch that its ledger row names first,
    removed paths included. `surface`: (kind, group, name) of what users choose by name. `projects`: its
    pyproject.toml files. `manifest_batches`: those of its manifest, also those that did nothing. `changed`:
    files of the folder that are not as they were written.
    """

    tree: Mapping[str, Entry]
    batches: Mapping[str, str]
    surface: frozenset[tuple[str, str, str]]
    projects: Snapshot
    manifest_batches: frozenset[str]
    changed: tuple[str, ...]


def read_previous(out: Path) -> Previous | None:
    """The build that `out` holds; None where it holds none, or none that can be read."""
    folder = os.path.realpath(os.fsencode(out))
    try:
        marker = read(folder)
        if marker is None:
            return None
        top = f"{TREE}/"
        tree = {p.removeprefix(top): entry for p, entry in marker.files.items() if p.startswith(top)}
        rows = [json.loads(line) for line in (out / "ledger.jsonl").read_bytes().splitlines()]
        items = json.loads((out / "surface.json").read_bytes())["after"]
        figures = json.loads((out / "build.json").read_bytes())["batches"]
        wanted = {p: tree[p] for p in tree if p.rpartition("/")[2] == "pyproject.toml"}
        contents = {entry.blob: (out / TREE / path).read_bytes() for path, entry in wanted.items()}
        now = condition(folder, marker)
        return Previous(
            tree,
            {row["path"]: row["batch"] for row in rows},
            frozenset((item["kind"], item["group"], item["name"]) for item in items),
            Snapshot(Tree(wanted), contents),
            frozenset(one["id"] for one in figures),
            tuple(sorted({*now.foreign, *now.edited, *now.missing})),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None  # `dist` says what is wrong with the folder
