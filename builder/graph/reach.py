"""Reachability: edges between modules, reach from roots, and the shortest path to a module."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

from builder.errors import Mark, Problem
from builder.graph.modules import Import, Summary
from builder.graph.resolve import Index
from builder.manifest.model import DynamicEdge

EdgeKind = Literal["eager", "guarded", "lazy", "typing", "parent", "dynamic", "string"]


class Edge(NamedTuple):
    """`source` can import `target`, because of a line of the file of `source` (0: a declared edge)."""

    source: str
    target: str
    kind: EdgeKind
    line: int


class Step(NamedTuple):
    """One edge of a path from a root, with the file that contains it."""

    edge: Edge
    path: str


Graph = Mapping[str, tuple[Edge, ...]]


def graph(
    index: Index, declared: Sequence[DynamicEdge] = (), mentioned: bool = False
) -> dict[str, tuple[Edge, ...]]:
    """The edges that leave each module, one per target and kind, sorted by line and target.

    A module also has an edge to its parent package, which Python imports first. `mentioned`: a dotted name
    inside any string leads to its module too, and not only one that is the whole string.
    """
    modules = sorted({*index.modules, *index.folders})
    by_source: dict[str, list[DynamicEdge]] = {}
    for edge in declared:
        by_source.setdefault(edge.source, []).append(edge)
    result: dict[str, tuple[Edge, ...]] = {}
    for module in modules:
        lines: dict[tuple[str, EdgeKind], int] = {}
        parent = module.rpartition(".")[0]
        if parent:
            lines[parent, "parent"] = 0
        summary = index.modules.get(module)
        if summary is not None:
            for target, kind, line in _written(summary, index, modules):
                if target != module:
                    lines.setdefault((target, kind), line)
            for target, line in mentions(summary, index) if mentioned else ():
                if target != module:
                    lines.setdefault((target, "string"), line)
        for rule in by_source.get(module, ()):
            for target in modules:
                if target != module and fnmatchcase(target, rule.target):
                    lines.setdefault((target, "dynamic"), 0)
        result[module] = tuple(
            sorted((Edge(module, t, k, n) for (t, k), n in lines.items()), key=lambda e: (e.line, e[1:]))
        )
    return result


def _written(summary: Summary, index: Index, modules: Sequence[str]) -> Iterable[tuple[str, EdgeKind, int]]:
    for item in summary.imports:
        for target in import_targets(item, index):
            yield target, item.kind, item.line
    for call in summary.dynamic:
        if call.argument and "*" in call.argument:
            for target in modules:
                if fnmatchcase(target, call.argument):
                    yield target, "dynamic", call.line
        elif call.argument and index.has_module(call.argument):
            yield call.argument, "dynamic", call.line
    for reference in summary.references:
        found = index.locate(reference.name)
        # the bare name of a package does not say which of its modules is used
        if found is not None and "." in found.module:
            yield found.module, "string", reference.line


def mentions(summary: Summary, index: Index) -> Iterable[tuple[str, int]]:
    """The modules that the strings of a file name, each as the longest module that a name begins with."""
    for reference in summary.mentions:
        module = reference.name
        while "." in module:
            if index.has_module(module):
                yield module, reference.line
                break
            module = module.rpartition(".")[0]


def import_targets(item: Import, index: Index) -> tuple[str, ...]:
    """The modules that an import statement loads, without the parents of each: the module, and
    the submodule that a from-import names when the package itself does not bind that name."""
    if not index.has_module(item.target):
        return ()
    if item.name is None or item.star:
        return (item.target,)
    below = f"{item.target}.{item.name}"
    own = index.modules.get(item.target)
    bound = own.names.get(item.name) if own else None
    if index.has_module(below) and (bound is None or bound.kind == "import"):
        return item.target, below
    return (item.target,)


def reach(edges: Graph, roots: Iterable[str]) -> dict[str, Edge | None]:
    """Every module reached from the roots, with the last edge of a shortest path to it (None for a root).

    Breadth first in sorted order, so that the same graph always gives the same paths.
    """
    edge_to: dict[str, Edge | None] = {root: None for root in sorted(set(roots)) if root in edges}
    ring = list(edge_to)
    while ring:
        following: list[str] = []
        for module in ring:
            for edge in edges.get(module, ()):
                if edge.target not in edge_to:
                    edge_to[edge.target] = edge
                    following.append(edge.target)
        ring = following
    return edge_to


def why(reached: Mapping[str, Edge | None], module: str, index: Index) -> tuple[Step, ...] | None:
    """The shortest path from a root to a module, root first; empty for a root, None if not reached."""
    if module not in reached:
        return None
    steps: list[Step] = []
    edge = reached[module]
    while edge is not None:
        holder = index.modules.get(edge.source)
        steps.append(Step(edge, holder.path if holder else edge.source.replace(".", "/")))
        edge = reached[edge.source]
    return tuple(reversed(steps))


def expand(index: Index, patterns: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """pattern (`a.b`, `a.b.*`) -> the modules that it names, sorted; empty when there are none."""
    modules = sorted({*index.modules, *index.folders})
    return {p: tuple(m for m in modules if fnmatchcase(m, p)) for p in patterns}


def undeclared(index: Index, declared: Sequence[DynamicEdge], reached: Iterable[str]) -> list[Problem]:
    """R010 for each reached module that imports by value without a declared edge."""
    problems: list[Problem] = []
    sources = {edge.source for edge in declared}
    for module in sorted(set(reached)):
        summary = index.modules.get(module)
        if summary is None or module in sources:
            continue
        calls = [c for c in summary.dynamic if c.argument is None]
        if calls:
            lines = ", ".join(str(c.line) for c in calls)
            problems.append(
                Problem(
                    "R010",
                    f"{summary.path}:{calls[0].line}: {calls[0].call}() imports by value, and roots.dynamic "
                    f"has no edge from {module}" + (f" (lines {lines})" if len(calls) > 1 else ""),
                    upstream=Mark(summary.path, calls[0].line),
                    hint=f"add {{from: {module}, to: <modules it loads>, why: ...}} to roots.dynamic",
                )
            )
    return problems


def unmatched(index: Index, declared: Iterable[DynamicEdge]) -> list[Problem]:
    """R009 for each declared edge whose source is not a module or whose target matches no module.

    A target outside the packages (what a user names at run time) matches by being declared.
    """
    problems: list[Problem] = []
    everything = sorted({*index.modules, *index.folders})
    for edge in declared:
        if not index.has_module(edge.source):
            message = f"roots.dynamic: {edge.source} is not a module"
            problems.append(Problem("R009", message, edge.mark, nothing=True))
        elif index.internal(edge.target) and not any(fnmatchcase(m, edge.target) for m in everything):
            problems.append(Problem("R009", f"roots.dynamic: {edge.target} matches no module", edge.mark))
    return problems
