"""Decides which paths stay: by the rules, and where they are silent, by whether a root reaches a module.

A pruned module, and a model that the roots do not keep, stays if a kept model or a module made of models
needs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from builder.errors import fail
from builder.graph.modules import Summary
from builder.graph.names import module_of
from builder.graph.reach import expand, import_targets
from builder.graph.resolve import Index
from builder.manifest.model import Manifest
from builder.manifest.statements import BASE, Rule
from builder.pipeline.architectures import rows
from builder.pipeline.data_files import followed, unnamed
from builder.pipeline.starts import Starts, edges_of, entrances, programs, registers_models
from builder.select.rules import Selection, reach_rule
from builder.tree import Snapshot

UNREACHED = "no root reaches it"


@dataclass(frozen=True, slots=True)
class Pruned:
    """The selection carried out. `needed`: paths that stay because a model needs them, and which;
    `follows`: data files that stay with a module, and its path; `named`: those of them that are opened by
    name, and the place that names each."""

    selection: Selection
    kept: tuple[str, ...]
    removed: Mapping[str, Rule]
    needed: Mapping[str, str]
    starts: Starts = field(default_factory=Starts)
    follows: Mapping[str, str] = field(default_factory=dict)
    named: Mapping[str, str] = field(default_factory=dict)

    def without(self, more: Mapping[str, Rule]) -> Pruned:
        """The decisions with more paths removed."""
        return replace(
            self,
            kept=tuple(path for path in self.kept if path not in more),
            removed={**self.removed, **more},
            follows={path: module for path, module in self.follows.items() if path not in more},
        )


def partial_paths(paths: Iterable[str], folder: str, kind: str = "unknown") -> tuple[str, ...]:
    """The folders of an upstream that is only a part of the repository; () for a whole one.

    `folder`: that of the project; `kind`: that of `About`. A wheel holds packages alone, and its
    pyproject.toml is not upstream's.
    """
    paths = list(paths)
    below = tuple(sorted({"/".join(path.split("/")[:2]) for path in paths if path.count("/") > 1}))
    if kind == "wheel":
        return below
    if not folder or {path.partition("/")[0] for path in paths if "/" in path} != {folder}:
        return ()
    # a repository made of a wheel holds nothing of the project but the package
    return below if len(below) == 1 else (folder,)


def prune(
    selection: Selection, manifest: Manifest, index: Index, staying: Mapping[str, Summary], upstream: Snapshot
) -> Pruned:
    """Decide what the rules leave open, on upstream's own code.

    `staying`: the summaries of the Python that no rule removes, and `index` over it.
    """

    def defining(path: str, name: str) -> bool:
        """Return whether the module at a path binds a name, at its top or in the body of a class."""
        summary = staying.get(path)
        return summary is not None and (
            name in summary.names or any(member.endswith(f".{name}") for member in summary.members)
        )

    selection = selection.narrowed(defining, reach_rule(manifest))
    verdict = {path: decision.verdict for path, decision in selection.decisions.items()}
    registering = _registering(manifest, upstream, index)
    models = {path for path in registering if verdict.get(path) == "reach"}
    needed = _needed(manifest, {*selection.with_verdict("prune"), *models}, index, registering)
    unneeded = {path for path in (*selection.with_verdict("prune"), *models) if path not in needed}
    candidates = {path: summary for path, summary in staying.items() if path not in unneeded}
    by_reach = {path: summary for path, summary in candidates.items() if verdict.get(path) == "reach"}
    candidate_index = Index(candidates, manifest.packages)
    outside = [s for s in candidates.values() if not s.module]
    placed = {file.path for batch in manifest.batches for file in batch.files}
    stated = [s.module for p, s in candidates.items() if s.module and (p not in by_reach or p in placed)]
    starts = Starts(tuple(entrances(candidate_index, manifest, upstream, outside)), kept=tuple(stated))
    edges = edges_of(candidate_index, manifest)
    reached = starts.reach(edges)
    others = [s for s in by_reach.values() if s.module not in reached]
    running = programs(others, candidate_index, manifest)
    if running:
        starts = replace(starts, programs=tuple(running))
        reached = starts.reach(edges)
    unreached = {p for p, s in by_reach.items() if s.module not in reached}

    no_root = unreached_rule(manifest)
    # models leave for the batch that closes the set of architectures
    closed = (b.id for b in manifest.batches for option in b.options if option.removed_models)
    mark = manifest.mark("roots", "models", "keep")
    model = Rule("roots.models does not keep it", "remove", next(closed, BASE), mark=mark)
    removed = {
        path: model if path in models else no_root if path in unreached else decision.rule
        for path, decision in selection.decisions.items()
        if decision.verdict == "remove" or path in unneeded or path in unreached
    }
    kept = tuple(path for path in selection.decisions if path not in removed)
    decided = Pruned(selection, kept, removed, needed, starts)
    remaining = [s for p, s in candidates.items() if p not in unreached]
    return with_followers(decided, manifest, upstream, remaining, upstream)


def with_followers(
    decided: Pruned, manifest: Manifest, upstream: Snapshot, staying: Iterable[Summary], source: Snapshot
) -> Pruned:
    """Decide on data files inside packages: they follow the modules that are `staying`, or, if they are
    opened by name, the texts of these in `source`."""
    data = [p for p in decided.kept if decided.selection.decisions[p].verdict == "follow"]
    modules = [s for s in staying if s.module]
    follows = followed(data, python_modules(upstream, manifest.packages), modules)
    rule = Rule("no module beside it stays", "follow", BASE, mark=manifest.mark("roots"))
    removed = {path: rule for path in data if path not in follows}
    unused, named = unnamed(follows, {s.path: source[s.path] for s in modules}, source, manifest)
    for path, stated in unused.items():
        removed[path] = replace(rule, pattern="nothing that stays names it", mark=stated.mark)
    fewer = decided.without(removed)
    return replace(fewer, follows={p: m for p, m in follows.items() if p not in removed}, named=named)


def unreached_rule(manifest: Manifest) -> Rule:
    """Return the rule by which modules that no root reaches are removed."""
    return Rule(UNREACHED, "reach", BASE, mark=manifest.mark("roots"))


def _registering(manifest: Manifest, upstream: Snapshot, index: Index) -> set[str]:
    """Return the paths of the model package's modules that register architectures or that a table names."""
    if manifest.roots.tables:
        return {path for _, path in rows(upstream, manifest)}
    package = f"{manifest.roots.model_package}."
    return {
        summary.path
        for module, summary in index.modules.items()
        if module.startswith(package) and registers_models(summary)
    }


