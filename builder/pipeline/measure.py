"""What happened to every path and why, and the figures that follow from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from builder.emit import figures, ledger
from builder.manifest.model import Manifest
from builder.pipeline.attribution import Attributed, RemovedLines, attribute
from builder.pipeline.cut import Cut
from builder.pipeline.reasons import reasons


@dataclass(frozen=True, slots=True)
class Figures:
    """The ledger with the figures that follow from it."""

    rows: tuple[ledger.Row, ...]
    lines: Mapping[str, Mapping[str, int]]
    batches: tuple[figures.BatchFigures, ...]
    blocks: Mapping[str, tuple[RemovedLines, ...]]  # edited Python file -> what left it, with the reasons

    def reasons(self, path: str) -> tuple[ledger.Reason, ...]:
        """Why a path is as it is, the deciding reason first; () for a path on neither side."""
        row = next((row for row in self.rows if row.path == path), None)
        return (row.reason, *row.also) if row else ()


@dataclass(frozen=True, slots=True)
class Measured:
    """All of a measurement that takes time: what accounts for each edit, and the lines of each path."""

    attributed: Attributed
    before: Mapping[str, int]
    after: Mapping[str, int]

    @classmethod
    def of(cls, cut: Cut) -> Measured:
        """Measure a cut."""
        return cls(attribute(cut), figures.line_counts(cut.upstream), figures.line_counts(cut.output))

    def figures(self, cut: Cut, manifest: Manifest) -> Figures:
        """What happened to every path and why, and the lines of both sides."""
        why = reasons(cut, self.attributed)
        rows = ledger.rows(cut.upstream.tree, cut.output.tree, why, self.before, self.after)
        batches = figures.batch_figures(rows, [b.id for b in manifest.batches])
        lines = figures.before_after(self.before, self.after)
        return Figures(rows, lines, batches, self.attributed.blocks)
