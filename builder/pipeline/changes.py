"""What a build would change in an output folder: paths, lines of code, what users choose, requirements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from builder.analysis.projects import projects, requirement_name
from builder.emit.ledger import Row
from builder.emit.marker import Previous
from builder.errors import Mark
from builder.manifest.model import Manifest
from builder.pipeline.model import Cut
from builder.surface.model import Key
from builder.tree import Snapshot

Sign = Literal["+", "-", "~"]
SIGNS: tuple[Sign, ...] = ("+", "-", "~")


@dataclass(frozen=True, slots=True)
class Changes:
    """The differences, each with `+` for what the build adds, `-` for what it removes, `~` for what it
    changes.

    `paths`: (sign, path, batch). `surface`: (sign, sentence, cause of a loss), requirements included.
    `new_batches`: those that the earlier build's manifest did not have.
    """

    paths: tuple[tuple[Sign, str, str], ...]
    surface: tuple[tuple[Sign, str, str], ...]
    new_batches: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.paths or self.surface)

    @property
    def by_batch(self) -> Mapping[str, Counter[Sign]]:
        """Batch -> how many of its paths are added, removed and changed; a new batch may have none."""
        counts: dict[str, Counter[Sign]] = {batch: Counter() for batch in self.new_batches}
        for sign, _, batch in self.paths:
            counts.setdefault(batch, Counter())[sign] += 1
        return counts

    @property
    def totals(self) -> Counter[Sign]:
        """How many paths are added, removed and changed."""
        return Counter(sign for sign, _, _ in self.paths)


def changes(previous: Previous, cut: Cut, rows: tuple[Row, ...], manifest: Manifest) -> Changes:
    """Return the differences between an earlier build and this cut; `rows`: its ledger.

    A path that comes back counts for the batch that had removed it, one that changed for a batch that is new
    and among its reasons.
    """
    new_batches = tuple(b.id for b in manifest.batches if b.id not in previous.manifest_batches)
    batches: dict[str, str] = {}
    for row in rows:
        reasons = [reason.batch for reason in (row.reason, *row.also)]
        batches[row.path] = next((batch for batch in reasons if batch in new_batches), row.batch)
    paths: list[tuple[Sign, str, str]] = []
    tree = cut.output.tree
    for path in sorted({*previous.tree, *tree}):
        old, new = previous.tree.get(path), tree.get(path)
        if old == new:
            continue
        sign: Sign = "+" if old is None else "-" if new is None else "~"
        before, now = previous.batches.get(path, ""), batches.get(path, "")
        paths.append((sign, path, (before or now) if sign == "+" else (now or before)))
    return Changes(tuple(paths), tuple(_surface(previous, cut, manifest)), new_batches)


def _surface(previous: Previous, cut: Cut, manifest: Manifest) -> list[tuple[Sign, str, str]]:
    after = {(key.kind, key.group, key.name) for key in cut.surfaces.after}
    causes = {d.key: d.causes for d in cut.surfaces.differences if d.change == "lost"}
    lines: list[tuple[Sign, str, str]] = []
    for kind, group, name in sorted(previous.surface ^ after):
        key = Key(kind, group, name)  # type: ignore[arg-type]
        text = f"{key} of {group}" if kind in ("flag", "route") else str(key)
        gained = (kind, group, name) in after
        why = "; ".join(_because(cause.batch, cause.rule, cause.mark) for cause in causes.get(key, ()))
        lines.append(("+", text, "") if gained else ("-", text, why or "no file that stays has it"))
    old, new = _requirements(previous.projects, manifest), _requirements(cut.output, manifest)
    for path, text in sorted(old ^ new):
        what = f"requirement {text} of {path}"
        gained = (path, text) in new
        lines.append(("+", what, "") if gained else ("-", what, _unrequired(path, text, manifest)))
    return lines


def _unrequired(path: str, text: str, manifest: Manifest) -> str:
    """Return the edit that removes a requirement or the table that it is in, or adds another in its place."""
    edits = [e for b in manifest.batches for e in b.toml if e.file == path and "dependencies" in e.key]
    same = [e for e in edits if requirement_name(str(e.value)) == requirement_name(text)]
    for edit in same or [e for e in edits if e.op == "remove" and e.value is None]:
        return _because(edit.batch, f"{edit.op} {edit.key}", edit.mark)
    return "nothing adds it"


def _because(batch: str, text: str, mark: Mark | None) -> str:
    return f"{batch}: {text}" + (f", {mark}" if mark else "")


def _requirements(tree: Snapshot, manifest: Manifest) -> set[tuple[str, str]]:
    return {(p.path, r.text) for p in projects(tree, manifest.packages) for r in p.requirements}
