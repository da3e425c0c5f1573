"""Definitions that the cut removed at the old upstream, and that stay at the new one.

That breaks no rule: a class stays where something new uses it, or where its base became one that the builder
does not know. Each is code that left by a decision, and nobody decided that it comes back.
"""

from __future__ import annotations

from collections.abc import Collection

from builder.analysis.indexed_tree import IndexedTree


def gone(before: IndexedTree, after: IndexedTree) -> frozenset[str]:
    """The qualified names of the classes and functions that upstream has and its output has not."""
    return frozenset(_definitions(before).keys() - _definitions(after).keys())


def returned(names: Collection[str], output: IndexedTree) -> dict[str, str]:
    """Those of the names that an output defines, sorted, each with its place."""
    return {name: place for name, place in sorted(_definitions(output).items()) if name in names}


def _definitions(tree: IndexedTree) -> dict[str, str]:
    return {
        f"{summary.module}.{name}": f"{path}:{definition.line}"
        for path, summary in tree.summaries.items()
        if summary.module
        for name, definition in summary.names.items()
        if definition.kind in ("class", "function")
    }
