"""The outcome of a build before it is packed: a cut that every gate accepts, with its figures.

It is remembered whole, by upstream and by what the manifest states. A comment or a reason changes none of it:
see `builder/pipeline/packing.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from builder.analysis.indexed_tree import IndexedTree
from builder.manifest.model import Manifest
from builder.manifest.places import places
from builder.pipeline import tools
from builder.pipeline.cut import Cut, cut
from builder.pipeline.measure import Figures, measure
from builder.pipeline.packing import Packing
from builder.pipeline.ranges import About
from builder.pipeline.run import Recalled
from builder.pipeline.specialization_memo import digest_of
from builder.pipeline.verify import verify
from builder.tree import Snapshot
from builder.upstream.model import Upstream, deferred, snapshot

#: Takes the name of a stage that begins.
Stage = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """A cut, its output indexed, and its figures."""

    cut: Cut
    after: IndexedTree
    figures: Figures


def prove(upstream: Upstream, manifest: Manifest, about: About, stage: Stage) -> Outcome:
    """The outcome, with nothing remembered and the output specialized twice.

    Raises BuildError with the problems of the first stage that has any.
    """
    done, after = _cut(snapshot(upstream), manifest, about, stage, None, twice=True)
    return Outcome(done, after, measure(done, manifest))


def recall_or_make(
    upstream: Upstream, manifest: Manifest, about: About, stage: Stage, recall: Recalled
) -> Outcome:
    """The outcome, as it is remembered or made now. Raises BuildError with the problems of the first stage
    that has any."""
    where = places(manifest)
    packing = Packing(manifest, where, deferred(upstream))
    key = digest_of(tools.versions(), upstream.tree.id, about, where.stated)
    # the sentences of the figures quote reasons
    figures_key = digest_of(key, where.reasons)

    packed = recall.outcomes.get(key)
    if packed is not None:
        done, after = packing.unpack(packed)
    else:
        done, after = _cut(snapshot(upstream), manifest, about, stage, recall)
        _keep(recall, key, packing.pack((done, after)))
    packed = recall.outcomes.get(figures_key)
    if packed is not None:
        figures = packing.unpack(packed)
    else:
        figures = measure(done, manifest)
        _keep(recall, figures_key, packing.pack(figures))
    return Outcome(done, after, figures)


def _keep(recall: Recalled, key: str, packed: bytes | None) -> None:
    if packed is not None:
        recall.outcomes[key] = packed


def _cut(
    upstream: Snapshot,
    manifest: Manifest,
    about: About,
    stage: Stage,
    recall: Recalled | None,
    twice: bool = False,
) -> tuple[Cut, IndexedTree]:
    stage("cutting")
    done = _settled(cut(upstream, manifest, about=about, recall=recall))
    stage("verifying")
    return done, verify(done, manifest, twice=twice)


def _settled(done: Cut) -> Cut:
    """The cut without the problems of its rules: those that remain are excused, and their sentences quote
    lines of the manifest."""
    selection = replace(done.decided.selection, problems=())
    return replace(done, decided=replace(done.decided, selection=selection))
