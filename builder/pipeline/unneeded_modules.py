"""Modules of a specialized output that nothing needs any more: those in which nothing is left, and those that
no root reaches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from builder.graph.modules import Summary, summarise
from builder.graph.names import is_test, module_of
from builder.graph.reach import graph
from builder.graph.resolve import Index
from builder.manifest.model import Manifest
from builder.manifest.statements import BASE, Rule
from builder.pipeline.prune import UNREACHED, Pruned, unreached_rule, with_followers
from builder.pipeline.starts import edges_of, roots
from builder.select.patterns import PatternSet
from builder.specialize.text_index.identifier_index import holding, identifier_counts
from builder.tree import Snapshot


def empty_modules(
    output: Snapshot,
    hollow: Iterable[str],
    changed: Iterable[str],
    before: Mapping[str, Summary],
    manifest: Manifest,
) -> dict[str, str]:
    """path -> module of those among `hollow` that nothing in the output names any more, unless to run them.

    They leave where the manifest lets dead definitions leave; a package's `__init__.py` stays. `changed`:
    the Python files that specialization changed; `before`: the summaries of upstream's files.
    """
    may_leave = PatternSet([rule.pattern for rule in manifest.prune_symbols])
    found = {
        path: module
        for path in hollow
        if may_leave.any(path) and not path.endswith("/__init__.py")
        if (module := module_of(path, manifest.packages))
    }
    if not found:
        return {}
    known = {path: summary for path, summary in before.items() if path in output.tree}
    texts = {path: output[path] for path in changed if path in output}
    # of what was changed, only files that hold the last name of one of the modules can import it
    naming = holding(texts, (module.rpartition(".")[2] for module in found.values())) | found.keys()
    for path in texts:
        known.pop(path, None)
        if path in naming:
            module = module_of(path, manifest.packages) or ""
            known[path] = summarise(output[path], path, module, tuple(sorted(manifest.packages)))
    index = Index(known, manifest.packages)
    needed = set(roots(index, manifest))
    for source, edges in graph(index, manifest.roots.dynamic).items():
        summary = index.modules.get(source)
        for edge in edges:
            runs = edge.kind == "eager" and summary is not None and _only_runs(output, summary, edge.target)
            if edge.kind != "parent" and not runs:
                needed.add(edge.target)
    return {path: module for path, module in sorted(found.items()) if module not in needed}


def _only_runs(output: Snapshot, source: Summary, module: str) -> bool:
    """Does a file name a module in one import, which takes nothing from it, and nowhere else?"""
    if source.path not in output or any(each.name and each.target == module for each in source.imports):
        return False
    return identifier_counts(output[source.path])[module.rpartition(".")[2].encode()] == 1


def narrowed(
    output: Snapshot, found: Mapping[str, Summary], decided: Pruned, manifest: Manifest, upstream: Snapshot
) -> Pruned:
    """The decisions without the modules that reach decides about and that no root reaches in the output,
    and without the data files that followed them. `found`: the summaries of the output."""
    index = Index(found, manifest.packages)
    reached = decided.starts.reach(edges_of(index, manifest))
    open_ = set(decided.selection.with_verdict("reach"))
    gone = {path for path, s in found.items() if path in open_ and s.module not in reached}
    left = decided.without(dict.fromkeys(sorted(gone), unreached_rule(manifest)))
    return with_followers(left, manifest, upstream, [s for p, s in found.items() if p not in gone], output)


def blamed(decided: Pruned, index: Index, manifest: Manifest) -> Pruned:
    """The decisions with each module that no root reaches laid to the batch that removed all that reached
    it, where that is one batch. `index`: over all of upstream."""
    unreached = {path for path, rule in decided.removed.items() if rule.verdict == "reach"}
    if not unreached:
        return decided
    users: dict[str, list[str]] = {}
    for source, edges in graph(index).items():
        for edge in edges:
            users.setdefault(edge.target, []).append(source)
    modules = {summary.path: module for module, summary in index.modules.items()}
    told = {
        path: _blame(modules[path], users, unreached, decided, index, manifest)
        for path in unreached
        if path in modules
    }
    return replace(decided, removed={path: told.get(path, rule) for path, rule in decided.removed.items()})


def _blame(
    module: str,
    users: Mapping[str, Iterable[str]],
    unreached: set[str],
    decided: Pruned,
    index: Index,
    manifest: Manifest,
) -> Rule:
    """The rule for one module that no root reaches: who used it last, and why that ended."""
    removers: dict[str, tuple[str, Rule]] = {}
    staying = ""
    seen, todo = {module}, [module]
    while todo:
        for source in users.get(todo.pop(0), ()):
            summary = index.modules.get(source)
            if source in seen or summary is None or is_test(summary.path):
                continue
            seen.add(source)
            rule = decided.removed.get(summary.path)
            if summary.path in unreached:
                todo.append(source)
            elif rule is not None:
                removers.setdefault(rule.batch, (summary.path, rule))
            else:
                staying = staying or summary.path
    base = unreached_rule(manifest)
    if removers:
        path, rule = next(iter(removers.values()))
        clause = f"{UNREACHED} (last over {path}, which leaves with batch {rule.batch})"
        if len(removers) == 1 and not staying and rule.batch != BASE:
            return replace(base, pattern=clause, batch=rule.batch, mark=rule.mark)
        return replace(base, pattern=clause)
    clause = f"{UNREACHED} (last over {staying}, which lost its use for it)" if staying else UNREACHED
    return replace(base, pattern=clause)
