"""A tree with its Python summaries and the index over them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from builder.graph.modules import Summary, SummaryCache, summaries
from builder.graph.resolve import Index
from builder.tree import Snapshot


@dataclass(frozen=True, slots=True)
class IndexedTree:
    """One tree, its Python summaries by path, and the index over them."""

    snapshot: Snapshot
    summaries: Mapping[str, Summary]
    index: Index


def world(snapshot: Snapshot, packages: Mapping[str, str], known: SummaryCache | None = None) -> IndexedTree:
    """Index a snapshot; files whose summaries are in `known` are not parsed again."""
    by_path = summaries(snapshot, packages, known)
    return IndexedTree(snapshot, by_path, Index(by_path, packages))


def line_of(tree: IndexedTree, path: str, line: int) -> str | None:
    """The text of a line (from 1) of a file, without its indentation; None for line 0."""
    lines = tree.snapshot[path].splitlines() if line else []
    return lines[line - 1].decode("utf-8", "replace").strip() if 0 < line <= len(lines) else None
