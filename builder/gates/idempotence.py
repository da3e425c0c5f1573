"""G009: a second run on the output changes nothing; the pipeline runs twice, this compares."""

from __future__ import annotations

from builder.errors import Mark, Problem
from builder.tree import Tree

#: Paths that are listed one by one; the others are counted.
SHOWN = 20


def compare(first: Tree, second: Tree) -> list[Problem]:
    """One problem for each path on which the output and the output of the output differ."""
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
