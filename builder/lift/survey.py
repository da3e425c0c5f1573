"""The whole lift as a pure function: two upstreams and a manifest give everything that the report shows."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from types import MappingProxyType

from builder.analysis.projects import modules_of
from builder.errors import BuildError, Mark, Problem
from builder.lift import culprit, insert, overlays, predicates, surface, versions
from builder.lift.arrivals import Arrivals, arrivals
from builder.lift.history import Commit, History
from builder.lift.insert import Proposal
from builder.lift.lost import Lost, lost, of_statement
from builder.lift.markers import learn
from builder.lift.overlays import Changed
from builder.lift.predicates import NewFact
from builder.lift.surface import Dependency, Difference
from builder.lift.trial import Sides, compare, trial
from builder.manifest.documents import SCOPE, is_part
from builder.manifest.load import parse
from builder.manifest.model import Manifest
from builder.manifest.statements import Span
from builder.manifest.switches import choose
from builder.pipeline.answers.answer import listed
from builder.pipeline.prune import surface_files
from builder.pipeline.ranges import about
from builder.pipeline.run import Recalled
from builder.surface.extract import surface as offers
from builder.tree import Snapshot
from builder.upstream.model import Upstream

#: Further places of a problem of which the commit is looked for.
_MAX_TRACED = 6


@dataclass(frozen=True, slots=True)
class Question:
    """Something that stops the lift until a rule or a person decides it.

    `id` names it in decisions, and so does each of its `causes`, which several questions may share.
    `parts`: the ids of the things that it is about; decisions on all of them decide it too.
    """

    id: str
    problem: Problem
    parts: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()


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
    causes: Mapping[Problem, Commit]  # the commit that caused a gate's problem
    lost: tuple[Lost, ...]
    arrivals: Arrivals
    facts: tuple[NewFact, ...]
    overlays: tuple[Changed, ...]
    surface: tuple[Difference, ...]
    dependencies: tuple[Dependency, ...]
    returned: Mapping[str, str] | None  # what left at the old upstream and stays now; None: not known
    questions: tuple[Question, ...]
    decided: tuple[tuple[Question, str], ...]  # each with the reason to leave things as they are
    proposed: Proposed | None
    newer: tuple[str, ...] = ()  # pins of later versions, for which what is stated now holds too

    @property
    def answered(self) -> frozenset[Problem]:
        """The problems of the build that are about the range of a statement, which the proposal corrects."""
        proposals = self.proposed.proposals if self.proposed else ()
        marks = {p.mark for p in proposals if p.kind in ("until", "widen")}
        ranges = (p for p in self.build_problems if p.code == "R011" or of_statement(p))
        return frozenset(p for p in ranges if p.mark in marks)

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
    decisions: Mapping[str, str] = MappingProxyType({}),
    gone: Collection[str] | None = None,
) -> Survey:
    """Try the manifest on the new upstream; compare with the old one and find the causes.

    `decisions`: patterns of ids of questions that a person has decided, with the reasons; `gone`: the
    definitions that left at the old upstream, if they are known.
    """
    between = versions.step(old[0], new[0], manifest)
    about_new = versions.known(new[0], manifest, between)
    recall = Recalled()  # the trial of the proposals differs little from the first
    sides = compare(manifest, old[1], about(old[0], manifest), new[1], about_new, history, recall)
    done, losses = sides.done, lost(sides)
    markers = learn(manifest, sides.before.removed, sides.before.kept)
    facts = [*predicates.predicates(sides, markers), *predicates.platform_methods(sides)]
    differences: list[Difference] = []
    if done.cut is not None:
        offered = offers(surface_files(old[1], sides.before.selection, manifest), manifest.packages)
        differences = surface.differences(offered, done.cut.surfaces, frozenset(sides.before.kept))
        facts += predicates.choices(offered, done.cut.surfaces, manifest)
    paths, changes = arrivals(sides, markers), tuple(overlays.changed(sides))
    requirements = tuple(surface.dependencies(sides))
    asked = _joined(_questions(paths, facts, requirements, changes, sides.output))
    answers = [(question, _reason(question, decisions)) for question in asked]
    questions = [question for question, reason in answers if reason is None]

    open_ids = {question.id for question in questions}
    wanted = [proposal for item in losses for proposal in item.proposals]
    wanted += versions.widened(done.problems, manifest, between)
    wanted += [g.proposal for g in paths.groups if g.proposal and (g.undecided or g.id in open_ids)]
    wanted += [fact.proposal for fact in facts if fact.proposal and fact.id in open_ids]
    wanted += [proposal for item in changes for proposal in item.proposals]
    pin = versions.pin_of(new[0], manifest, between)
    if pin is not None and any(p.kind in insert.RANGED for p in wanted):
        wanted.append(pin)
    merged = {item.overlay: item.merged for item in changes if item.merged is not None}
    return Survey(
        old[0], new[0], manifest, history, done.problems, _causes(sides, losses), losses, paths, tuple(facts),
        changes, tuple(differences), requirements,
        surface.returned(gone, done.cut.after) if gone is not None and done.cut else None,
        tuple(_merged(questions)),
        tuple((question, reason) for question, reason in answers if reason is not None),
        _proposed(manifest, wanted, merged, new, between, schema, recall), versions.newer(between, manifest),
    )  # fmt: skip


def _causes(sides: Sides, losses: Sequence[Lost]) -> Mapping[Problem, Commit]:
    """For problems about a line of upstream, the commit that wrote the line, if it came on the way."""
    explained = {item.problem for item in losses}
    causes: dict[Problem, Commit] = {}
    for problem in (each for one in sides.done.problems for each in (one, *one.also[:_MAX_TRACED])):
        place = problem.upstream
        if place is None or problem in explained or place.file not in sides.new:
            continue
        commit = None
        if problem.code == "R003":
            _, commit = sides.history.origin(place.file)
        elif line := _line(problem, place, sides):
            commit = culprit.wrote(place.file, re.compile(re.escape(line)), sides.history)
        if commit is not None:
            causes[problem] = commit
    return causes


def _line(problem: Problem, place: Mark, sides: Sides) -> bytes | None:
    """The text that a problem is about: its excerpt, or its line in the output or upstream."""
    excerpt = (problem.excerpt or "").strip().encode("utf-8", "surrogateescape")
    data = sides.new[place.file]
    if excerpt and b"\n" not in excerpt and excerpt in data:
        return excerpt
    for side in (sides.output, sides.new):
        rows = side[place.file].splitlines() if place.file in side else []
        if 0 < place.line <= len(rows) and (row := rows[place.line - 1].strip()) in data:
            return row if len(row) > 4 else None
    return None


def _questions(
    paths: Arrivals,
    facts: Iterable[NewFact],
    requirements: Iterable[Dependency],
    changes: Iterable[Changed],
    output: Snapshot,
) -> Iterator[Question]:
    choices = [fact for fact in facts if fact.open and fact.kind == "choice"]
    for group in paths.groups:
        if not group.undecided:  # else R003 stops the build itself
            beside = [one.name for one in choices if any(_is_about(path, one) for path in group.paths)]
            words = [group.word, *beside]
            hint = _hint(group.rule if group.proposal else "a fact or an edit for it", group.id)
            text = f"It came and stays: {group.sentence}"
            parts = tuple(f"path:{path}" for path in group.paths)
            problem = Problem("L001", text, upstream=Mark(group.paths[0]), hint=hint)
            yield Question(group.id, problem, parts, tuple(f"text:{_plain(word)}" for word in words if word))
    for fact in facts:
        if fact.open:
            text = f"`{fact.name}` came and has {fact.used} in the output: {fact.evidence}."
            place, hint = Mark(fact.path, fact.line), _hint("state it under `facts`", fact.id)
            causes = [f"{fact.kind}:{owner}" for owner in fact.owners]
            causes += [f"text:{_plain(fact.name)}"] if fact.kind == "choice" else []
            yield Question(fact.id, Problem("L002", text, upstream=place, hint=hint), causes=tuple(causes))
    yield from _new_dependencies(requirements, output)
    for item in changes:
        if item.conflicts is None:
            name = f"body:{item.overlay}:{item.path}"
            commits = ", ".join(f"`{commit}`" for commit in item.commits[-3:])
            text = f"{item.what}, and upstream changed what it replaces{commits and f' ({commits})'}."
            hint = _hint("carry the change over", name)
            yield Question(name, Problem("L004", text, Mark(item.overlay), Mark(item.path), hint=hint))


def _is_about(path: str, choice: NewFact) -> bool:
    """Return whether a file is named after a choice, or lists it."""
    return path == choice.path or _plain(choice.name) in _plain(path)


def _plain(word: str) -> str:
    """A word without what tells its spellings apart."""
    return word.lower().replace("-", "_")


def _joined(questions: Iterable[Question]) -> list[Question]:
    """The questions, where those that share a cause, or are joined by others that do, have one cause."""
    asked = list(questions)
    groups: list[tuple[set[str], list[int]]] = []
    for number, question in enumerate(asked):
        causes, members = set(question.causes), [number]
        for group in [group for group in groups if not group[0].isdisjoint(causes)]:
            groups.remove(group)
            causes, members = causes | group[0], sorted([*group[1], *members])
        groups.append((causes, members))
    for _, (first, *others) in groups:
        for number in (first, *others):
            asked[number] = replace(asked[number], causes=asked[first].causes[:1])
    return asked


def _merged(questions: Iterable[Question]) -> Iterator[Question]:
    """Yield the questions with those of one cause as one."""
    by_cause: dict[str, list[Question]] = {}
    for question in questions:
        by_cause.setdefault(next(iter(question.causes), question.id), []).append(question)
    for cause, (first, *others) in by_cause.items():
        if not others:
            yield first
            continue
        names = ", ".join(f"`{one.id.partition(':')[2]}`" for one in others)
        problem = replace(
            first.problem,
            message=f"{first.problem.message} So did {names}.",
            hint=_hint("state them under `facts`, or edit what has them", cause),
        )
        parts = dict.fromkeys(part for one in (first, *others) for part in (one.id, *one.parts))
        yield Question(cause, problem, tuple(parts))


def _hint(remedy: str, name: str) -> str:
    return f"{remedy}, or `--decide '{name}'`"


def _new_dependencies(requirements: Iterable[Dependency], output: Snapshot) -> Iterator[Question]:
    """A question for the new requirements of each project, with the files of the output that import them."""
    projects: dict[str, list[Dependency]] = {}
    for row in requirements:
        if row.open:
            projects.setdefault(row.project, []).append(row)
    for project, rows in projects.items():
        single = len(rows) == 1
        name = f"dependency:{rows[0].name}" if single else f"dependency:{project}"
        asked = ", ".join(f"{row.after!r}{_imported(row.name, output)}" for row in rows)
        problem = Problem(
            "L003",
            f"{project} asks for {asked}, which it did not before.",
            upstream=Mark(project),
            hint=_hint("remove it by a TOML edit" if single else "remove them by TOML edits", name),
        )
        yield Question(name, problem, tuple(f"dependency:{row.name}" for row in rows))


def _imported(requirement: str, output: Snapshot) -> str:
    """Which Python files of the output have a line that imports a module of a requirement."""
    modules = "|".join(map(re.escape, modules_of(requirement)))
    line = re.compile(rf"^[ \t]*(?:import|from)[ \t]+(?:{modules})\b".encode(), re.MULTILINE)
    users = [path for path in sorted(output) if path.endswith(".py") and line.search(output[path])]
    return f" (imported by {listed(users, 1)})" if users else ""


def _reason(question: Question, decisions: Mapping[str, str]) -> str | None:
    """Return the reason of the first decision on a question, or on the first of its parts if all are decided;
    None if it is open."""

    def why(name: str) -> str | None:
        return next((why for pattern, why in decisions.items() if fnmatchcase(name, pattern)), None)

    own = next(filter(None, map(why, (question.id, *question.causes))), None)
    parts = [why(part) for part in question.parts]
    return own if own is not None or not parts or None in parts else parts[0]


def _proposed(
    manifest: Manifest,
    wanted: Sequence[Proposal],
    merged: Mapping[str, bytes],
    new: tuple[Upstream, Snapshot],
    between: Span,
    schema: Mapping[str, object],
    recall: Recalled,
) -> Proposed | None:
    """The manifest with the proposals and merged overlays, tried. None when nothing is proposed."""
    texts = insert.apply_all(manifest.texts, manifest.file, wanted, between)
    if texts == manifest.texts and not merged:
        return None
    written = {path: text.encode() for path, text in texts.items()}
    files = {**manifest.overlays, **merged, **{p: data for p, data in written.items() if is_part(p)}}
    try:
        whole = parse(written[manifest.file], manifest.file, files, schema, scope=written.get(SCOPE))
        after = choose(whole, manifest.scope_name, manifest.switched_on)
        problems = trial(new[1], after, recall, versions.known(new[0], after, between)).problems
    except BuildError as error:
        problems = error.problems
    changed = {p for p, text in texts.items() if text != manifest.texts.get(p)} | {manifest.file}
    return Proposed({**{p: written[p] for p in written if p in changed}, **merged}, tuple(wanted), problems)
