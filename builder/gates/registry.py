"""All static gates, in order."""

from __future__ import annotations

from collections.abc import Callable

from builder.analysis.indexed_tree import IndexedTree
from builder.analysis.removals import Removals
from builder.errors import Problem
from builder.gates import attributes, guarantees, imports, names, packaging, parse, symbols
from builder.manifest.model import Manifest

Gate = Callable[[IndexedTree, IndexedTree, Manifest, Removals], list[Problem]]

#: Gate code -> check; in the order in which findings are worth reading.
GATES: dict[str, Gate] = {
    "G001": parse.check,
    "G005": symbols.check,
    "G002": imports.check,
    "G003": names.check,
    "G004": attributes.check,
    "G007": guarantees.check,
    "G008": packaging.check,
}


def check(before: IndexedTree, after: IndexedTree, manifest: Manifest, removals: Removals) -> list[Problem]:
    """The problems of every static gate but two that do not look at worlds: the surface (G006), whose
    differences the cut itself needs, and idempotence (G009), which needs a second run."""
    return [p for gate in GATES.values() for p in gate(before, after, manifest, removals)]
