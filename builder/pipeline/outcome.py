"""The outcome of a build before it is packed: a cut that every gate accepts, with its figures.

It is remembered whole, by upstream and by what the manifest states. A comment or a reason changes none of it:
see `builder/pipeline/packing.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from builder import memo, progress
from builder.analysis.indexed_tree import IndexedTree
from builder.errors import BuildError, Problem
from builder.manifest.model import Manifest
from builder.manifest.places import places
from builder.pipeline import tools
from builder.pipeline.cut import Cut
from builder.pipeline.given_back import cut_to_fit
from builder.pipeline.measure import Figures, measure
from builder.pipeline.packing import Packing
from builder.pipeline.ranges import About
from builder.pipeline.run import Recalled
from builder.pipeline.specialization_memo import digest_of
from builder.pipeline.verify import verify
from builder.tree import Snapshot
from builder.upstream.model import Upstream, deferred, snapshot


@dataclass(frozen=True, slots=True)
class Outcome:
    """A cut, its output indexed, and its figures."""

    cut: Cut
    after: IndexedTree
    figures: Figures


class Rejected(BuildError):
    """Gates found problems in an output."""

    def __init__(self, problems: Iterable[Problem], output: Snapshot) -> None:
        super().__init__(problems)
        self.output = output


def prove(upstream: Upstream, manifest: Manifest, about: About) -> Outcome:
    """The outcome, with nothing remembered and the output specialized twice.

    Raises BuildError with the problems of the first stage that has any.
    """
    with memo.using(None):
        done, after = _cut(snapshot(upstream), manifest, about, None, twice=True)
        return Outcome(done, after, measure(done, manifest))


def recall_or_make(upstream: Upstream, manifest: Manifest, about: About, recall: Recalled) -> Outcome:
    """The outcome, as it is remembered or made now. Raises BuildError with the problems of the first stage
    that has any."""
    entries = _Entries.of(upstream, manifest, about, recall)
    known = entries.get(entries.key)
    if known is None:
        known = _cut(snapshot(upstream), manifest, about, recall)
        entries.keep(entries.key, known)
    done, after = known
    figures = entries.get(entries.figures_key)
    if figures is None:
        progress.stage("measuring")
        figures = measure(done, manifest)
        entries.keep(entries.figures_key, figures)
    return Outcome(done, after, figures)


def recalled_cut(upstream: Upstream, manifest: Manifest, about: About, recall: Recalled) -> Cut | None:
    """The cut, if it is remembered."""
    entries = _Entries.of(upstream, manifest, about, recall)
    known = entries.get(entries.key)
    return known[0] if known is not None else None


@dataclass(frozen=True, slots=True)
class _Entries:
    """What is remembered of one outcome: the cut with its index, and the figures, whose sentences quote
    reasons."""

    key: str
    figures_key: str
    _packing: Packing
    _recall: Recalled

    @classmethod
    def of(cls, upstream: Upstream, manifest: Manifest, about: About, recall: Recalled) -> _Entries:
        where = places(manifest)
        key = digest_of(tools.versions(), upstream.tree.id, about, where.stated)
        packing = Packing(manifest, where, deferred(upstream))
        return cls(key, digest_of(key, where.reasons), packing, recall)

    def get(self, key: str) -> Any:
        packed = self._recall.outcomes.get(key)
        return self._packing.unpack(packed) if packed is not None else None

    def keep(self, key: str, value: object) -> None:
        packed = self._packing.pack(value)
        if packed is not None:
            self._recall.outcomes[key] = packed


def _cut(
    upstream: Snapshot,
    manifest: Manifest,
    about: About,
    recall: Recalled | None,
    twice: bool = False,
) -> tuple[Cut, IndexedTree]:
    progress.stage("cutting")
    done = _settled(cut_to_fit(upstream, manifest, about=about, recall=recall))
    progress.summary(f"{len(done.output):,} files in {done.specialized.rounds} rounds")
    progress.stage("verifying")
    try:
        return done, verify(done, manifest, twice=twice)
    except BuildError as error:
        raise Rejected(error.problems, done.output) from None


def _settled(done: Cut) -> Cut:
    """The cut without the problems of its rules: those that remain are excused, and their sentences quote
    lines of the manifest."""
    selection = replace(done.decided.selection, problems=())
    return replace(done, decided=replace(done.decided, selection=selection))
