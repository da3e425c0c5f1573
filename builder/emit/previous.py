"""What an output folder holds of an earlier build, for a comparison with the next one."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from builder.emit import marker as marks
from builder.emit.write import TREE
from builder.tree import Entry, Snapshot, Tree

_PREFIX = f"{TREE}/"


@dataclass(frozen=True, slots=True)
class Previous:
    """An earlier build.

    `tree`: path -> entry, as it was written. `batches`: path -> the batch that its ledger row names first,
    removed paths included. `surface`: (kind, group, name) of what users choose by name. `projects`: its
    pyproject.toml files. `changed`: files of the folder that are not as they were written.
    """

    tree: Mapping[str, Entry]
    batches: Mapping[str, str] = field(default_factory=dict)
    surface: frozenset[tuple[str, str, str]] = frozenset()
    projects: Snapshot = field(default_factory=lambda: Snapshot(Tree({}), {}))
    changed: tuple[str, ...] = ()


def read_previous(out: Path) -> Previous | None:
    """The build that `out` holds; None where it holds none, or none that can be read."""
    folder = os.path.realpath(os.fsencode(out))
    try:
        marker = marks.read(folder)
        if marker is None:
            return None
        tree = {p[len(_PREFIX) :]: entry for p, entry in marker.files.items() if p.startswith(_PREFIX)}
        rows = [json.loads(line) for line in (out / "ledger.jsonl").read_bytes().splitlines()]
        items = json.loads((out / "surface.json").read_bytes())["after"]
        wanted = {p: tree[p] for p in tree if p.rpartition("/")[2] == "pyproject.toml"}
        contents = {entry.blob: (out / TREE / path).read_bytes() for path, entry in wanted.items()}
        condition = marks.condition(folder, marker)
        return Previous(
            tree,
            {row["path"]: row["batch"] for row in rows},
            frozenset((item["kind"], item["group"], item["name"]) for item in items),
            Snapshot(Tree(wanted), contents),
            tuple(sorted({*condition.foreign, *condition.edited, *condition.missing})),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None  # `dist` says what is wrong with the folder
