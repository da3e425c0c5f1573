"""The modules that reach starts from: the manifest's roots, and what is used without being imported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from builder.adapter import ENTRY
from builder.analysis.projects import projects
from builder.graph.modules import Reference, Summary, summarise
from builder.graph.names import module_of
from builder.graph.reach import Edge, Graph, expand, graph, import_targets, mentions, reach
from builder.graph.resolve import Index
from builder.manifest.model import DynamicEdge, Manifest
from builder.memo import remembered
from builder.tree import Snapshot

#: Folders whose modules are no programs of the distribution.
_NOT_PROGRAMS = frozenset(("test", "tests", "testing", "bench", "benchmark", "benchmarks"))


@dataclass(frozen=True, slots=True)
class Starts:
    """Modules that stay without being imported: roots, programs, and what rules keep."""

    roots: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()

    def reach(self, edges: Graph, rules: bool = True) -> dict[str, Edge | None]:
        """Return what is reached; without `rules`, what would be reached if no rule kept anything."""
        return reach(edges, (*self.roots, *self.programs, *(self.kept if rules else ())))

    def ways(self, edges: Graph) -> Iterator[tuple[str, dict[str, Edge | None]]]:
        """Yield each kind of start, the strongest first, with what is reached from it."""
        yield "a root", reach(edges, self.roots)
        yield "a program of its own", reach(edges, self.programs)
        yield "what a rule keeps", reach(edges, self.kept)


def roots(index: Index, manifest: Manifest) -> list[str]:
    """Return the modules that the manifest's roots name, the kept models among them."""
    package = manifest.roots.model_package
    named = [root.name for root in manifest.roots.modules]
    named += (f"{package}.{name}" for name in manifest.roots.models)
    return [module for modules in expand(index, named).values() for module in modules]


def entrances(
    index: Index, manifest: Manifest, upstream: Snapshot, outside: Iterable[Summary]
) -> Iterator[str]:
    """Yield the roots, what console scripts name, what Python `outside` the packages imports or names, and
    what our own files and edits bring into the packages."""
    yield from roots(index, manifest)
    outside = list(outside)
    tops = tuple(sorted(manifest.packages))
    for file in (f for b in manifest.batches for f in b.files if f.path.endswith(".py")):
        module = module_of(file.path, manifest.packages) or ""
        outside.append(_summarised(manifest.overlays[file.overlay], file.path, module, tops))
    for edit in (e for b in manifest.batches for e in b.edits if e.kind == "add-import" and e.match):
        outside.append(Summary("", "", False, mentions=(Reference(f"{edit.match}", 0),)))
    for project in projects(upstream, manifest.packages):
        yield from (target.partition(":")[0].strip() for target in project.scripts.values())
    for summary in outside:
        for item in summary.imports:
            yield from import_targets(item, index)
        yield from (module for module, _ in mentions(summary, index))


_summarised = remembered(summarise)


def edges_of(index: Index, manifest: Manifest) -> dict[str, tuple[Edge, ...]]:
    """Return the edges by which reach decides: all, except a declared one into the package of the models.

    A registry that walks over that package loads whatever is there, and requires none of it. One that loads
    modules for the models that stay requires those that import one.
    """
    package = f"{manifest.roots.model_package}."

    def is_model(target: str) -> bool:
        """Return whether a module is a model; where tables say which are, any module of their package is."""
        known = bool(manifest.roots.tables) or registers_models(index.modules.get(target))
        return known and target.startswith(package)

    declared: list[DynamicEdge] = []
    for edge in manifest.roots.dynamic:
        if not edge.of_kept_models:
            declared += [] if edge.target.startswith(package) else [edge]
            continue
        for module, summary in index.modules.items():
            targets = (target for item in summary.imports for target in import_targets(item, index))
            if fnmatchcase(module, edge.target) and any(map(is_model, targets)):
                declared.append(replace(edge, target=module))
    return graph(index, declared, mentioned=True)


def registers_models(summary: Summary | None) -> bool:
    """Return whether a module of the models' package registers architectures, and is no helper."""
    return summary is not None and ENTRY in summary.names


def programs(candidates: Iterable[Summary], index: Index, manifest: Manifest) -> list[str]:
    """Return those that `roots.programs` matches and that run: called `__main__` or with a guard for it,
    outside the folders of tests and benchmarks, and without an import of what is not in `index`."""
    return [
        summary.module
        for summary in candidates
        if (summary.program or summary.module.endswith(".__main__"))
        and _is_program(summary.module, manifest.roots.programs)
        and all(part.isidentifier() for part in summary.module.split("."))
        and _NOT_PROGRAMS.isdisjoint(summary.module.split(".")[:-1])
        and all(
            not index.internal(item.target)
            or (index.has_module(item.target) and index.resolves(item.target, item.name or "*") is not False)
            for item in summary.imports
        )
    ]


def _is_program(module: str, patterns: Iterable[str]) -> bool:
    """Return whether the last pattern that matches a module includes it."""
    matching = [pattern for pattern in patterns if fnmatchcase(module, pattern.removeprefix("!"))]
    return bool(matching) and not matching[-1].startswith("!")
