"""What a build would change in an output folder: paths, lines of code, what users choose, requirements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from builder.analysis.projects import projects
from builder.emit.ledger import Row
from builder.emit.marker import Previous
from builder.manifest.model import Manifest
from builder.pipeline.cut import Cut
from builder.surface.model import Key
from builder.tree import Snapshot

Sign = Literal["+", "-", "~"]
SIGNS: tuple[Sign, ...] = ("+", "-", "~")


@dataclass(frozen=True, slots=True)
class Changes:
    """The differences, each with `+` for what the build adds, `-` for what it removes, `~` for what it
    changes.

    `paths`: (sign, path, batch). `surface`: (sign, sentence), requirements included.
    """

    paths: tuple[tuple[Sign, str, str], ...]
    surface: tuple[tuple[Sign, str], ...]

    def __bool__(self) -> bool:
        return bool(self.paths or self.surface)

    @property
    def by_batch(self) -> Mapping[str, Counter[Sign]]:
        """Batch -> how many of its paths are added, removed and changed."""
        counts: dict[str, Counter[Sign]] = {}
        for sign, _, batch in self.paths:
            counts.setdefault(batch, Counter())[sign] += 1
        return counts

    @property
    def totals(self) -> Counter[Sign]:
        """How many paths are added, removed and changed."""
        return Counter(sign for sign, _, _ in self.paths)


def changes(previous: Previous, cut: Cut, rows: tuple[Row, ...], manifest: Manifest) -> Changes:
    """Return the differences between an earlier build and this cut; `rows`: its ledger.

    A path that comes back counts for the batch that had removed it.
    """
    batches = {row.path: row.batch for row in rows}
    paths: list[tuple[Sign, str, str]] = []
    tree = cut.output.tree
    for path in sorted({*previous.tree, *tree}):
        old, new = previous.tree.get(path), tree.get(path)
        if old == new:
            continue
        sign: Sign = "+" if old is None else "-" if new is None else "~"
        before, now = previous.batches.get(path, ""), batches.get(path, "")
        paths.append((sign, path, (before or now) if sign == "+" else (now or before)))
    return Changes(tuple(paths), tuple(_surface(previous, cut, manifest)))


def _surface(previous: Previous, cut: Cut, manifest: Manifest) -> list[tuple[Sign, str]]:
    after = {(key.kind, key.group, key.name) for key in cut.surfaces.after}
    lines: list[tuple[Sign, str]] = []
    for kind, group, name in sorted(previous.surface ^ after):
        key = Key(kind, group, name)  # type: ignore[arg-type]
        text = f"{key} of {group}" if kind in ("flag", "route") else str(key)
        lines.append(("+" if (kind, group, name) in after else "-", text))
    old, new = _requirements(previous.projects, manifest), _requirements(cut.output, manifest)
    lines += [("+" if one in new else "-", f"requirement {one[1]} of {one[0]}") for one in sorted(old ^ new)]
    return lines


def _requirements(tree: Snapshot, manifest: Manifest) -> set[tuple[str, str]]:
    return {(p.path, r.text) for p in projects(tree, manifest.packages) for r in p.requirements}
