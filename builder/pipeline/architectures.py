"""The closed set of architectures: those of model files that leave never occur."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import replace

from builder.adapter import ENTRY
from builder.manifest.model import Manifest
from builder.memo import remembered
from builder.pipeline.architecture_tables import rows, values_of
from builder.pipeline.prune import Pruned
from builder.select.rules import package_folder
from builder.specialize.evaluating.facts import Facts
from builder.tree import Snapshot


def facts_of(manifest: Manifest, upstream: Snapshot, decided: Pruned) -> Facts:
    """The manifest's facts, with the architectures that left as absent values where it says so."""
    facts = Facts.of(manifest)
    if not any(option.removed_models for option in facts.options):
        return facts
    kept = architectures(upstream, decided.kept, manifest)
    removed = architectures(upstream, decided.removed, manifest)
    # a test for a part (`"Llama" in architecture`) is not told from one for the whole name
    gone = {name for name in removed if not any(name in other for other in kept)}
    options = (
        replace(option, values=(*option.values, *sorted(gone))) if option.removed_models else option
        for option in facts.options
    )
    return replace(facts, options=tuple(options))


def architectures(upstream: Snapshot, paths: Iterable[str], manifest: Manifest) -> frozenset[str]:
    """The names of the architectures of the model files among `paths`. Raises as `registered` does."""
    return frozenset().union(*registered(upstream, paths, manifest).values())


def model_files(upstream: Snapshot, paths: Iterable[str], manifest: Manifest) -> set[str]:
    """Those of the paths that register an architecture; the others hold what models share."""
    return set(registered(upstream, paths, manifest))


def registered(upstream: Snapshot, paths: Iterable[str], manifest: Manifest) -> dict[str, set[str]]:
    """path -> the architectures that the model file registers, for each that registers some.

    The manifest's tables say which, or the files do under the adapter's `ENTRY`. Raises BuildError R009 for a
    table that cannot be read.
    """
    named: dict[str, set[str]] = {}
    if manifest.roots.tables:
        chosen = set(paths)
        for name, path in rows(upstream, manifest):
            if path in chosen:
                named.setdefault(path, set()).add(name)
        return named
    folder = f"{package_folder(manifest, manifest.roots.model_package)}/"
    for path in paths:
        registers = path.startswith(folder) and path.endswith(".py") and ENTRY.encode() in upstream[path]
        if registers and (names := _entries(upstream[path], path)):
            named[path] = names
    return named


@remembered
def _entries(data: bytes, path: str) -> set[str]:
    values = values_of(data, path, ENTRY)
    return {node.id for value in values for node in ast.walk(value) if isinstance(node, ast.Name)}
