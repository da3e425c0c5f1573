"""The whole lift as a pure function: two upstreams and a manifest give everything that the report shows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial

from builder.errors import BuildError, Mark, Problem
from builder.graph.modules import known_of, summaries
from builder.graph.resolve import Index
from builder.lift import arrivals as came
from builder.lift import culprit, insert, overlays, predicates, surface, versions
from builder.lift import lost as losing
from builder.lift.arrivals import Arrivals
from builder.lift.history import Commit, History
from builder.lift.insert import Proposal
from builder.lift.lost import Lost, Sides
from builder.lift.markers import learn
from builder.lift.overlays import Changed
from builder.lift.predicates import NewFact
from builder.lift.returned import returned
from builder.lift.surface import Dependency, Difference
from builder.lift.trial import Trial, matched, trial
from builder.manifest.documents import SCOPE, is_part
from builder.manifest.load import parse
from builder.manifest.model import Manifest
from builder.manifest.named_scopes import choose
from builder.manifest.statements import BASE, Span
from builder.pipeline.overlay import overlay
from builder.pipeline.prune import Pruned, chosen, partial_paths, prune
from builder.pipeline.ranges import About, about, elsewhere, excused, in_force
from builder.pipeline.run import Recalled
from builder.pipeline.surfaces import staying_python, surface_files
from builder.report import MAX_PLACES
from builder.select.families import with_paths
from builder.surface.extract import surface as offers
from builder.tree import Snapshot
from builder.upstream.model import Upstream


@dataclass(frozen=True, slots=True)
class Question:
    """Something that stops the lift until a rule or a person decides it.

    `id` names it in decisions. `parts`: the ids of the things that it is about; decisions on all of them
    decide it too.
    """

    id: str
    problem: Problem
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's decision to leave all questions whose id matches as they are, with the reason."""

    pattern: str
    why: str


@dataclass(frozen=True, slots=True)
class Proposed:
    """The files with every proposal, always with the manifest itself, and the problems that would remain."""

    files: Mapping[str, bytes]
    proposals: tuple[Proposal, ...]
    problems: tuple[Problem, ...]


