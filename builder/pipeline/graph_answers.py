"""What the import graphs of upstream and output answer.

It is asked for once in a build and remembered with it: a graph is made from the summaries of a whole tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from builder.analysis.indexed_tree import IndexedTree
from builder.graph.reach import Edge
from builder.manifest.model import Manifest
from builder.pipeline.answers.answer import listed
from builder.pipeline.answers.needs import needs
from builder.pipeline.cut import Cut
from builder.pipeline.starts import edges_of


@dataclass(frozen=True, slots=True)
class GraphAnswers:
    """`ways`: each sort of start, the strongest first, with the modules of the output that it reaches and the
    last step to each. `needs`: for a removed module what it needs that is removed too, as a phrase.
    `unreached`: module and path of what stays in the output without being reached."""

    ways: tuple[tuple[str, Mapping[str, Edge | None]], ...]
    needs: Mapping[str, str]
    unreached: tuple[tuple[str, str], ...]


def graph_answers(cut: Cut, after: IndexedTree, manifest: Manifest) -> GraphAnswers:
    """The answers about one cut; `after`: its output."""
    edges = edges_of(after.index, manifest)
    reached = cut.decided.starts.reach(edges, rules=False)
    absent = frozenset(a.name for b in cut.manifest.batches for a in b.absent if a.kind == "module")
    needed = needs(cut, edges_of(cut.before.index, manifest), absent)
    return GraphAnswers(
        tuple(cut.decided.starts.ways(edges)),
        {module: listed(sorted(some), 3) for module, some in needed.items() if some},
        tuple((m, s.path) for m, s in sorted(after.index.modules.items()) if m not in reached),
    )
