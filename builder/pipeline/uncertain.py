"""What stays because nothing proves that it may be removed, with the evidence."""

from __future__ import annotations

import json
from dataclasses import dataclass

from builder.analysis.indexed_tree import IndexedTree
from builder.emit.figures import lines_of
from builder.errors import Problem
from builder.graph.reach import undeclared, unmatched
from builder.manifest.model import Manifest
from builder.pipeline.cut import Cut
from builder.pipeline.graph_answers import GraphAnswers
from builder.pipeline.starts import edges_of

NAME = "uncertain.json"


@dataclass(frozen=True, slots=True)
class Uncertain:
    """Modules that a rule keeps though no root reaches them, and conditions that the evaluator left alone."""

    modules: tuple[tuple[str, str, int], ...]  # module, path, lines
    conditions: tuple[tuple[str, int, str], ...]  # path, line, sentence

    def to_bytes(self) -> bytes:
        """`uncertain.json`: largest modules first."""
        record = {
            "schema_version": 1,
            "modules": [
                {"module": m, "path": p, "lines": n, "evidence": "a rule keeps it, and no root reaches it"}
                for m, p, n in sorted(self.modules, key=lambda row: (-row[2], row[0]))
            ],
            "conditions": [{"path": p, "line": n, "evidence": why} for p, n, why in self.conditions],
        }
        return (json.dumps(record, indent=2) + "\n").encode()


def reached(cut: Cut, after: IndexedTree, manifest: Manifest) -> frozenset[str]:
    """The modules of the output that a root reaches."""
    return frozenset(cut.decided.starts.reach(edges_of(after.index, manifest), rules=False))


def uncertain(cut: Cut, graphs: GraphAnswers) -> Uncertain:
    """What the output holds without a proof that it must."""
    modules = tuple((module, path, lines_of(cut.output, path) or 0) for module, path in graphs.unreached)
    return Uncertain(modules, tuple(cut.specialized.uncertain))


def dynamic_imports(cut: Cut, after: IndexedTree, manifest: Manifest) -> list[Problem]:
    """R010 for every import by value that the manifest does not declare, in reached modules, and R009 for
    every declaration that matches nothing.

    One for the models that stay is looked for in upstream: in the output none of its modules may be left.
    """
    declared = manifest.roots.dynamic
    return [
        *undeclared(after.index, declared, reached(cut, after, manifest)),
        *unmatched(after.index, [edge for edge in declared if not edge.of_kept_models]),
        *unmatched(cut.before.index, [edge for edge in declared if edge.of_kept_models]),
    ]