@dataclass(frozen=True)
class Survey:
    """The result of a lift."""

    old: Upstream
    new: Upstream
    manifest: Manifest
    history: History
    build_problems: tuple[Problem, ...]  # what stops the build with the manifest as it is
    lost: tuple[Lost, ...]
    arrivals: Arrivals
    facts: tuple[NewFact, ...]
    overlays: tuple[Changed, ...]
    surface: tuple[Difference, ...]
    dependencies: tuple[Dependency, ...]
    questions: tuple[Question, ...]
    decided: tuple[tuple[Question, Decision], ...]
    proposed: Proposed | None
    causes: Mapping[Problem, Commit] = field(default_factory=dict)  # the commit that caused a gate's problem
    returned: Mapping[str, str] | None = None  # what left at the old upstream and stays now; None: not known

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems of the build, and the open questions of the lift."""
        return (*self.build_problems, *(q.problem for q in self.questions))


def survey(
    old: tuple[Upstream, Snapshot],
    new: tuple[Upstream, Snapshot],
    manifest: Manifest,
    history: History,
    schema: Mapping[str, object],
    decisions: Sequence[Decision] = (),
    gone: Collection[str] | None = None,
) -> Survey:
    """Try the manifest on the new upstream; compare with the old one and find the causes.

    `gone`: the definitions that left at the old upstream, if they are known.
    """
    between = versions.step(old[0], new[0], manifest)
    known = versions.known(new[0], manifest, between)
    recall = Recalled()  # the trial of the proposals differs little from the first
    found = _compare(old[1], new[1], manifest, history, about(old[0], manifest), known, recall, gone)
    asked = [*_questions(found.arrivals, found.facts, found.dependencies, found.overlays)]
    decided = [(q, d) for q in asked if (d := _decision(q, decisions)) is not None]
    questions = tuple(q for q in asked if _decision(q, decisions) is None)
    return Survey(
        old[0], new[0], manifest, history, found.problems, found.lost, found.arrivals, found.facts,
        found.overlays, found.surface, found.dependencies, questions, tuple(decided),
        _proposed(manifest, new, between, schema, found, questions, recall), found.causes, found.returned,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Comparison:
    """What trying the manifest on the new upstream shows, without the cut itself."""

    problems: tuple[Problem, ...]
    lost: tuple[Lost, ...]
    arrivals: Arrivals
    facts: tuple[NewFact, ...]
    overlays: tuple[Changed, ...]
    surface: tuple[Difference, ...]
    dependencies: tuple[Dependency, ...]
    causes: Mapping[Problem, Commit]
    returned: Mapping[str, str] | None


def _compare(
    old: Snapshot,
    new: Snapshot,
    manifest: Manifest,
    history: History,
    then: About,
    known: About,
    recall: Recalled,
    gone: Collection[str] | None,
) -> _Comparison:
    """Compare two upstreams; `then` and `known` are what is known of the old one and of the new one."""
    before, edited = _old_side(old, manifest, then, recall)
    done = trial(new, manifest, recall, known)
    output = done.cut.output if done.cut else new.restrict(())
    sides = Sides(
        manifest, old, new, matched(before.selection), matched(done.selection), edited,
        frozenset(r.mark for r in done.cut.records) if done.cut else frozenset(), history, _definitions(done),
        elsewhere(manifest, known, partial_paths(new, manifest.upstream.project.folder, known.kind)),
    )  # fmt: skip
    lost = losing.lost(sides, done.problems)
    markers = learn(manifest, before.removed, before.kept)
    arrived = came.arrivals(old.tree, new, manifest, before, done, markers, history)
    facts = predicates.predicates(old, new, output, manifest, markers, history)
    facts += predicates.platform_methods(old, new, output)
    differences: list[Difference] = []
    if done.cut is not None:
        offered = offers(surface_files(old, before.selection, manifest), manifest.packages)
        now, left = done.cut.surfaces.before, done.cut.surfaces.after
        differences = surface.differences(offered, now, left, frozenset(before.kept))
        facts += predicates.choices(offered, now, manifest, left)
    over = overlays.changed(old, new, in_force(manifest, then, known), history)
    return _Comparison(
        done.problems, lost, arrived, tuple(facts), tuple(over),
        tuple(differences), tuple(surface.dependencies(old, new, output, manifest)),
        _causes(done, lost, new, history),
        returned(gone, done.after) if gone is not None and done.after else None,
    )  # fmt: skip


def _old_side(
    old: Snapshot, manifest: Manifest, known: About, recall: Recalled
) -> tuple[Pruned, frozenset[Mark]]:
    """The decisions on the old upstream, and the edits that matched there."""
    within = partial_paths(old, manifest.upstream.project.folder, known.kind)
    asked = with_paths(excused(manifest, known, within), old.tree)
    selection = chosen(old, asked, within)
    staying = summaries(old.restrict(staying_python(selection)), manifest.packages, recall.summaries)
    recall.remember(known_of(old, staying))
    decided = prune(selection, asked, Index(staying, manifest.packages), staying, old)
    done = overlay(old, decided.kept, decided.removed, asked, within)
    return decided, frozenset(record.mark for record in done.records)


def _causes(done: Trial, lost: Sequence[Lost], new: Snapshot, history: History) -> Mapping[Problem, Commit]:
    """For problems about a line of upstream, the commit that wrote the line, if it came on the way."""
    explained = {item.problem for item in lost}
    causes: dict[Problem, Commit] = {}
    for problem in (each for one in done.problems for each in (one, *one.also[:MAX_PLACES])):
        place = problem.upstream
        if place is None or problem in explained or place.file not in new:
            continue
        if problem.code == "R003":
            arrival = history.arrival(place.file)
            commit = arrival.commit if arrival else None
        else:
            line = _line(problem, new, done)
            commit = culprit.wrote(place.file, partial(_holds, line), history) if line else None
        if commit is not None:
            causes[problem] = commit
    return causes


def _line(problem: Problem, new: Snapshot, done: Trial) -> bytes | None:
    """The text that a problem is about: its excerpt, or its line in the output or upstream."""
    place = problem.upstream
    assert place is not None
    excerpt = (problem.excerpt or "").strip().encode("utf-8", "surrogateescape")
    if excerpt and b"\n" not in excerpt and excerpt in new[place.file]:
        return excerpt
    output = done.cut.output if done.cut else new
    for side in (output, new):
        rows = side[place.file].splitlines() if place.file in side else []
        if 0 < place.line <= len(rows) and (row := rows[place.line - 1].strip()) in new[place.file]:
            return row if len(row) > 4 else None
    return None


def _holds(line: bytes, data: bytes) -> bool:
    return line in data


def _definitions(done: Trial) -> Mapping[str, tuple[str, ...]]:
    if done.cut is None:
        return {}
    by_name: dict[str, list[str]] = {}
    for summary in done.cut.before.summaries.values():
        for name in summary.definitions if summary.module else ():
            full = f"{summary.module}.{name}"
            by_name.setdefault(".".join(full.split(".")[-2:]), []).append(full)
            by_name.setdefault(name.rpartition(".")[2], []).append(full)
    return {key: tuple(sorted(set(names))) for key, names in by_name.items()}


def _questions(
    arrived: Arrivals, facts: Iterable[NewFact], needed: Iterable[Dependency], replaced: Iterable[Changed]
) -> Iterable[Question]:
    for group in arrived.groups:
        if group.undecided:
            continue  # R003 stops the build itself
        name = f"path:{group.pattern}"
        where = "at the top" if group.batch == "base" else f"in batch {group.batch}"
        rule = f"`{group.verdict}: {group.pattern}` {where}" if group.proposal else "a fact or an edit for it"
        yield Question(
            name,
            Problem(
                "L001",
                f"It came and stays: {group.sentence}",
                upstream=Mark(group.paths[0]),
                hint=f"{rule}, or `--decide '{name}'`",
            ),
            tuple(f"path:{path}" for path in group.paths),
        )
    for fact in facts:
        if fact.open:
            yield Question(
                f"{fact.kind}:{fact.name}",
                Problem(
                    "L002",
                    f"`{fact.name}` came and has {uses(fact)} in the output: {fact.evidence}.",
                    upstream=Mark(fact.path, fact.line),
                    hint=f"state it under `facts`, or `--decide '{fact.kind}:{fact.name}'`",
                ),
            )
    yield from _new_dependencies(needed)
    for item in replaced:
        if item.conflicts is None:
            yield Question(
                f"body:{item.overlay}:{item.path}",
                Problem(
                    "L004",
                    f"{item.what}, and upstream changed what it replaces"
                    + (f" ({', '.join(f'`{c}`' for c in item.commits[-3:])})." if item.commits else "."),
                    Mark(item.overlay),
                    Mark(item.path),
                    hint=f"carry the change over, or `--decide 'body:{item.overlay}:{item.path}'`",
                ),
            )


def _new_dependencies(needed: Iterable[Dependency]) -> Iterable[Question]:
    """A question for each new requirement, and one for all that an extra brings."""
    groups: dict[tuple[str, str], list[Dependency]] = {}
    for row in needed:
        if row.open:
            groups.setdefault((row.project, row.extra or f"={row.name}"), []).append(row)
    for (project, extra), rows in groups.items():
        single = len(rows) == 1
        name = f"dependency:{rows[0].name}" if single else f"dependency:extra {extra}"
        wanted = ", ".join(repr(row.after) for row in rows)
        remove = "remove it by a TOML edit" if single else "remove them by TOML edits"
        yield Question(
            name,
            Problem(
                "L003",
                f"{project} asks for {wanted}, which it did not before.",
                upstream=Mark(project),
                hint=f"{remove}, or `--decide '{name}'`",
            ),
            tuple(f"dependency:{row.name}" for row in rows),
        )


def uses(fact: NewFact) -> str:
    """How often the output uses a new fact's name, in words."""
    word = "place" if fact.kind == "choice" else "use"
    return f"{fact.uses:,} {word}" if fact.uses == 1 else f"{fact.uses:,} {word}s"


