"""New paths: which of them the rules remove, and for each that stays the evidence for or against it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from builder.analysis.projects import RUNTIME_SUFFIXES
from builder.lift.history import Arrival, History, same_content
from builder.lift.importers import Importers
from builder.lift.insert import Proposal
from builder.lift.markers import Markers
from builder.lift.trial import Trial
from builder.manifest.model import Manifest
from builder.manifest.statements import BASE, Rule
from builder.pipeline.prune import Pruned
from builder.select.rules import Decision
from builder.tree import Tree


@dataclass(frozen=True, slots=True)
class New:
    """A new path that the distribution would hold.

    `evidence` lists what is known, in clauses; `batch` is the batch that it belongs to if it should not stay;
    `verdict` is the proposal: keep, remove or prune. `follows`: the only evidence is what lies beside it, as
    for a licence or an empty `__init__.py`.
    """

    path: str
    arrival: Arrival | None
    evidence: tuple[str, ...]
    verdict: str
    batch: str
    open: bool  # a person has to decide
    follows: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """New paths that need one decision together; `pattern` matches them."""

    pattern: str
    paths: tuple[str, ...]
    verdict: str
    batch: str
    evidence: tuple[str, ...]
    came: str  # the commits, in words
    undecided: bool  # no rule knows them
    proposal: Proposal | None  # None: what it says is to go, not the path

    @property
    def sentence(self) -> str:
        count = f"{len(self.paths)} new paths" if len(self.paths) > 1 else "new path"
        state = "no rule decides" if self.undecided else "kept so far"
        return f"`{self.pattern}` ({count}, {state}): {'; '.join(self.evidence)}."


@dataclass(frozen=True, slots=True)
class Arrivals:
    """All new paths: those that rules remove, by batch; those that stay without doubt; the rest."""

    covered: Mapping[str, int]
    kept: tuple[New, ...]
    groups: tuple[Group, ...]


def arrivals(
    old: Tree,
    new: Iterable[str],
    manifest: Manifest,
    before: Pruned,
    trial: Trial,
    markers: Markers,
    history: History,
) -> Arrivals:
    """The paths that are new between two upstreams. `before`: the decisions on the old one."""
    known = frozenset(old)
    came = [path for path in new if path not in known]
    undecided = {path for group in trial.selection.unclassified for path in group.paths}
    covered: Counter[str] = Counter()
    new_paths: list[New] = []
    look = _Look(manifest, old, before, trial, markers, history)
    for path in came:
        decision = trial.selection.decisions.get(path)
        if decision is not None and not _stays(decision, path, trial):
            rule = trial.cut.decided.removed.get(path, decision.rule) if trial.cut else decision.rule
            covered[rule.batch] += 1
        else:
            new_paths.append(look.at(path, path in undecided))
    # a path that was there and that no rule knows any more
    for path in sorted(undecided & known):
        new_paths.append(look.at(path, True))
    doubtful = [item for item in new_paths if item.open]
    kept = tuple(item for item in new_paths if not item.open)
    return Arrivals(
        {b.id: covered[b.id] for b in manifest.batches if covered[b.id]},
        kept,
        tuple(sorted(_groups(doubtful, known, frozenset(new), undecided, kept), key=lambda g: g.pattern)),
    )


def _stays(decision: Decision, path: str, trial: Trial) -> bool:
    if decision.verdict in ("prune", "reach", "follow") and trial.cut is not None:
        return path in trial.cut.output.tree
    return decision.verdict != "remove"


class _Look:
    """Collects the evidence on one new path at a time."""

    def __init__(
        self,
        manifest: Manifest,
        old: Tree,
        before: Pruned,
        trial: Trial,
        markers: Markers,
        history: History,
    ) -> None:
        self.before, self.trial, self.markers, self.history = before, trial, markers, history
        self.importers = Importers(manifest, trial)
        self.same = {} if history.known or trial.cut is None else same_content(old, trial.cut.upstream.tree)

    def at(self, path: str, undecided: bool) -> New:
        arrival = self.history.arrival(path)
        source = (arrival.source if arrival else None) or self.same.get(path)
        rule = self.before.removed.get(source) if source else None
        if source is not None and rule is not None:
            return New(path, arrival, *_moved(source, rule), open=True)
        evidence = [f"moved from {source}, which stays"] if source else []
        standing = self.importers.standing(path)
        marker = self.markers.of(path) if source is None else None
        if marker is not None and (marker.stated or standing is None):
            others = f"{marker.paths} removed paths and no kept one" if marker.paths else "no kept path has"
            stated = f", and batch {marker.batch} states it" if marker.stated else f" (batch {marker.batch})"
            evidence.append(f"its name has `{marker.word}`, as {others}{stated}")
            return New(path, arrival, tuple(evidence), "remove", marker.batch, True)
        if standing is not None:
            evidence.append(standing.evidence)
        fact_word = self._said(path)
        if fact_word is not None:
            word, count = fact_word
            lines = "1 line" if count == 1 else f"{count} lines"
            evidence.append(f"`{word}` still stands on {lines} of it (batch {self.markers.facts[word]})")
        doubt = fact_word is not None or (standing is not None and standing.open)
        return New(
            path,
            arrival,
            tuple(evidence) or ("nothing speaks against it",),
            standing.verdict if standing else "keep",
            standing.batch if standing else BASE,
            undecided or doubt,
            # a file that programs read at run time belongs to the code that names it, not to its folder
            follows=standing is None and not doubt and not path.endswith(RUNTIME_SUFFIXES),
        )

    def _said(self, path: str) -> tuple[str, int] | None:
        """The word of a fact that a source file of the output still contains, and on how many lines."""
        cut = self.trial.cut
        if cut is None or path not in cut.output or not path.endswith((".py", ".cu", ".cuh", ".cc", ".h")):
            return None
        return self.markers.in_text(cut.output[path])


def _moved(source: str, rule: Rule) -> tuple[tuple[str, ...], str, str]:
    """Evidence, verdict and batch of a path that was renamed from one that a rule removes."""
    verdict = "prune" if rule.verdict == "prune" else "remove"
    return (f"moved from {source}, which batch {rule.batch} removes",), verdict, rule.batch


def _groups(
    items: Sequence[New],
    known: frozenset[str],
    new: frozenset[str],
    undecided: set[str],
    kept: Sequence[New],
) -> Iterable[Group]:
    """Groups for decisions: a new folder whose paths are all open, and paths of one folder that are alike in
    name and evidence. Every other path is a group of its own."""
    old_folders = {folder for path in known for folder in _folders(path)}
    apart = {item.path for item in kept if not item.follows}
    follow = {item.path for item in kept if item.follows}
    by_folder: dict[str, list[New]] = {}
    alone: list[New] = []
    for item in items:
        fresh = [f for f in _folders(item.path) if f not in old_folders]
        by_folder.setdefault(f"{fresh[-1]}/" if fresh else item.path, []).append(item)
    for pattern, inside in sorted(by_folder.items()):
        here = {path for path in new if path.startswith(pattern)} if pattern.endswith("/") else set()
        whole = here - follow == {item.path for item in inside} and not here & apart
        if here and whole and _agreed(inside) is not None:
            yield _group(pattern, inside, undecided, sorted(here))
        else:
            alone += inside
    for pattern, alike in _alike(alone, known | new):
        yield _group(pattern, alike, undecided, [item.path for item in alike])


def _alike(items: Iterable[New], every: Collection[str]) -> Iterator[tuple[str, list[New]]]:
    """(pattern, paths): those of one folder that go the same way for the same reason, where one pattern
    matches them and nothing else of `every`; the others one by one."""
    by_cause: dict[tuple[str, ...], list[New]] = {}
    for item in items:
        folder = item.path.rpartition("/")[0]
        reasons = (_MOVED.sub("moved", clause) for clause in item.evidence)
        by_cause.setdefault((folder, item.verdict, item.batch, *reasons), []).append(item)
    for (folder, *_), same in by_cause.items():
        names = [item.path.rpartition("/")[2] for item in same]
        start = _common_start(names)
        end = _common_start([name[len(start) :][::-1] for name in names])[::-1]
        pattern = f"{folder}/{start}*{end}"
        rest = {path for path in every if fnmatchcase(path, pattern)} - {item.path for item in same}
        if len(same) > 1 and len(start) >= _MIN_START and "[" not in pattern and not rest:
            yield pattern, same
        else:
            yield from ((item.path, [item]) for item in same)


def _common_start(names: Sequence[str]) -> str:
    first, last = min(names), max(names)
    differ = (at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other)
    return first[: next(differ, len(first))]


_MOVED = re.compile(r"moved from \S+(?=,)")
#: Letters at the start of names below which a pattern would say nothing.
_MIN_START = 3


def _agreed(items: Sequence[New]) -> New | None:
    """The item whose verdict a whole folder takes: that of all, or one of removal that most have and that
    the others, which nothing reaches, do not contradict."""
    items = [item for item in items if not item.follows] or items
    counts = Counter((item.verdict, item.batch) for item in items)
    (verdict, batch), count = max(counts.items(), key=lambda row: (row[1], row[0]))
    if len(counts) > 1 and (2 * count <= len(items) or any(item.verdict == "keep" for item in items)):
        return None
    return next(item for item in items if (item.verdict, item.batch) == (verdict, batch))


def _group(pattern: str, items: Sequence[New], undecided: set[str], paths: Sequence[str]) -> Group:
    first = _agreed(items) or items[0]
    clauses = Counter(clause for item in items for clause in item.evidence)
    evidence = [
        clause if len(items) == 1 or count == len(items) else f"{clause} ({count} of {len(items)})"
        for clause, count in sorted(clauses.items(), key=lambda c: (-c[1], c[0]))
    ]
    commits = list(dict.fromkeys(str(i.arrival.commit) for i in items if i.arrival))
    came = ", ".join(commits[:3]) + (f" and {len(commits) - 3} more" if len(commits) > 3 else "")
    rooted = pattern if "/" in pattern.rstrip("/") else f"/{pattern}"
    why = f"came with {came}" if came else "came after the pin"
    verdict, batch = first.verdict, first.batch
    unknown = any(item.path in undecided for item in items)
    proposal = (
        Proposal("rule", batch, why, key=verdict, text=rooted) if unknown or verdict != "keep" else None
    )
    return Group(
        rooted, tuple(paths), verdict, batch, tuple(evidence[:4]), came, unknown, proposal,
    )  # fmt: skip


def _folders(path: str) -> list[str]:
    """The folders that a path lies in, innermost first."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[:count]) for count in range(len(parts), 0, -1)]
