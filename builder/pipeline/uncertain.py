"""What is kept because nothing proves that it may leave, with the evidence."""

from __future__ import annotations

import json
from dataclasses import dataclass

from builder.emit.figures import lines_of
from builder.errors import Problem
from builder.gates.world import World
from builder.graph.reach import graph, reach, undeclared
from builder.manifest.model import Manifest
from builder.pipeline.cut import Cut
from builder.pipeline.decide import roots

NAME = "uncertain.json"


@dataclass(frozen=True, slots=True)
class Uncertain:
    """Modules that no root reaches, and conditions that the evaluator left alone."""

    modules: tuple[tuple[str, str, int], ...]  # module, path, lines
    conditions: tuple[tuple[str, int, str], ...]  # path, line, sentence

    def to_bytes(self) -> bytes:
        """`uncertain.json`: largest modules first."""
        record = {
            "schema_version": 1,
            "modules": [
                {"module": m, "path": p, "lines": n, "evidence": "no root reaches it over any import"}
                for m, p, n in sorted(self.modules, key=lambda row: (-row[2], row[0]))
            ],
            "conditions": [{"path": p, "line": n, "evidence": why} for p, n, why in self.conditions],
        }
        return (json.dumps(record, indent=2) + "\n").encode()


def reached(after: World, manifest: Manifest) -> frozenset[str]:
    """The modules of the output that a root reaches."""
    edges = graph(after.index, manifest.roots.dynamic)
    return frozenset(reach(edges, roots(after.index, manifest)))


def uncertain(cut: Cut, after: World, manifest: Manifest) -> Uncertain:
    """What the output holds without a proof that it must."""
    found = reached(after, manifest)
    modules = tuple(
        (module, summary.path, lines_of(cut.output, summary.path) or 0)
        for module, summary in sorted(after.index.modules.items())
        if module not in found
    )
    return Uncertain(modules, tuple(cut.specialized.uncertain))


def dynamic_imports(after: World, manifest: Manifest) -> list[Problem]:
    """R010 for every import by value that the manifest does not declare, in reached modules."""
    return undeclared(after.index, manifest.roots.dynamic, reached(after, manifest))
