"""A trial: cuts and verifies an upstream, continuing after problems, so that one run lists all of them.

The old upstream of a lift passed once: of it, only the decisions and the edits that matched are needed.
"""

from __future__ import annotations

import gc
import glob
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from builder.errors import BuildError, Mark, Problem, by_cause
from builder.graph.modules import summaries
from builder.graph.resolve import Index
from builder.lift.history import History
from builder.manifest.model import Manifest
from builder.manifest.statements import BASE, Rule, WholeFile, changed
from builder.overlay.files import place
from builder.pipeline.cut import cut
from builder.pipeline.model import Cut
from builder.pipeline.overlay import overlay
from builder.pipeline.prune import Pruned, partial_paths, prune, staying_python
from builder.pipeline.ranges import UNKNOWN, About, excused
from builder.pipeline.run import Recalled
from builder.pipeline.verify import problems
from builder.select.families import with_paths
from builder.select.rules import Selection, holds_path, select
from builder.tree import Snapshot


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of a trial. `cut` is None if a stage could not continue."""

    selection: Selection
    problems: tuple[Problem, ...]
    cut: Cut | None


@dataclass(frozen=True, slots=True)
class Sides:
    """Two upstreams, what is known of each, the history between them, and what the manifest does there."""

    manifest: Manifest
    old: Snapshot
    new: Snapshot
    about_old: About
    about_new: About
    history: History
    before: Pruned  # the decisions on the old one
    edited: frozenset[Mark]  # the edits that matched there
    done: Trial  # of the new one

    @property
    def output(self) -> Snapshot:
        """What the distribution of the new one would hold; nothing if the trial did not come so far."""
        return self.done.cut.output if self.done.cut else self.new.restrict(())


def compare(
    manifest: Manifest,
    old: Snapshot,
    about_old: About,
    new: Snapshot,
    about_new: About,
    history: History,
    recall: Recalled,
) -> Sides:
    """Decide and edit the old upstream, and try the new one."""
    within = partial_paths(old, manifest.upstream.project.folder, about_old.kind)
    asked = with_paths(excused(manifest, about_old, within), old.tree)
    selection = select(old.tree, asked, within)
    staying = summaries(old.restrict(staying_python(selection)), manifest.packages, recall.summaries)
    recall.remember(old, staying)
    decided = prune(selection, asked, Index(staying, manifest.packages), staying, old)
    done = overlay(old, decided.kept, decided.removed, asked, within)
    edited = frozenset(record.mark for record in done.records)
    tried = trial(new, manifest, recall, about_new)
    return Sides(manifest, old, new, about_old, about_new, history, decided, edited, tried)


#: Gates whose findings may repeat an R008: they find undefined names, lost imports and attributes.
_REPEATS = frozenset(["G002", "G003", "G004"])


def trial(
    upstream: Snapshot, manifest: Manifest, recall: Recalled | None = None, about: About = UNKNOWN
) -> Trial:
    """Cut and verify, keeping what no rule decides, and collect the problems of all stages.

    A later problem may follow from an earlier one: an edit that finds nothing leaves what it should remove.
    """
    within = partial_paths(upstream, manifest.upstream.project.folder, about.kind)
    asked = excused(manifest, about, within)
    selection = select(upstream.tree, with_paths(asked, upstream.tree), within)
    open_paths = [path for group in selection.unclassified for path in group.paths]
    relaxed = _relaxed(asked, open_paths, upstream)
    collected: list[Problem] = [p for p in selection.problems if p.code == "R003"]
    collected += _preimage_problems(asked, upstream, within)
    done: Cut | None = None
    try:
        done = cut(upstream, relaxed, collected.extend, recall, about)
        gc.collect()
        collected += problems(done)
    except BuildError as error:
        collected += error.problems
    # without those that follow from an R008 in the same file
    uses = (use for p in collected if p.code == "R008" for use in (p, *p.also))
    files = {use.upstream.file for use in uses if use.upstream}
    repeats = {p for p in collected if p.code in _REPEATS and p.upstream and p.upstream.file in files}
    causes = dict.fromkeys(p for p in collected if p not in repeats)
    return Trial(selection, tuple(by_cause(causes)), done)


def _relaxed(manifest: Manifest, open_paths: Iterable[str], upstream: Snapshot) -> Manifest:
    """The manifest with these paths kept, so that later stages see what would come with them, and with its
    whole files in place whatever they replace: what upstream made of a file that is not in the output says
    nothing about the output. Where an overlay is optional, upstream's own file may be in the output."""

    def admitted(one: object) -> object:
        if not isinstance(one, WholeFile) or not one.replaces or one.optional or one.path not in upstream:
            return one
        return replace(one, preimage=(*one.preimage, upstream.tree[one.path].blob), definitions={})

    relaxed = changed(manifest, admitted)
    base, *others = relaxed.batches
    kept = (Rule(f"/{glob.escape(path)}", "keep", BASE, mark=manifest.mark("keep")) for path in open_paths)
    return replace(relaxed, batches=(replace(base, rules=(*base.rules, *kept)), *others))


def _preimage_problems(manifest: Manifest, upstream: Snapshot, within: Sequence[str]) -> tuple[Problem, ...]:
    """R006 for each whole file that replaces another blob than the manifest states."""
    items = [f for b in manifest.batches for f in b.files]
    items = [f for f in items if not within or holds_path(f.path, within)]
    problems = place(items, manifest.overlays, upstream).problems
    return tuple(p for p in problems if p.code == "R006" and p.upstream is not None)
