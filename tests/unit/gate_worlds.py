"""Small trees for the tests of the module index and the gates: files as text, worlds, manifests."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import dedent

from builder.analysis.indexed_tree import IndexedTree, world
from builder.analysis.removals import Removals, index_removals
from builder.errors import Mark
from builder.manifest.model import Guarantees, Manifest, Roots, Upstream
from builder.manifest.statements import Batch, Edit, Rule
from builder.surface.model import Place
from builder.tree import FILE, GITLINK, Entry, Snapshot, Tree, blob_id

PACKAGES = {"pkg": "python/pkg"}


def snapshot(files: Mapping[str, str | bytes | tuple[str, bytes]]) -> Snapshot:
    """A snapshot of files: the bytes or the text of a regular one, or (mode, bytes).

    Text is dedented. The bytes of a gitlink are the id of its commit.
    """
    entries, contents = {}, {}
    for path, value in files.items():
        mode, data = value if isinstance(value, tuple) else (FILE, value)
        if isinstance(data, str):
            data = dedent(data).encode()
        blob = data.decode() if mode == GITLINK else blob_id(data)
        entries[path], contents[blob] = Entry(mode, blob), data
    return Snapshot(Tree(entries), contents)


def package(files: Mapping[str, str | bytes]) -> Snapshot:
    """The same, with every path inside the folder of the package `pkg`."""
    return snapshot({f"python/pkg/{p}": d for p, d in files.items()})


def worlds(before: Mapping[str, str], after: Mapping[str, str | None]) -> tuple[IndexedTree, IndexedTree]:
    """A package before, and with some files replaced, added or (None) removed."""
    old = package(before)
    changes = {f"python/pkg/{p}": None if d is None else dedent(d).encode() for p, d in after.items()}
    return world(old, PACKAGES), world(old.replace(changes), PACKAGES)


def manifest(guarantees: Guarantees | None = None, **more: object) -> Manifest:
    return Manifest(
        file="manifest.yaml",
        name="x",
        label="x",
        upstream=Upstream("r", {}, "d"),
        packages=PACKAGES,
        roots=Roots((), (), ""),
        batches=more.get("batches", ()),  # type: ignore[arg-type]
        guarantees=guarantees or Guarantees(),
    )


def rule(pattern: str, batch: str = "models", line: int = 42) -> Rule:
    return Rule(pattern, "remove", batch, mark=Mark("manifest.yaml", line, 7))


def dropped(name: str, batch: str) -> Removals:
    """The index of a manifest whose batch drops one name."""
    mark = Mark("manifest.yaml", 3, 5)
    edit = Edit("drop", name, batch, "why", mark=mark)
    return index_removals(manifest(batches=(Batch(batch, "why", mark, edits=(edit,)),)), {}, {})


def no_account(place: Place) -> None:
    """Account for nothing that was read at a place."""
