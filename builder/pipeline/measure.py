"""What happened to every path and why, the deciding reason first, and the figures that follow from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from builder.emit import figures, ledger
from builder.manifest.model import Manifest
from builder.manifest.statements import Reason
from builder.pipeline.attribution import Attributed, RemovedLines, attribute, reason_of
from builder.pipeline.model import Cut


@dataclass(frozen=True, slots=True)
class Figures:
    """The ledger with the figures that follow from it."""

    rows: tuple[ledger.Row, ...]
    lines: Mapping[str, Mapping[str, int]]
    batches: tuple[figures.BatchFigures, ...]
    blocks: Mapping[str, tuple[RemovedLines, ...]]  # edited Python file -> what left it, with the reasons


@dataclass(frozen=True, slots=True)
class Measured:
    """The slow part of a measurement: what accounts for each edit, and the lines of each path."""

    attributed: Attributed
    before: Mapping[str, int]
    after: Mapping[str, int]

    @classmethod
    def of(cls, cut: Cut) -> Measured:
        """Measure a cut."""
        attributed = cut.attributed or attribute(cut)
        return cls(attributed, figures.line_counts(cut.upstream), figures.line_counts(cut.output))

    def figures(self, cut: Cut, manifest: Manifest) -> Figures:
        """What happened to every path and why, and the lines of both sides."""
        why = reasons(replace(cut, attributed=self.attributed))
        rows = ledger.rows(cut.upstream.tree, cut.output.tree, why, self.before, self.after)
        batches = figures.batch_figures(rows, [b.id for b in manifest.batches])
        lines = figures.before_after(self.before, self.after)
        return Figures(rows, lines, batches, self.attributed.blocks)


def reasons(cut: Cut) -> Mapping[str, Sequence[Reason]]:
    """Return at least one reason for every path of upstream and of the output."""
    attributed = cut.attributed or attribute(cut)
    by_path = {path: _decided(cut, path) for path in cut.upstream.tree}
    edits: dict[str, list[Reason]] = {}
    # in the order of the manifest, not in the order of execution
    for record in sorted(cut.records, key=lambda r: r.mark):
        edits.setdefault(record.file, []).append(
            Reason(record.batch, f"{record.kind}: {record.why}", record.mark)
        )
    for item in cut.consequences:
        edits.setdefault(item.file, []).append(
            Reason(item.batch or "lockstep", f"{item.what} {item.name} left with its source")
        )
    for path, causes in attributed.files.items():
        edits.setdefault(path, []).extend(causes or [Reason("facts", "follows from the facts")])
    for path in sorted({*cut.upstream.tree, *cut.output.tree}):
        changed = cut.upstream.tree.get(path) != cut.output.tree.get(path)
        # a rule is the only reason for a path that it removes, but not for one that an edit removes
        if changed and (path in cut.output.tree or path not in cut.decided.removed):
            by_path[path] = [*edits.get(path, ()), *by_path.get(path, ())]
    return by_path


def _decided(cut: Cut, path: str) -> list[Reason]:
    if rule := cut.decided.removed.get(path):
        return [reason_of(rule)]
    decision = cut.decided.selection.decisions.get(path)
    if decision is None:
        return [Reason("root", "a kept model")]
    if place := cut.decided.named.get(path):
        return [Reason(decision.rule.batch, f"{place} names it", decision.rule.mark)]
    if module := cut.decided.follows.get(path):
        return [Reason(decision.rule.batch, f"it follows {module}", decision.rule.mark)]
    if path in cut.decided.needed:
        return [Reason("root", f"{cut.decided.needed[path]} needs it", decision.rule.mark)]
    return [reason_of(decision.rule)]
