"""The whole lift as a pure function: two upstreams and a manifest give everything that the report shows."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from builder.errors import BuildError, Mark, Problem
from builder.lift import insert, overlays, predicates, surface, versions
from builder.lift.arrivals import arrivals
from builder.lift.evidence import learn
from builder.lift.finding import Finding, Question, joined, merged
from builder.lift.history import Commit, History
from builder.lift.insert import Proposal
from builder.lift.lost import lost, of_statement
from builder.lift.trial import Sides, compare, trial
from builder.manifest.documents import SCOPE, is_part
from builder.manifest.load import parse
from builder.manifest.model import Manifest
from builder.manifest.statements import Span
from builder.manifest.switches import choose
from builder.pipeline.prune import surface_files
from builder.pipeline.ranges import about
from builder.pipeline.run import Recalled
from builder.surface.extract import surface as offers
from builder.tree import Snapshot
from builder.upstream.model import Upstream

#: Further places of a problem of which the commit is looked for.
_MAX_TRACED = 6


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
    sides: Sides
    found: tuple[Finding, ...]
    covered: Mapping[str, int]  # batch -> how many new paths its rules remove
    causes: Mapping[Problem, Commit]  # the commit that caused a gate's problem
    returned: Mapping[str, str] | None  # what left at the old upstream and stays now; None: not known
    questions: tuple[Question, ...]
    decided: tuple[tuple[Question, str], ...]  # each with the reason to leave things as they are
    proposed: Proposed | None
    newer: tuple[str, ...]  # pins of later versions, for which what is stated now holds too

    def of(self, key: str) -> list[Finding]:
        """What was found of one kind."""
        return [one for one in self.found if one.key == key]

    @property
    def answered(self) -> frozenset[Problem]:
        """The problems of the build that are about the range of a statement, which the proposal corrects."""
        proposals = self.proposed.proposals if self.proposed else ()
        marks = {p.mark for p in proposals if p.kind in ("until", "widen")}
        ranges = (p for p in self.sides.done.problems if p.code == "R011" or of_statement(p))
        return frozenset(p for p in ranges if p.mark in marks)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems of the build, and the open questions of the lift."""
        return (*self.sides.done.problems, *(q.problem for q in self.questions))


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
    differences: list[Finding] = []
    values: list[Finding] = []
    if done.cut is not None:
        offered = offers(surface_files(old[1], sides.before.selection, manifest), manifest.packages)
        differences += surface.differences(offered, done.cut.surfaces, frozenset(sides.before.kept))
        values += predicates.choices(offered, done.cut.surfaces, manifest)
    covered, paths = arrivals(sides, markers, values)
    changes = list(overlays.changed(sides))
    found = (*losses, *paths, *facts, *values, *surface.dependencies(sides), *changes, *differences)
    asked = joined(one.question for one in found if one.question)
    answers = {question.id: question.decided(decisions) for question in asked}
    questions = [question for question in asked if answers[question.id] is None]

    # what a person has decided needs no proposal
    unasked = [one for one in found if one.question is None or answers[one.question.id] is None]
    wanted = [proposal for one in unasked for proposal in one.proposals]
    wanted += versions.widened(done.problems, manifest, between)
    pin = versions.pin_of(new[0], manifest, between)
    if pin is not None and any(p.kind in insert.RANGED for p in wanted):
        wanted.append(pin)
    texts = {item.data["overlay"]: item.merged for item in changes if item.merged is not None}
    return Survey(
        old[0], new[0], sides, found, covered, _causes(sides, losses),
        surface.returned(gone, done.cut.after) if gone is not None and done.cut else None,
        tuple(merged(questions)),
        tuple((question, why) for question in asked if (why := answers[question.id]) is not None),
        _proposed(manifest, wanted, texts, new, between, schema, recall), versions.newer(between, manifest),
    )  # fmt: skip


def _causes(sides: Sides, losses: Sequence[Finding]) -> Mapping[Problem, Commit]:
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
            commit = sides.history.wrote(place.file, re.compile(re.escape(line)))
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


def _proposed(
    manifest: Manifest,
    wanted: Sequence[Proposal],
    overlaid: Mapping[str, bytes],
    new: tuple[Upstream, Snapshot],
    between: Span,
    schema: Mapping[str, object],
    recall: Recalled,
) -> Proposed | None:
    """The manifest with the proposals and merged overlays, tried. None when nothing is proposed."""
    texts = insert.apply_all(manifest.texts, manifest.file, wanted, between)
    if texts == manifest.texts and not overlaid:
        return None
    written = {path: text.encode() for path, text in texts.items()}
    files = {**manifest.overlays, **overlaid, **{p: data for p, data in written.items() if is_part(p)}}
    try:
        whole = parse(written[manifest.file], manifest.file, files, schema, scope=written.get(SCOPE))
        after = choose(whole, manifest.scope_name, manifest.switched_on)
        problems = trial(new[1], after, recall, versions.known(new[0], after, between)).problems
    except BuildError as error:
        problems = error.problems
    changed = {p for p, text in texts.items() if text != manifest.texts.get(p)} | {manifest.file}
    return Proposed({**{p: written[p] for p in written if p in changed}, **overlaid}, tuple(wanted), problems)
