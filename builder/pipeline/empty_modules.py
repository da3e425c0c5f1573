"""Modules in which specialization left nothing: they leave, as what was in them did."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from builder.graph.modules import Summary, summarise
from builder.graph.names import module_of
from builder.graph.reach import graph
from builder.graph.resolve import Index
from builder.manifest.model import Manifest
from builder.pipeline.starts import roots
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