def _needed(manifest: Manifest, open_: set[str], index: Index, registering: set[str]) -> dict[str, str]:
    """Return the `open_` paths that kept models and modules made of models import, directly or through each
    other or the models' package, and those named like such a model: its configuration."""
    where = {module: summary.path for module, summary in index.modules.items()}
    package = manifest.roots.model_package
    called: dict[str, list[str]] = {}
    for module, path in where.items():
        if path in open_ and not module.startswith(f"{package}."):
            called.setdefault(_stem(module), []).append(module)
    todo = [(f"{package}.{name}", f"{package}.{name}") for name in manifest.roots.models]
    users = expand(index, (root.name for root in manifest.roots.used_by))
    todo += ((module, module) for modules in users.values() for module in modules)
    needed: dict[str, str] = {}
    seen: set[str] = set()
    while todo:
        module, model = todo.pop()
        if module in seen or module not in index.modules:
            continue
        seen.add(module)
        is_model = where[module] in registering
        alike = called.get(_stem(module), ()) if is_model else ()
        for target in (*_targets(index, module), *alike):
            path = where.get(target, "")
            if path in open_:
                needed.setdefault(path, model)
            if path in open_ or target.startswith(f"{package}."):
                todo.append((target, model))
    return dict(sorted(needed.items()))


def _stem(module: str) -> str:
    """Return the last name of a module without underscores, which not everybody writes."""
    return module.rpartition(".")[2].replace("_", "")


def _targets(index: Index, module: str) -> Iterable[str]:
    for item in index.modules[module].imports:
        yield from import_targets(item, index)
        if item.name is not None and not item.star:
            origin = index.origin(item.target, item.name)
            if origin is not None:
                yield origin.module


def python_modules(paths: Iterable[str], packages: Mapping[str, str]) -> dict[str, str]:
    """path -> module of the Python files that lie in a package."""
    modules = {p: module_of(p, packages) for p in paths if p.endswith(".py")}
    return {p: m for p, m in modules.items() if m is not None}


def staying_python(selection: Selection) -> list[str]:
    """The Python files that no rule removes, those outside the packages among them."""
    verdicts = ("keep", "prune", "reach")
    return [p for one in verdicts for p in selection.with_verdict(one) if p.endswith(".py")]


def surface_files(upstream: Snapshot, selection: Selection, manifest: Manifest) -> Snapshot:
    """The files of upstream that have a surface to compare: the packages, other Python that may stay, and
    every project file."""
    modules = python_modules(upstream, manifest.packages)
    projects = [p for p in upstream if p.rpartition("/")[2] == "pyproject.toml"]
    return upstream.restrict(sorted({*modules, *staying_python(selection), *projects}))


def folders_of(paths: Iterable[str]) -> set[str]:
    """Return all folders of these paths, without a slash at the end."""
    folders: set[str] = set()
    for path in paths:
        while (path := path.rpartition("/")[0]) and path not in folders:
            folders.add(path)
    return folders


def require_project(paths: Iterable[str], manifest: Manifest) -> None:
    """Raise BuildError (R001) for an upstream that has no folder of any package of the manifest.

    Every rule, fact and edit would match nothing there; that is one mistake, and not hundreds.
    """
    folders = tuple(f"{folder}/" for folder in manifest.packages.values())
    if not any(path.startswith(folders) for path in paths):
        names = ", ".join(f"`{folder}`" for folder in folders)
        raise fail(
            "R001",
            f"This is not the project of the manifest: none of its packages ({names}) is in upstream's tree.",
            manifest.mark("packages"),
            hint="look at UPSTREAM, at --mirror and at upstream.repository",
        )
