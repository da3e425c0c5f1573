"""The two trees that are compared."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from builder.tree import EXECUTABLE, FILE, SYMLINK, Entry, Tree, blob_id
from verification import suite

#: What of a tree is imported or read when it runs, and upstream's own tests with what they read.
RUNS = ("python/", "sgl-kernel/python/", "sgl-kernel/csrc/", "examples/chat_template/")


@dataclass(frozen=True, slots=True)
class Subject:
    """A tree in a folder."""

    role: str  # "upstream" or "ours"
    folder: Path
    tree: str  # git tree id (40 hex digits)

    def modules(self) -> list[str]:
        """Every module under python/, by its dotted name, sorted."""
        root = self.folder / "python"
        found = []
        for path in root.glob("sglang/**/*.py"):
            parts = path.relative_to(root).with_suffix("").parts
            if parts[-1] != "__main__":
                found.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
        return sorted(found)


@dataclass(frozen=True, slots=True)
class Output:
    """What an output folder says of itself in build.json."""

    upstream: str  # a commit, or a pin
    upstream_tree: str
    tree: str
    wheel: str
    wheel_sha256: str
    batches: frozenset[str] = frozenset()  # those that are on

    def told(self) -> dict[str, Any]:
        """The same as JSON has it."""
        return {**asdict(self), "batches": sorted(self.batches)}

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Output:
        """What `told` gives. Raises TypeError for anything else."""
        return cls(**{**said, "batches": frozenset(said.get("batches", ()))})


def output(out: Path) -> Output:
    """Read build.json of an output folder. Raises OSError, KeyError or ValueError when there is none."""
    said = json.loads((out / "build.json").read_text())
    upstream, wheel = said["upstream"], said.get("wheel") or {}
    git = upstream.get("origin") == "git"
    return Output(
        upstream["commit"] if git else upstream["spec"],
        upstream["tree"],
        said["output"]["tree"],
        wheel.get("name", ""),
        wheel.get("sha256", ""),
        frozenset(batch["id"] for batch in said["batches"]),
    )


def ours(out: Path) -> Subject:
    """The tree of an output folder, with the id that its files have now."""
    folder = out.resolve() / "tree"
    return Subject("ours", folder, tree_of(folder).id)


def tree_of(folder: Path) -> Tree:
    """The git tree of the files in a folder."""
    entries: dict[str, Entry] = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            entries[name] = Entry(SYMLINK, blob_id(os.fsencode(os.readlink(path))))
        elif path.is_file():
            mode = EXECUTABLE if path.stat().st_mode & 0o100 else FILE
            entries[name] = Entry(mode, blob_id(path.read_bytes()))
    return Tree(entries)


def upstream(tree: Tree, read: Callable[[Iterable[str]], Mapping[str, bytes]], cache: Path) -> Subject:
    """Upstream's tree, as far as it runs, in a folder of the cache; `read` gives bytes by blob id."""
    wanted = (*RUNS, *(file.path for file in suite.read()))
    part = hashlib.sha256("\0".join(wanted).encode()).hexdigest()[:8]
    folder = cache / "trees" / f"{tree.id}-{part}"

    def write(to: Path) -> None:
        chosen = {path: entry for path, entry in tree.items() if path.startswith(wanted)}
        regular = {path: entry for path, entry in chosen.items() if entry.mode in (FILE, EXECUTABLE)}
        contents = read({entry.blob for entry in regular.values()})
        for path, entry in regular.items():
            file = to / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(contents[entry.blob])

    return Subject("upstream", once(folder, write), tree.id)


def once(folder: Path, write: Callable[[Path], None]) -> Path:
    """A folder that `write` fills, unless it is there; several processes may ask for it at a time."""
    if not folder.is_dir():
        partial = folder.with_name(f"{folder.name}.{os.getpid()}")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        write(partial)
        try:
            partial.rename(folder)
        except OSError:  # another process was first
            if not folder.is_dir():
                raise
            shutil.rmtree(partial)
    return folder
