"""All static gates, each with its code, in the order in which their findings are worth reading.

G010 (`pipeline/unresolved_uses.py`) stops a build before there is an output, and G012 (`emit/lock.py`) after.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from builder import progress
from builder.analysis.indexed_tree import IndexedTree
from builder.analysis.removals import Removals
from builder.analysis.surface_diff import Surfaces
from builder.errors import Mark, Problem
from builder.gates import (
    attributes,
    guarantees,
    imports,
    names,
    packaging,
    parse,
    stated_values,
    surface,
    symbols,
)
from builder.manifest.model import Manifest
from builder.native import gate as native
from builder.tree import Tree


@dataclass(frozen=True, slots=True)
class Evidence:
    """What gates look at: the trees, what the manifest accounts for, and what the cut compared."""

    before: IndexedTree
    after: IndexedTree
    manifest: Manifest
    removals: Removals
    surfaces: Surfaces
    native_findings: tuple[native.Finding, ...]  # those of upstream itself
    second_run: Callable[[], Tree] | None = None  # the output of the output; None: not asked for


TreeGate = Callable[[IndexedTree, IndexedTree, Manifest, Removals], list[Problem]]
Gate = Callable[[Evidence], list[Problem]]

#: Paths of a second run that are listed one by one; the others are counted.
SHOWN = 20

#: Gates that compare two trees and need nothing else.
TREE_GATES: dict[str, TreeGate] = {
    "G001": parse.check,
    "G005": symbols.check,
    "G002": imports.check,
    "G003": names.check,
    "G004": attributes.check,
    "G007": guarantees.check,
    "G008": packaging.check,
    "G014": stated_values.check,
}


def _of_trees(gate: TreeGate) -> Gate:
    return lambda e: gate(e.before, e.after, e.manifest, e.removals)


def compare(first: Tree, second: Tree) -> list[Problem]:
    """Return G009 for each path on which the output and the output of the output differ."""
    if first.id == second.id:
        return []
    paths = [p for p in sorted({*first, *second}) if first.get(p) != second.get(p)]
    problems = []
    for path in paths[:SHOWN]:
        how = "removed" if path not in second else "added" if path not in first else "changed again"
        problems.append(Problem("G009", f"{path} is {how} by a second run", upstream=Mark(path)))
    if len(paths) > SHOWN:
        problems.append(Problem("G009", f"a second run changes {len(paths)} paths; {SHOWN} are listed"))
    return problems


GATES: dict[str, Gate] = {
    **{code: _of_trees(gate) for code, gate in TREE_GATES.items()},
    "G006": lambda e: surface.problems(e.surfaces, e.after),
    "G011": lambda e: native.new(native.check(e.after.snapshot), e.native_findings),
    "G009": lambda e: compare(e.after.snapshot.tree, e.second_run()) if e.second_run else [],
}


def check(evidence: Evidence) -> list[Problem]:
    """The problems of every gate."""
    problems = [problem for gate in progress.counted("gates", GATES.values()) for problem in gate(evidence)]
    progress.summary(f"{len(GATES)} gates")
    return problems
