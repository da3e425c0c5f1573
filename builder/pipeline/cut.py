"""The cut: upstream's tree and the manifest give the output tree, with the reason for every change."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from builder import progress
from builder.analysis.indexed_tree import IndexedTree, world
from builder.analysis.removals import index_removals
from builder.analysis.surface_diff import Surfaces, compare
from builder.emit.removed_features import with_tables
from builder.gates.parse import uneditable
from builder.graph.modules import Summary, known_of, summaries
from builder.graph.resolve import Index
from builder.manifest.model import Manifest
from builder.manifest.statements import Rule
from builder.manifest.switches import without
from builder.native import gate as native
from builder.parallel import Future
from builder.pipeline.architectures import facts_of
from builder.pipeline.attribution import attribute
from builder.pipeline.expand import expand, with_homes
from builder.pipeline.model import Cut
from builder.pipeline.model_scope import follow_models
from builder.pipeline.overlay import overlay
from builder.pipeline.prune import (
    partial_paths,
    prune,
    require_project,
    staying_python,
    surface_files,
)
from builder.pipeline.ranges import UNKNOWN, About, beyond, excused, mistakes, unmatched
from builder.pipeline.reduce import Setting, blamed, reduce
from builder.pipeline.requirements import decide_requirements, drop_requirements
from builder.pipeline.run import Recalled, Run, Stop, raise_problems
from builder.pipeline.verify import broken_files, true_places
from builder.select.families import with_paths
from builder.select.rules import select
from builder.surface.extract import surface
from builder.surface.model import Surface
from builder.tree import Snapshot


def cut(
    upstream: Snapshot,
    manifest: Manifest,
    stop: Stop = raise_problems,
    recall: Recalled | None = None,
    about: About = UNKNOWN,
) -> Cut:
    """Take upstream through all stages between its tree and the output's.

    `recall`: the results of earlier cuts on the same files; those of this one are added. `about`: what is
    known of upstream besides its files; it decides what is a mistake, and nothing of the output. Raises
    BuildError with all problems of the first stage that has any; another `stop` gets them stage by stage, and
    the cut goes on with what it has.
    """
    require_project(upstream, manifest)
    within = partial_paths(upstream, manifest.upstream.project.folder, about.kind)
    run = Run(upstream, within, stop, recall)
    leaving: dict[str, Rule] = {}
    while True:
        done = _cut(run, manifest, about, leaving)
        # what a batch that is off gives back may use what is gone; the cut starts again without it
        broken = broken_files(done)
        if not broken:
            return done
        leaving |= broken


def _cut(run: Run, manifest: Manifest, about: About, leaving: Mapping[str, Rule]) -> Cut:
    """Cut once; `leaving`: path outside the packages -> why it is removed though a rule keeps it."""
    upstream = run.upstream
    withdrawn: dict[str, str] = {}
    while True:
        # select: rules decide about paths
        asked = with_paths(excused(manifest, about, run.within), upstream.tree)
        selection = select(upstream.tree, asked, run.within)
        offering = surface_files(upstream, selection, asked)
        paths = [path for path in staying_python(selection) if path not in leaving]
        # nobody asks for the other side before specialization: a second process reads it
        pending = Future(partial(_read, run, paths, offering, asked.packages))

        progress.step("reading upstream")
        # prune: where no rule decides, reach does
        staying = summaries(upstream.restrict(paths), asked.packages, run.summaries)
        index = Index(staying, asked.packages)
        pruned = prune(selection, asked, index, staying, upstream).without(leaving)

        # follow the models: what a model that stays contradicts is withdrawn
        scoped = follow_models(asked, upstream, pruned)
        if not scoped.off:
            break
        # without these batches, other paths and other models stay
        withdrawn |= scoped.off
        manifest, about = without(manifest, tuple(scoped.off)), replace(about, pin=None)

    progress.step("expanding the manifest")
    expanded, families, matched = expand(run, asked, scoped, pruned, staying, index)

    overlaid = overlay(upstream, pruned.kept, pruned.removed, expanded, run.within)
    edited = frozenset(record.mark for record in overlaid.records)
    mistaken = with_homes(mistakes(overlaid.problems, asked), expanded, upstream)
    run.stop([*mistaken, *beyond(asked, edited)])
    files = upstream.restrict(pruned.kept).replace(overlaid.contents, overlaid.modes)
    laid = summaries(files, asked.packages, ChainMap(known_of(upstream, staying), run.summaries))
    run.remember(files, laid)
    errors = {path: summary.error for path, summary in laid.items() if summary.error}
    unread = uneditable(errors, files, staying, pruned.removed, expanded)
    run.stop(true_places(unread, upstream, files, expanded, overlaid.records))

    # specialize and lockstep, which asks what the comparison has read of the native code
    others, offered, findings = pending.result()
    facts = facts_of(expanded, upstream, pruned.kept, pruned.removed)
    setting = Setting(upstream, expanded, facts, frozenset(overlaid.ours), frozenset(errors))
    reduced = reduce(run, files, pruned, setting, staying)
    files = files.restrict([path for path in files if path not in reduced.pruned.removed])

    known = {**staying, **others}
    parsed = ChainMap(known_of(upstream, known), dict(reduced.summaries))
    indexed = partial(world, packages=asked.packages, known=parsed)
    required = decide_requirements(indexed(reduced.output), overlaid.waiting, expanded)
    declared = frozenset(record.mark for record in required.records)
    run.stop([*required.problems, *beyond(asked, declared)])
    output = reduced.output.replace(required.contents)

    progress.step("comparing with upstream")
    run.remember(upstream, known)
    before = IndexedTree(upstream, asked.packages, partial(dict, known))
    dropped = drop_requirements(indexed(output), before, reduced.pruned.removed, expanded)
    run.stop(dropped.problems)
    output = output.replace(dropped.contents)
    # the problems left in the selection are excused, and they quote lines of the manifest
    selection = replace(reduced.pruned.selection, problems=())
    decided = blamed(replace(reduced.pruned, selection=selection), before.index, expanded)
    removals = index_removals(expanded, decided.removed, reduced.specialized.lost)
    done = Cut(
        upstream=upstream,
        before=before,
        after=indexed(output),
        decided=decided,
        output=output,
        specialized=reduced.specialized,
        records=(*overlaid.records, *required.records, *dropped.records),
        consequences=reduced.consequences,
        ours=setting.ours,
        opaque=setting.opaque,
        removals=removals,
        surfaces=Surfaces({}, {}, ()),
        findings=findings,
        manifest=expanded,
        facts=facts,
        laid=files.replace(required.contents | dropped.contents),
        withdrawn=withdrawn,
        unmatched=unmatched(asked, matched | edited | declared),
        families=families,
    )
    attributed = attribute(done)
    surfaces = compare(offering, offered, output, expanded, removals, attributed.reason_at)
    output = with_tables(output, surfaces, expanded)
    return replace(done, output=output, after=indexed(output), surfaces=surfaces, attributed=attributed)


def _read(
    run: Run, staying: Sequence[str], offering: Snapshot, packages: Mapping[str, str]
) -> tuple[Mapping[str, Summary], Surface, tuple[native.Finding, ...]]:
    """Return what the output is compared with: the summaries of the Python besides the `staying` paths, the
    surface of the `offering` files, and what upstream's native code has itself."""
    others = summaries(offering.restrict({*offering}.difference(staying)), packages, run.summaries)
    return others, surface(offering, packages), native.check(run.upstream)
