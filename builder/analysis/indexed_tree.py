"""A tree with its Python summaries and the index over them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial

from builder.errors import Mark, Problem
from builder.graph.modules import Summary, SummaryCache, summaries
from builder.graph.resolve import Index
from builder.tree import Snapshot


class IndexedTree:
    """One tree, its Python summaries by path, and the index over them.

    Summaries and index are made on demand: most questions about a remembered build need neither, and making
    them parses every file.
    """

    def __init__(
        self, snapshot: Snapshot, packages: Mapping[str, str], make: Callable[[], Mapping[str, Summary]]
    ) -> None:
        """`packages`: import name -> folder; `make` gives the summaries by path."""
        self.snapshot = snapshot
        self._packages = packages
        self._make = make

    @cached_property
    def summaries(self) -> Mapping[str, Summary]:
        """The summary of each Python file, by path."""
        return self._make()

    @cached_property
    def index(self) -> Index:
        """The names of the tree's modules."""
        return Index(self.summaries, self._packages)

    def problem(
        self,
        code: str,
        path: str,
        line: int,
        message: str,
        mark: Mark | None = None,
        hint: str | None = None,
        cause: str | None = None,
    ) -> Problem:
        """A problem of a line (from 1; 0: unknown) of a file, with the text of the line."""
        lines = self.snapshot[path].splitlines()
        excerpt = lines[line - 1].decode("utf-8", "replace").strip() if 0 < line <= len(lines) else None
        return Problem(code, message, mark, Mark(path, line), excerpt, hint, cause=cause)


def world(snapshot: Snapshot, packages: Mapping[str, str], known: SummaryCache | None = None) -> IndexedTree:
    """Index a snapshot; files whose summaries are in `known` are not parsed again."""
    return IndexedTree(snapshot, packages, partial(summaries, snapshot, packages, known))
