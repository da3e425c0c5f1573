"""What happened to every path and why, and the figures that follow from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from builder.emit import figures, ledger
from builder.manifest.model import Manifest
from builder.pipeline.attribution import RemovedLines, attribute
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


def measure(cut: Cut, manifest: Manifest) -> Figures:
    """What happened to every path and why, and the lines of both sides."""
    before, after = figures.line_counts(cut.upstream), figures.line_counts(cut.output)
    attributed = attribute(cut)
    rows = ledger.rows(cut.upstream.tree, cut.output.tree, reasons(cut, attributed), before, after)
    batches = figures.batch_figures(rows, [b.id for b in manifest.batches])
    return Figures(rows, figures.before_after(before, after), batches, attributed.blocks)
