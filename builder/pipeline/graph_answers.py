"""The answers of the import graphs of upstream and output, and what stays without a proof that it must.

A graph is made from the summaries of a whole tree, so the graphs are asked once in a build and the answers
are remembered with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from builder.emit.figures import lines_of
from builder.graph.modules import Summary
from builder.graph.reach import Edge, Graph
from builder.manifest.model import Manifest
from builder.manifest.statements import BASE
from builder.pipeline.answers.answer import listed
from builder.pipeline.model import Cut
from builder.pipeline.starts import edges_of


@dataclass(frozen=True, slots=True)
class GraphAnswers:
    """`ways`: each kind of start, the strongest first, with the modules of the output that it reaches and the
    last step to each. `needs`: removed module -> what it needs that is removed too, as a phrase. `unreached`:
    module and path of what stays in the output without being reached."""

    ways: tuple[tuple[str, Mapping[str, Edge | None]], ...]
    needs: Mapping[str, str]
    unreached: tuple[tuple[str, str], ...]


def graph_answers(cut: Cut, manifest: Manifest) -> GraphAnswers:
    """The answers about one cut."""
    edges = edges_of(cut.after.index, manifest)
    reached = cut.decided.starts.reach(edges, rules=False)
    absent = frozenset(a.name for b in cut.manifest.batches for a in b.absent if a.kind == "module")
    needed = needs(cut, edges_of(cut.before.index, manifest), absent)
    return GraphAnswers(
        tuple(cut.decided.starts.ways(edges)),
        {module: listed(sorted(some), 3) for module, some in needed.items() if some},
        tuple((m, s.path) for m, s in sorted(cut.after.index.modules.items()) if m not in reached),
    )


def needs(cut: Cut, edges: Graph, absent: frozenset[str]) -> dict[str, frozenset[str]]:
    """Return for each removed module what it imports, also through other removed ones, that a batch removes
    or declares absent.

    `edges`: between upstream's modules; `absent`: the modules that are declared absent.
    """
    modules, internal = cut.before.index.modules, cut.before.index.internal

    def absent_imports(summary: Summary) -> Iterable[str]:
        """Yield the modules outside the tree that a module imports and that are declared absent."""
        for item in summary.imports:
            name = item.target
            while name and name not in absent:
                name = name.rpartition(".")[0]
            if name and not internal(name):
                yield name

    rules = {name: cut.decided.removed.get(summary.path) for name, summary in modules.items()}
    removed = [name for name, rule in rules.items() if rule is not None]
    onward = {
        name: frozenset(
            edge.target
            for edge in edges.get(name, ())
            if edge.kind not in ("string", "parent") and rules.get(edge.target) is not None
        )
        for name in removed
    }
    # what is removed only because nothing reaches it comes back with what reaches it
    stated = {n for n in removed if (rule := rules[n]) and rule.verdict != "reach" and rule.batch != BASE}
    own = {name: {*absent_imports(modules[name]), *(onward[name] & stated)} for name in removed}
    return {name: needed - {name} for name, needed in _closed(own, onward).items()}


def _closed(
    own: Mapping[str, Iterable[str]], onward: Mapping[str, Iterable[str]]
) -> dict[str, frozenset[str]]:
    """Return what each node has itself or through the nodes that it leads to; sets are bit masks here."""
    members = sorted({each for some in own.values() for each in some})
    bit = {each: 1 << number for number, each in enumerate(members)}
    reached = {node: sum(bit[each] for each in set(some)) for node, some in own.items()}
    changed = True
    while changed:
        changed = False
        for node, further in onward.items():
            before = reached[node]
            for each in further:
                reached[node] |= reached[each]
            changed = changed or reached[node] != before
    sets = {bits: frozenset(each for each in members if bits & bit[each]) for bits in set(reached.values())}
    return {node: sets[bits] for node, bits in reached.items()}


UNCERTAIN = "uncertain.json"


def uncertain_json(cut: Cut, graphs: GraphAnswers) -> bytes:
    """What the output holds without a proof that it must: modules that a rule keeps though no root reaches
    them, the largest first, and conditions that the evaluator left alone."""
    modules = [(module, path, lines_of(cut.output, path) or 0) for module, path in graphs.unreached]
    record = {
        "schema_version": 1,
        "modules": [
            {"module": m, "path": p, "lines": n, "evidence": "a rule keeps it, and no root reaches it"}
            for m, p, n in sorted(modules, key=lambda row: (-row[2], row[0]))
        ],
        "conditions": [{"path": p, "line": n, "evidence": why} for p, n, why in cut.specialized.uncertain],
    }
    return (json.dumps(record, indent=2) + "\n").encode()