def _decision(question: Question, decisions: Sequence[Decision]) -> Decision | None:
    def on(name: str) -> Decision | None:
        return next((d for d in decisions if fnmatchcase(name, d.pattern)), None)

    parts = [on(name) for name in question.parts]
    return on(question.id) or (parts[0] if parts and all(parts) else None)


def _proposed(
    manifest: Manifest,
    new: tuple[Upstream, Snapshot],
    between: Span,
    schema: Mapping[str, object],
    found: _Comparison,
    questions: Sequence[Question],
    recall: Recalled,
) -> Proposed | None:
    """The manifest with the proposals, tried. None when nothing is proposed."""
    question_ids = {q.id for q in questions}
    wanted = [p for item in found.lost for p in item.proposals]
    wanted += [
        g.proposal
        for g in found.arrivals.groups
        if g.proposal is not None and (g.undecided or f"path:{g.pattern}" in question_ids)
    ]
    wanted += [
        f.proposal for f in found.facts if f.proposal is not None and f"{f.kind}:{f.name}" in question_ids
    ]
    files = dict(manifest.overlays)
    for item in found.overlays:
        wanted += item.proposals
        if item.merged is not None:
            files[item.overlay] = item.merged
    pin = versions.pin_of(new[0], manifest)
    if pin is not None and any(p.kind in insert.RANGED for p in wanted):
        name, what = pin
        wanted.append(Proposal("pin", BASE, key=what, text=name))
    texts, _ = insert.apply_all(manifest.texts, manifest.file, wanted, between)
    merged = {path: data for path, data in files.items() if data != manifest.overlays[path]}
    if texts == manifest.texts and not merged:
        return None
    written = {path: text.encode() for path, text in texts.items()}
    parts = {path: data for path, data in written.items() if is_part(path)}
    try:
        whole = parse(
            written[manifest.file], manifest.file, {**files, **parts}, schema, scope=written.get(SCOPE)
        )
        after = choose(whole, manifest.scope_name)
        problems = trial(new[1], after, recall, versions.known(new[0], after, between)).problems
    except BuildError as error:
        problems = error.problems
    kept = {path for path, text in manifest.texts.items() if texts[path] == text} - {manifest.file}
    changed = {path: data for path, data in written.items() if path not in kept}
    return Proposed({**changed, **merged}, tuple(wanted), problems)
