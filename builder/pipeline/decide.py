"""Which paths stay: the rules decide, and a pruned module that a kept model needs is kept after all."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from builder.graph.modules import module_of
from builder.graph.reach import Edge, expand, graph, import_targets, reach
from builder.graph.resolve import Index
from builder.manifest.model import Manifest, Rule
from builder.select.rules import Selection, select
from builder.tree import Snapshot


@dataclass(frozen=True, slots=True)
class Decided:
    """The selection with pruning carried out. `needed`: pruned paths that stay, and for which model."""

    selection: Selection
    kept: tuple[str, ...]
    removed: Mapping[str, Rule]
    needed: Mapping[str, str]


def partial_paths(paths: Iterable[str], kind: str = "unknown") -> tuple[str, ...]:
    """The top-level folders of an upstream that is only a part of the repository; () for a whole one,
    which every commit of `git` is."""
    if kind == "git":
        return ()
    folders = tuple(sorted({path.partition("/")[0] for path in paths if "/" in path}))
    return folders if folders == ("python",) else ()


def chosen(snapshot: Snapshot, manifest: Manifest, within: Sequence[str] | None = None) -> Selection:
    """What the rules alone say of every path. Problems stay in the selection.

    `within`: the only folders that this upstream has; from the paths if not given.
    """
    return select(snapshot.tree, manifest, within=partial_paths(snapshot) if within is None else within)


def decide(selection: Selection, manifest: Manifest, index: Index) -> Decided:
    """Decide what the rules leave to pruning; `index` is over the Python that no rule removes."""
    unless = {path: selection.decisions[path].rule.unless for path in selection.prunable}
    needed = _needed(manifest, {p for p, u in unless.items() if u == "models"}, index)
    sure = {*selection.kept, *needed}
    needed |= _reached(manifest, {p for p, u in unless.items() if u == "roots"}, sure, index)
    kept = tuple(sorted({*selection.kept, *needed}))
    removed = {
        path: decision.rule
        for path, decision in selection.decisions.items()
        if decision.verdict != "keep" and path not in needed
    }
    return Decided(selection, kept, removed, needed)


def _needed(manifest: Manifest, prunable: set[str], index: Index) -> dict[str, str]:
    """The prunable paths that kept models import, directly or through other prunable modules."""
    where = {module: summary.path for module, summary in index.modules.items()}
    package = manifest.roots.model_package
    todo = [(f"{package}.{name}", f"{package}.{name}") for name in manifest.roots.models]
    found: dict[str, str] = {}
    seen: set[str] = set()
    while todo:
        module, model = todo.pop()
        if module in seen or module not in index.modules:
            continue
        seen.add(module)
        for target in _targets(index, module):
            path = where.get(target)
            if path in prunable and path not in found:
                found[path] = model
                todo.append((target, model))
    return dict(sorted(found.items()))


def _reached(manifest: Manifest, prunable: set[str], kept: Collection[str], index: Index) -> dict[str, str]:
    """The prunable paths that a root reaches over kept modules."""
    if not prunable:
        return {}
    here = Index({s.path: s for s in index.modules.values() if s.path in kept or s.path in prunable})
    found = reach(graph(here, manifest.roots.dynamic), roots(here, manifest))
    where = {module: summary.path for module, summary in here.modules.items()}
    reached = {where[m]: _first(found, m) for m in found if where.get(m) in prunable}
    return dict(sorted(reached.items()))


def _first(found: Mapping[str, Edge | None], module: str) -> str:
    edge = found[module]
    return edge.source if edge is not None else module


def roots(index: Index, manifest: Manifest) -> list[str]:
    """The modules that the manifest's roots name, the kept models among them."""
    package = manifest.roots.model_package
    named = [*manifest.roots.modules, *(f"{package}.{name}" for name in manifest.roots.models)]
    return [module for modules in expand(index, named).values() for module in modules]


def _targets(index: Index, module: str) -> Iterable[str]:
    for item in index.modules[module].imports:
        yield from import_targets(item, index)
        if item.name is not None and not item.star:
            origin = index.origin(item.target, item.name)
            if origin is not None:
                yield origin.module


def python_modules(paths: Iterable[str], packages: Mapping[str, str]) -> dict[str, str]:
    """path -> module of the Python files that lie in a package."""
    found = {p: module_of(p, packages) for p in paths if p.endswith(".py")}
    return {p: m for p, m in found.items() if m is not None}
