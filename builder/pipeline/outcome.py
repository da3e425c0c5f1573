"""The outcome of a build before it is packed: a cut that every gate accepts, with its figures.

It is remembered under the upstream and what the manifest states; comments and reasons do not count
(`builder/pipeline/packing.py`). Summaries follow from the trees and are not part of it.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from builder import __version__, memo, progress
from builder.analysis.indexed_tree import IndexedTree
from builder.emit.record import RecordedCut
from builder.emit.removed_features import with_tables
from builder.errors import BuildError
from builder.graph.modules import Summary, SummaryCache, known_of, summaries
from builder.manifest.digests import places
from builder.manifest.model import Manifest
from builder.pipeline.cut import cut
from builder.pipeline.graph_answers import GraphAnswers, graph_answers
from builder.pipeline.measure import Figures, Measured
from builder.pipeline.model import Cut
from builder.pipeline.packing import Packing
from builder.pipeline.prune import surface_files
from builder.pipeline.ranges import About
from builder.pipeline.run import Recalled, digest_of
from builder.pipeline.verify import verify
from builder.tree import Snapshot
from builder.upstream.model import Upstream, deferred, snapshot

#: What follows from the other parts of a cut, and is no part of an entry.
_FOLLOWING = frozenset(["upstream", "before", "after", "attributed"])


@dataclass(frozen=True, slots=True)
class Outcome:
    """A cut, what the import graphs answer, and its figures.

    `record`: the recorded cut that it comes from.
    """

    cut: Cut
    graphs: GraphAnswers
    figures: Figures
    record: RecordedCut | None = None


def outcome_of(done: Cut, manifest: Manifest) -> Outcome:
    """The outcome of a cut."""
    return Outcome(done, graph_answers(done, manifest), Measured.of(done).figures(done, manifest))


def applied(record: RecordedCut) -> str:
    """Return the line which says that a record is applied."""
    said = f"this cut was proven on {record.proven} by builder {record.builder} and is applied"
    return f"proven  {said}; `dist --recut` cuts again"


class Outcomes:
    """Makes, proves, recalls and records the outcome of one upstream and manifest.

    An outcome has two entries: the cut with the answers of its graphs, and its measurement, which quotes
    reasons. The key of each is a digest of all that it depends on. `recalled`: the entries and other results
    of earlier cuts; those of this one are added.
    """

    def __init__(
        self, upstream: Upstream, manifest: Manifest, about: About, recalled: Recalled | None = None
    ) -> None:
        where = places(manifest)
        key = digest_of(upstream.tree.id, about, where.stated)
        self.keys = key, digest_of(key, where.reasons)
        self._packing = Packing(manifest, where, deferred(upstream))
        self._upstream, self._manifest, self._about = upstream, manifest, about
        self._recalled = recalled or Recalled()

    def prove(self) -> Outcome:
        """Cut now, with nothing remembered, and specialize the output twice.

        Raises BuildError with the problems of the first stage that has any.
        """
        with memo.using(None):
            return outcome_of(self._verified_cut(None, twice=True), self._manifest)

    def make(self) -> Outcome:
        """Cut now, with the results that earlier cuts left for its parts.

        Raises BuildError with the problems of the first stage that has any.
        """
        done = self._verified_cut(self._recalled)
        return self._measure(done, graph_answers(done, self._manifest))

    def recall(self) -> Outcome | None:
        """Return the outcome if it is remembered; if only reasons changed since, it is measured again."""
        return self._outcome(self._recalled.outcomes)

    def recorded(self, record: RecordedCut, tree: str) -> Outcome | None:
        """Return the outcome that a record holds, measured again if only reasons changed since; None if it is
        of other statements or another upstream, cannot be read, or holds an output other than `tree`."""
        try:
            entries = {key: text.encode() for key, text in record.entries.items()}
            known = self._outcome(entries, tree)
            # with other reasons, its tables may be others, too
            if known is None or (self.keys[1] in entries and known.cut.output.tree.id != tree):
                return None
            output = known.cut.output
            for path in output:
                if output.tree[path] != self._upstream.tree.get(path):
                    output[path]  # raises where the text is not the one that the tree names
        except (BuildError, LookupError, ValueError, AttributeError, TypeError):
            return None
        return replace(known, record=record)

    def record(self, outcome: Outcome, proven: str) -> RecordedCut:
        """The record of an outcome that was proven on a day (ISO 8601)."""
        packed = self._packed(outcome.cut, outcome.graphs, Measured.of(outcome.cut))
        return RecordedCut(proven, __version__, {key: data.decode() for key, data in packed.items()})

    def _outcome(self, entries: Mapping[str, bytes], tree: str | None = None) -> Outcome | None:
        """The outcome, if its cut, whose output was `tree`, is among the entries; it is measured again if its
        measurement is not. Raises ValueError for an entry that is none."""
        known = self._unpacked(self.keys[0], entries)
        if known is None or (tree and known[0]["output"].tree.id != tree):
            return None
        values, graphs = known
        upstream, packages = self._packing.upstream, self._manifest.packages
        selection, read = values["decided"].selection, self._recalled.summaries

        def of_upstream() -> Mapping[str, Summary]:
            return self._summarized(surface_files(upstream, selection, self._manifest), read)

        before = IndexedTree(upstream, packages, of_upstream)
        # its tables quote reasons, which may be others now
        values["output"] = output = with_tables(values["output"], values["surfaces"], values["manifest"])

        def of_output() -> Mapping[str, Summary]:
            return self._summarized(output, ChainMap(known_of(upstream, before.summaries), read))

        after = IndexedTree(output, packages, of_output)
        done = Cut(**values, upstream=upstream, before=before, after=after)
        measured = self._unpacked(self.keys[1], entries)
        if measured is None:
            return self._measure(done, graphs)
        return Outcome(done, graphs, measured.figures(done, self._manifest))

    def _measure(self, done: Cut, graphs: GraphAnswers) -> Outcome:
        """Measure a cut, and remember its outcome."""
        progress.stage("measuring")
        measured = Measured.of(done)
        self._recalled.outcomes.update(self._packed(done, graphs, measured))
        return Outcome(done, graphs, measured.figures(done, self._manifest))

    def _packed(self, done: Cut, graphs: GraphAnswers, measured: Measured) -> dict[str, bytes]:
        """Return the entries of an outcome; none if the statement of a part cannot be identified."""
        names = (field.name for field in fields(done) if field.name not in _FOLLOWING)
        values = {name: getattr(done, name) for name in names}
        cut, figures = self._packing.pack((values, graphs)), self._packing.pack(measured)
        if cut is None or figures is None:
            return {}
        return dict(zip(self.keys, (cut, figures), strict=True))

    def _unpacked(self, key: str, entries: Mapping[str, bytes]) -> Any:
        packed = entries.get(key)
        return self._packing.unpack(packed) if packed is not None else None

    def _summarized(self, files: Snapshot, known: SummaryCache) -> dict[str, Summary]:
        """The summaries of files, which are remembered."""
        summarized = summaries(files, self._manifest.packages, known)
        self._recalled.remember(files, summarized)
        return summarized

    def _verified_cut(self, recall: Recalled | None, twice: bool = False) -> Cut:
        progress.stage("cutting")
        done = cut(snapshot(self._upstream), self._manifest, about=self._about, recall=recall)
        progress.summary(f"{len(done.output):,} files in {done.specialized.rounds} rounds")
        progress.stage("verifying")
        verify(done, twice)
        return done
