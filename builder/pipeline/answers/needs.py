"""What removed modules need that is removed too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from builder.graph.modules import Summary
from builder.graph.reach import Graph
from builder.manifest.statements import BASE
from builder.pipeline.cut import Cut


def needs(cut: Cut, edges: Graph, absent: frozenset[str]) -> dict[str, frozenset[str]]:
    """For each removed module what it imports, over other removed ones, that a batch removes or declares
    absent.

    `edges`: between upstream's modules; `absent`: the modules that are declared absent.
    """
    modules = cut.before.index.modules
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
    own = {
        name: {*_absent_imports(modules[name], absent, cut.before.index.internal), *(onward[name] & stated)}
        for name in removed
    }
    return {name: found - {name} for name, found in _closed(own, onward).items()}


def _absent_imports(
    summary: Summary, absent: frozenset[str], internal: Callable[[str], bool]
) -> Iterable[str]:
    """The modules outside the tree that a module imports and that are declared absent."""
    for item in summary.imports:
        name = item.target
        while name and name not in absent:
            name = name.rpartition(".")[0]
        if name and not internal(name):
            yield name


def _closed(
    own: Mapping[str, Iterable[str]], onward: Mapping[str, Iterable[str]]
) -> dict[str, frozenset[str]]:
    """What each node has itself, or by those to which it leads; a set is a number here."""
    members = sorted({each for some in own.values() for each in some})
    bit = {each: 1 << number for number, each in enumerate(members)}
    found = {node: sum(bit[each] for each in set(some)) for node, some in own.items()}
    changed = True
    while changed:
        changed = False
        for node, further in onward.items():
            before = found[node]
            for each in further:
                found[node] |= found[each]
            changed = changed or found[node] != before
    sets = {bits: frozenset(each for each in members if bits & bit[each]) for bits in set(found.values())}
    return {node: sets[bits] for node, bits in found.items()}
