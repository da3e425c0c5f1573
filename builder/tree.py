"""Trees as values: path -> (mode, blob), with git's own object ids, computed without git."""

from __future__ import annotations

import hashlib
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

FILE, EXECUTABLE, SYMLINK, GITLINK = "100644", "100755", "120000", "160000"


def blob_id(data: bytes) -> str:
    """The git id (40 hex digits) of a blob with this content."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


@dataclass(frozen=True, slots=True)
class Entry:
    """One leaf of a tree: a git mode and the id of its blob (of its commit, for a gitlink)."""

    mode: str
    blob: str


class Tree(Mapping[str, Entry]):
    """An immutable tree. Paths use forward slashes; iteration is in sorted order."""

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        self._entries = dict(sorted(entries.items()))

    def __getitem__(self, path: str) -> Entry:
        return self._entries[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    @cached_property
    def id(self) -> str:
        """The git tree id (40 hex digits) of this tree."""
        root: dict[str, object] = {}
        for path, entry in self._entries.items():
            *folders, name = path.split("/")
            node = root
            for folder in folders:
                node = node.setdefault(folder, {})  # type: ignore[assignment]
            node[name] = entry
        return _tree_id(root)


def _tree_id(node: dict[str, object]) -> str:
    rows: list[tuple[bytes, bytes]] = []
    for name, child in node.items():
        raw = name.encode("utf-8", "surrogateescape")
        if isinstance(child, Entry):
            rows.append((raw, b"%s %s\0%s" % (child.mode.encode(), raw, bytes.fromhex(child.blob))))
        else:
            assert isinstance(child, dict)
            # git sorts a folder as if its name ended in a slash
            rows.append((raw + b"/", b"40000 %s\0%s" % (raw, bytes.fromhex(_tree_id(child)))))
    body = b"".join(row for _, row in sorted(rows))
    return hashlib.sha1(b"tree %d\0" % len(body) + body, usedforsecurity=False).hexdigest()


class Snapshot(Mapping[str, bytes]):
    """A tree together with the bytes of its files (symlinks: their targets; gitlinks: nothing)."""

    def __init__(self, tree: Tree, contents: Mapping[str, bytes]) -> None:
        """`contents` maps blob ids to bytes and must hold every blob of `tree`."""
        self.tree = tree
        self.contents = contents

    def __getitem__(self, path: str) -> bytes:
        entry = self.tree[path]
        return b"" if entry.mode == GITLINK else self.contents[entry.blob]

    def __iter__(self) -> Iterator[str]:
        return iter(self.tree)

    def __len__(self) -> int:
        return len(self.tree)

    def restrict(self, paths: Iterable[str]) -> Snapshot:
        """The same snapshot with only these paths."""
        return Snapshot(Tree({p: self.tree[p] for p in paths}), self.contents)

    def replace(self, files: Mapping[str, bytes | None], modes: Mapping[str, str] | None = None) -> Snapshot:
        """A snapshot with these files written (mode kept, 100644 for new ones) or, for None, removed."""
        entries, written = dict(self.tree), dict[str, bytes]()
        for path, data in files.items():
            if data is None:
                entries.pop(path, None)
                continue
            blob = blob_id(data)
            written[blob] = data
            old = entries.get(path)
            entries[path] = Entry((modes or {}).get(path, old.mode if old else FILE), blob)
        others: Any = self.contents  # a ChainMap writes into its first mapping alone, and nobody writes here
        # contents that are read when they are asked for stay unread
        contents = {**others, **written} if isinstance(others, dict) else ChainMap(written, others)
        return Snapshot(Tree(entries), contents)
