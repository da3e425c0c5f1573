"""What gates look at: a tree with its summaries and index, and what the manifest explains."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from builder.errors import Mark
from builder.graph.modules import Summary, SummaryCache, path_of, summaries
from builder.graph.resolve import Index, Origin
from builder.manifest.model import Manifest, Rule
from builder.tree import Snapshot


@dataclass(frozen=True, slots=True)
class IndexedTree:
    """One tree, its Python summaries by path, and the index over them."""

    snapshot: Snapshot
    summaries: Mapping[str, Summary]
    index: Index


def world(snapshot: Snapshot, packages: Mapping[str, str], known: SummaryCache | None = None) -> IndexedTree:
    """The world of a snapshot; files whose summaries are in `known` are not parsed again."""
    found = summaries(snapshot, packages, known)
    return IndexedTree(snapshot, found, Index(found, packages))


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something is not in the output, as one clause, and where the manifest says so."""

    text: str
    mark: Mark | None = None

    def __str__(self) -> str:
        return f"{self.text} ({self.mark})" if self.mark else self.text


@dataclass(frozen=True, slots=True)
class Explained:
    """What rules, edits and the evaluator account for.

    `symbols`: qualified names (a name accounts for everything below it). `removed`: upstream paths
    that left, with the rule that decided it.
    """

    symbols: Mapping[str, Reason] = field(default_factory=dict)
    removed: Mapping[str, Rule] = field(default_factory=dict)

    def symbol(self, qualified: str) -> Reason | None:
        """The reason for a qualified name, from itself or from the nearest name above it."""
        while qualified:
            found = self.symbols.get(qualified)
            if found is not None:
                return found
            qualified = qualified.rpartition(".")[0]
        return None

    def path(self, path: str) -> Reason | None:
        rule = self.removed.get(path)
        if rule is None:
            return None
        if rule.verdict in ("reach", "follow"):
            return Reason(f"left, for {rule.pattern}", rule.mark)
        verb = "pruned" if rule.verdict == "prune" else "removed"
        return Reason(f"{verb} by rule {rule.pattern!r} of batch {rule.batch}", rule.mark)

    def module(self, module: str, packages: Mapping[str, str]) -> Reason | None:
        """Why a module is not there: its path's rule, its name, or the rule of anything below it."""
        paths = path_of(module, packages)
        for path in paths or ():
            if found := self.path(path):
                return found
        if found := self.symbol(module):
            return found
        if paths:
            folder = paths[1].removesuffix("__init__.py")
            below = next((p for p in sorted(self.removed) if p.startswith(folder)), None)
            return self.path(below) if below else None
        return None


def explain(
    manifest: Manifest, removed: Mapping[str, Rule], proved: Mapping[str, str] | None = None
) -> Explained:
    """What a manifest accounts for: names declared absent, dropped names, removed paths, and
    `proved`: names that the evaluator proved dead, each with its reason."""
    symbols = {name: Reason(text) for name, text in (proved or {}).items()}
    for batch in manifest.batches:
        for absent in batch.absent:
            symbols[absent.name] = Reason(f"declared absent by batch {batch.id}", absent.mark)
        for edit in batch.edits:
            if edit.kind == "drop":
                symbols[edit.target] = Reason(f"dropped by batch {batch.id}", edit.mark)
    return Explained(symbols, removed)


def missing(
    world: IndexedTree, origin: Origin, explained: Explained, packages: Mapping[str, str]
) -> Reason | None:
    """Why a module, or a name in it, is not in this world."""
    if not world.index.has_module(origin.module):
        return explained.module(origin.module, packages)
    if origin.qualname:
        # `from package import submodule` names a module by a name
        return explained.symbol(str(origin)) or explained.module(str(origin), packages)
    return None


def because(reason: Reason | None) -> str:
    """The tail of a message: the reason, or that no rule accounts for it."""
    return f": {reason}" if reason else ": no rule of the manifest accounts for it"


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """`did you mean ...?`, or None when nothing is near."""
    found = difflib.get_close_matches(name, sorted(candidates), 1, 0.75)
    return f"did you mean {found[0]}?" if found else None
