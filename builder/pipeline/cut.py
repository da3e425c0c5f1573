"""The cut: upstream's tree and the manifest give the output tree, with the reason for every change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from builder.analysis.indexed_tree import IndexedTree
from builder.analysis.removals import Removals, index_removals
from builder.analysis.surface_diff import Surfaces
from builder.errors import BuildError, Problem
from builder.graph.modules import Summary, SummaryCache, known_of, python_paths, summaries
from builder.graph.names import is_test
from builder.graph.resolve import Index
from builder.manifest.model import Manifest
from builder.native import gate as native
from builder.native import lockstep
from builder.overlay.record import Record
from builder.parallel import submit
from builder.pipeline import expand_families, unresolved_uses
from builder.pipeline.architectures import facts_of
from builder.pipeline.empty_modules import empty_modules
from builder.pipeline.expand_families import FamilyMatches
from builder.pipeline.expand_patterns import expand_patterns
from builder.pipeline.model_scope import follow_models
from builder.pipeline.overlay import overlay
from builder.pipeline.prune import Pruned, chosen, partial_paths, prune, python_modules
from builder.pipeline.ranges import UNKNOWN, About, beyond, excused, holds, mistakes
from builder.pipeline.requirements import decide_requirements
from builder.pipeline.surfaces import staying_python, surface_files, surfaces, with_tables
from builder.pipeline.unparsed import problems as unparsed_problems
from builder.pipeline.unparsed import unparsed
from builder.pipeline.unreached import blamed, narrowed, output_summaries
from builder.pipeline.unused_facts import unused_facts
from builder.select.families import with_paths
from builder.select.patterns import PatternSet
from builder.select.rules import Selection
from builder.specialize.evaluating.facts import Facts
from builder.specialize.fixpoint import specialize
from builder.specialize.fold_cache import FoldRecord
from builder.specialize.results import Specialized
from builder.specialize.text_index.module_bindings import ModuleBindings
from builder.surface.extract import surface
from builder.surface.model import Surface
from builder.tree import Snapshot

#: How often an output is specialized again without what no root reached in it. Two or three times are usual;
#: what would leave later stays.
_MAX_PASSES = 8
#: Takes the problems of a stage.
Stop = Callable[[Iterable[Problem]], None]


@dataclass(frozen=True, slots=True)
class Aside:
    """What follows from upstream alone, and is not asked for before the end: worked out beside the cut."""

    summaries: Mapping[str, Summary]  # of Python that rules remove
    surface: Surface
    findings: tuple[native.Finding, ...]


Told = tuple[Surface, tuple[native.Finding, ...]]


@dataclass(frozen=True, slots=True)
class Recalled:
    """What cuts found out that is true of the same files again.

    Summaries, what upstream offers, what folding a file gave, what a file binds at its top level.
    """

    summaries: dict[tuple[str, str, int], Summary] = field(default_factory=dict)
    told: dict[str, Told] = field(default_factory=dict)
    folds: dict[str, FoldRecord] = field(default_factory=dict)
    tops: dict[str, ModuleBindings] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cut:
    """The output of one build before it is verified and written."""

    upstream: Snapshot
    before: IndexedTree
    decided: Pruned
    output: Snapshot
    specialized: Specialized
    records: tuple[Record, ...]
    consequences: tuple[lockstep.Consequence, ...]
    ours: frozenset[str]
    opaque: frozenset[str]  # Python files that do not parse, and stay as they are
    removals: Removals
    surfaces: Surfaces
    findings: tuple[native.Finding, ...]  # what upstream's native code has itself
    manifest: Manifest  # as it is asked of this upstream, with each definition that a pattern stands for
    facts: Facts
    laid: Snapshot  # the kept files with the overlays applied, before specialization
    families: Mapping[str, FamilyMatches] = field(default_factory=dict)  # batch -> what its words matched
    summaries: SummaryCache = field(default_factory=dict)  # of upstream's Python and the output's


def cut(
    upstream: Snapshot,
    manifest: Manifest,
    stop: Stop | None = None,
    recall: Recalled | None = None,
    about: About = UNKNOWN,
) -> Cut:
    """Select, prune, overlay, specialize and keep native code in step.

    `recall`: what earlier cuts found out about the same files; what this one finds out is added. `about`:
    what is known of upstream besides its files; it decides what is a mistake, and nothing of the output.
    Raises BuildError with all problems of the first stage that has any; with `stop` they are handed to it
    instead, stage by stage, and the cut goes on with what it has.
    """
    stop = stop or _stop
    within = partial_paths(upstream)
    stated, manifest = manifest, with_paths(excused(manifest, about, within), upstream.tree)
    selection = chosen(upstream, manifest, within)
    compared = surface_files(upstream, selection, manifest)
    known = recall.summaries if recall else {}
    sides = f"{compared.tree.id} {upstream.tree.id} {sorted(manifest.packages.items())}"
    told = recall.told.get(sides) if recall else None
    meanwhile = submit(lambda: _aside(upstream, compared, selection, manifest, known, told))
    staying = summaries(upstream.restrict(staying_python(selection)), manifest.packages, known)
    index = Index(staying, manifest.packages)
    decided = prune(selection, manifest, index, staying, upstream)
    scoped = follow_models(manifest, upstream, decided)
    if scoped.off:
        return cut(upstream, stated.without(scoped.off), stop, recall, replace(about, pin=None))
    asked = manifest
    staying_files = upstream.restrict(p for p in decided.kept if p in staying)
    manifest, family, unused = expand_families.expand_families(
        scoped.manifest,
        upstream,
        staying_files,
        Index({p: staying[p] for p in staying_files}, manifest.packages),
    )
    manifest, unmatched = expand_patterns(manifest, index)
    misses = [*scoped.problems, *unused, *unmatched, *unused_facts(upstream, manifest)]
    holding = holds(asked, scoped.manifest, misses, selection.matches())
    stop([*selection.problems, *mistakes(misses, asked), *beyond(asked, holding)])

    overlaid = overlay(upstream, decided.kept, decided.removed, manifest, within)
    edited = {record.mark for record in overlaid.records}
    stop([*mistakes(overlaid.problems, asked), *beyond(asked, edited)])
    laid = upstream.restrict(decided.kept).replace(overlaid.contents, overlaid.modes)

    errors = unparsed(laid, upstream, staying)
    stop(unparsed_problems(errors, laid, staying, decided, manifest))
    opaque = frozenset(errors)

    ours = frozenset(overlaid.ours)
    facts = facts_of(manifest, upstream, decided)
    once = _Setting(upstream, manifest, ours, facts, opaque, staying, stop, recall)
    done = _reduced(laid, decided, once)
    decided, specialized, output = done.decided, done.specialized, done.output
    laid = laid.restrict([path for path in laid if path not in decided.removed])
    settled = decide_requirements(output, overlaid.waiting, manifest)
    stop([*settled.problems, *beyond(asked, {record.mark for record in settled.records})])
    laid, output = laid.replace(settled.files), output.replace(settled.files)

    aside = meanwhile.result()
    everything = {**staying, **aside.summaries}
    before = IndexedTree(upstream, everything, Index(everything, manifest.packages))
    decided = blamed(decided, before.index, manifest)
    if recall:
        for one, summary in known_of(upstream, everything).items():
            recall.summaries.pop(one, None)  # the latest used are kept longest
            recall.summaries[one] = summary
        recall.told[sides] = (aside.surface, aside.findings)
    removals = index_removals(manifest, decided.removed, specialized.lost)
    found = surfaces(compared, aside.surface, output, manifest, removals)
    return Cut(
        upstream=upstream,
        before=before,
        decided=decided,
        output=with_tables(output, found, manifest),
        specialized=specialized,
        records=(*overlaid.records, *settled.records),
        consequences=done.consequences,
        ours=ours,
        opaque=opaque,
        removals=removals,
        surfaces=found,
        findings=aside.findings,
        manifest=manifest,
        facts=facts,
        laid=laid,
        families=family,
        summaries=done.summaries,
    )


@dataclass(frozen=True, slots=True)
class _Setting:
    """What stays the same while an output is reduced."""

    upstream: Snapshot
    manifest: Manifest
    ours: frozenset[str]
    facts: Facts
    opaque: frozenset[str]
    staying: Mapping[str, Summary]
    stop: Stop
    recall: Recalled | None


@dataclass(frozen=True, slots=True)
class _Reduced:
    """An output in which everything is reached, and how it came to be."""

    output: Snapshot
    decided: Pruned
    specialized: Specialized
    consequences: tuple[lockstep.Consequence, ...]
    summaries: SummaryCache


def _reduced(laid: Snapshot, decided: Pruned, at: _Setting) -> _Reduced:
    """Specialize, let go what nothing reaches any more, and begin again without it, until nothing leaves."""
    output, total = laid, Specialized({})
    consequences: tuple[lockstep.Consequence, ...] = ()
    known: dict[tuple[str, str, int], Summary] = known_of(at.upstream, at.staying)
    told: set[tuple[str, str, str]] = set()
    for number in range(1, _MAX_PASSES + 1):
        done, followed = _specialize(
            output, at.upstream, decided, at.manifest, at.ours, at.facts, at.opaque, at.recall
        )
        # what an earlier pass left open is open still, and told already
        done.leftovers = [use for use in done.leftovers if (use.path, use.scope, use.name) not in told]
        told |= {(use.path, use.scope, use.name) for use in done.leftovers}
        at.stop(unresolved_uses.problems(done, decided, at.manifest, output, at.upstream))
        at.stop(followed.problems)
        total = total.then(done)
        consequences += followed.consequences
        output = output.replace({**done.files, **followed.files})
        left = empty_modules(output, done.emptied, total.files, at.staying, at.manifest)
        total.lost.update(dict.fromkeys(left.values(), "nothing is left in it"))
        output = output.replace(dict.fromkeys(left))
        found = output_summaries(output, at.manifest, known)
        known |= known_of(output, found)
        if number == _MAX_PASSES:
            break
        fewer = narrowed(output, found, decided, at.manifest, at.upstream)
        gone = [path for path in fewer.removed if path not in decided.removed]
        decided = fewer
        if not gone:
            break
        output = output.replace(dict.fromkeys(path for path in gone if path in output))
        total = replace(total, files={p: data for p, data in total.files.items() if p in output})
    return _Reduced(output, decided, total, consequences, known)


def _aside(
    upstream: Snapshot,
    compared: Snapshot,
    selection: Selection,
    manifest: Manifest,
    known: SummaryCache,
    told: Told | None,
) -> Aside:
    leaving = sorted({*python_modules(upstream, manifest.packages)} - {*staying_python(selection)})
    found = summaries(upstream.restrict(leaving), manifest.packages, known)
    return Aside(found, *(told or (surface(compared, manifest.packages), native.check(upstream))))


def again(done: Cut, manifest: Manifest) -> Snapshot:
    """The output, specialized and kept in step once more; whatever it can still change is a defect.

    The hand-made edits are not repeated: what they name is gone.
    """
    specialized, followed = _specialize(
        done.output, done.upstream, done.decided, manifest, done.ours, done.facts, done.opaque
    )
    return done.output.replace({**specialized.files, **followed.files})


def _specialize(
    files: Snapshot,
    upstream: Snapshot,
    decided: Pruned,
    manifest: Manifest,
    ours: frozenset[str],
    facts: Facts,
    opaque: frozenset[str],
    recall: Recalled | None = None,
) -> tuple[Specialized, lockstep.Followed]:
    """What follows from the facts and from what is gone: in Python, then in native code."""
    readable = [p for p in python_paths(files) if p not in opaque]
    before = [p for p in python_paths(upstream) if not is_test(p) and p not in opaque]
    modules = python_modules(upstream, manifest.packages)
    specialized = specialize(
        files={p: files[p] for p in python_modules(readable, manifest.packages)},
        upstream={p: upstream[p] for p in python_modules(before, manifest.packages)},
        names=python_modules({*readable, *before}, manifest.packages),
        removed={modules[p]: str(r.mark) for p, r in decided.removed.items() if p in modules},
        facts=facts,
        may_prune=PatternSet(manifest.symbols_pruned).any,
        extra=[files[p] for p in files if p.endswith("pyproject.toml") or p in opaque],
        frozen=ours,
        stays=frozenset(e.target for b in manifest.batches for e in b.edits if e.kind == "stub"),
        recall=recall.folds if recall else None,
        tops=recall.tops if recall else None,
    )
    special = files.replace(specialized.files)
    removed = {p: r.batch for p, r in decided.removed.items()}
    return specialized, lockstep.follow(special, upstream, removed)


def _stop(problems: Iterable[Problem]) -> None:
    found = tuple(problems)
    if found:
        raise BuildError(found)
