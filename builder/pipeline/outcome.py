"""The outcome of a build before it is packed: a cut that every gate accepts, with its figures.

It is remembered whole, by upstream and by what the manifest states. A comment or a reason changes none of it:
see `builder/pipeline/packing.py`. Summaries are not remembered with it, since they follow from the trees.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

from builder import __version__, memo, progress
from builder.analysis.indexed_tree import IndexedTree
from builder.emit.record import RecordedCut
from builder.errors import BuildError, Problem
from builder.graph.modules import Summary, summaries
from builder.manifest.model import Manifest
from builder.manifest.places import places
from builder.pipeline.comparison import staying_python
from builder.pipeline.cut import Cut
from builder.pipeline.graph_answers import GraphAnswers, graph_answers
from builder.pipeline.measure import Figures, Measured
from builder.pipeline.packing import Packing
from builder.pipeline.prune import Pruned, python_modules
from builder.pipeline.ranges import About
from builder.pipeline.run import Recalled, digest_of
from builder.pipeline.verify import cut_without_broken_files, output_world, verify
from builder.tree import Snapshot
from builder.upstream.model import Upstream, deferred, snapshot


@dataclass(frozen=True, slots=True)
class Outcome:
    """A cut, its output indexed, what the import graphs answer, and its figures.

    `record`: the recorded cut that it comes from.
    """

    cut: Cut
    after: IndexedTree
    graphs: GraphAnswers
    figures: Figures
    record: RecordedCut | None = None


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
        graphs = graph_answers(done, after, manifest)
        return Outcome(done, after, graphs, Measured.of(done).figures(done, manifest))


def recall(upstream: Upstream, manifest: Manifest, about: About, recalled: Recalled) -> Outcome | None:
    """The outcome, if it is remembered; where only reasons have changed since, it is measured again."""
    remembered = _Remembered.of(upstream, manifest, about, recalled)
    known = remembered.outcome(recalled.outcomes)
    cut_alone = remembered.cut(recalled.outcomes) if known is None else None
    if cut_alone is None:
        return known
    done, graphs = cut_alone
    return _measured(remembered, done, output_world(done, manifest), graphs, recalled)


def make(upstream: Upstream, manifest: Manifest, about: About, recalled: Recalled) -> Outcome:
    """The outcome of a cut that is made now, with what is remembered of its parts.

    Raises BuildError with the problems of the first stage that has any.
    """
    done, after = _cut(snapshot(upstream), manifest, about, recalled)
    remembered = _Remembered.of(upstream, manifest, about, recalled)
    return _measured(remembered, done, after, graph_answers(done, after, manifest), recalled)


def _measured(
    remembered: _Remembered, done: Cut, after: IndexedTree, graphs: GraphAnswers, recalled: Recalled
) -> Outcome:
    progress.stage("measuring")
    measured = Measured.of(done)
    recalled.outcomes.update(remembered.packed(done, graphs, measured))
    return Outcome(done, after, graphs, measured.figures(done, remembered.manifest))


def recalled_cut(upstream: Upstream, manifest: Manifest, about: About, recalled: Recalled) -> Cut | None:
    """The cut, if it is remembered."""
    known = _Remembered.of(upstream, manifest, about, recalled).cut(recalled.outcomes)
    return known[0] if known is not None else None


def recorded(
    upstream: Upstream,
    manifest: Manifest,
    about: About,
    record: RecordedCut,
    tree: str,
    recalled: Recalled,
) -> Outcome | None:
    """The outcome that a record holds; None where it is of another manifest or upstream, cannot be read, or
    gives an output other than `tree`. `recalled`: what earlier cuts found out, of summaries."""
    try:
        entries = {key: text.encode() for key, text in record.entries.items()}
        known = _Remembered.of(upstream, manifest, about, recalled).outcome(entries)
        if known is None or known.cut.output.tree.id != tree:
            return None
        output = known.cut.output
        for path in output:
            if output.tree[path] != upstream.tree.get(path):
                output[path]  # raises where the text is not the one that the tree names
    except (ValueError, AttributeError):
        return None
    return replace(known, record=record)


def applied(record: RecordedCut) -> str:
    """The line that says so."""
    said = f"this cut was proven on {record.proven} by builder {record.builder} and is applied"
    return f"proven  {said}; `dist --recut` cuts again"


def record_of(
    outcome: Outcome, upstream: Upstream, manifest: Manifest, about: About, proven: str
) -> RecordedCut:
    """The record of an outcome that was proven on a day (ISO 8601)."""
    measured = Measured.of(outcome.cut)
    packed = _Remembered.of(upstream, manifest, about, Recalled()).packed(
        outcome.cut, outcome.graphs, measured
    )
    return RecordedCut(proven, __version__, {key: data.decode() for key, data in packed.items()})


def keys(upstream: Upstream, manifest: Manifest, about: About) -> tuple[str, str]:
    """The keys of a cut and of what was measured of it: digests of all that they depend on."""
    where = places(manifest)
    key = digest_of(upstream.tree.id, about, where.stated)
    return key, digest_of(key, where.reasons)


@dataclass(frozen=True, slots=True)
class _Remembered:
    """What is remembered of one outcome: the cut with what its graphs answer, and what was measured, whose
    sentences quote reasons."""

    cut_key: str
    measured_key: str
    _packing: Packing
    _recall: Recalled

    @classmethod
    def of(cls, upstream: Upstream, manifest: Manifest, about: About, recall: Recalled) -> _Remembered:
        """`recall`: knows summaries, and gets those that are made."""
        packing = Packing(manifest, places(manifest), deferred(upstream))
        return cls(*keys(upstream, manifest, about), packing, recall)

    @property
    def manifest(self) -> Manifest:
        """The manifest at hand."""
        return self._packing.manifest

    def outcome(self, entries: Mapping[str, bytes]) -> Outcome | None:
        """The outcome, if all of it is among the entries. Raises ValueError for an entry that is none."""
        measured = self._get(self.measured_key, entries)
        known = self.cut(entries) if measured is not None else None
        if known is None:
            return None
        done, graphs = known
        after = IndexedTree(done.output, self.manifest.packages, partial(self._after, done))
        return Outcome(done, after, graphs, measured.figures(done, self.manifest))

    def cut(self, entries: Mapping[str, bytes]) -> tuple[Cut, GraphAnswers] | None:
        """The cut with what its graphs answer. Raises ValueError for an entry that is none."""
        known = self._get(self.cut_key, entries)
        if known is None:
            return None
        values, graphs = known
        upstream, packages = self._packing.upstream, self.manifest.packages
        before = IndexedTree(
            upstream, packages, partial(_before, upstream, packages, values["decided"], self._recall)
        )
        known = self._recall.summaries
        return Cut(**values, upstream=upstream, before=before, summaries=known), graphs

    def _after(self, done: Cut) -> Mapping[str, Summary]:
        """The summaries of the output's Python."""
        found = output_world(done, self.manifest).summaries
        self._recall.remember(done.output, found)
        return found

    def packed(self, done: Cut, graphs: GraphAnswers, measured: Measured) -> dict[str, bytes]:
        """The entries of an outcome; none where it cannot be told which statement a part of it comes from."""
        values = {
            field.name: getattr(done, field.name)
            for field in fields(done)
            if field.name not in ("upstream", "before", "summaries")
        }
        packed = {
            self.cut_key: self._packing.pack((values, graphs)),
            self.measured_key: self._packing.pack(measured),
        }
        kept = {key: data for key, data in packed.items() if data is not None}
        return kept if len(kept) == len(packed) else {}

    def _get(self, key: str, entries: Mapping[str, bytes]) -> Any:
        packed = entries.get(key)
        return self._packing.unpack(packed) if packed is not None else None


def _before(
    upstream: Snapshot, packages: Mapping[str, str], decided: Pruned, recall: Recalled
) -> dict[str, Summary]:
    """The summaries of upstream's Python that a cut looks at."""
    paths = {*python_modules(upstream, packages), *staying_python(decided.selection)}
    chosen = upstream.restrict(sorted(paths))

    def made() -> dict[str, Summary]:
        found = summaries(chosen, packages, recall.summaries)
        recall.remember(chosen, found)
        return found

    return memo.recall("summaries of a tree", (chosen.tree.id, sorted(packages.items())), made)


def _cut(
    upstream: Snapshot,
    manifest: Manifest,
    about: About,
    recall: Recalled | None,
    twice: bool = False,
) -> tuple[Cut, IndexedTree]:
    progress.stage("cutting")
    done = _settled(cut_without_broken_files(upstream, manifest, about=about, recall=recall))
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
