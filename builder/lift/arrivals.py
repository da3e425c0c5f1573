"""New paths: which of them the rules remove, and for each that stays the evidence for or against it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from builder.analysis.projects import RUNTIME_SUFFIXES
from builder.lift.history import Commit, same_content
from builder.lift.importers import Importers
from builder.lift.insert import Proposal
from builder.lift.markers import Markers
from builder.lift.statements import common_start
from builder.lift.trial import Sides, Trial
from builder.manifest.statements import BASE, Rule
from builder.pipeline.answers.answer import listed, plural

#: Files whose text is searched for words of facts.
_SOURCES = (".py", ".cu", ".cuh", ".cc", ".h")
_MOVED = re.compile(r"moved from \S+(?=,)")
#: Letters at the start of names below which a pattern would say nothing.
_MIN_START = 3


@dataclass(frozen=True, slots=True)
class New:
    """A new path that the distribution would hold.

    `evidence` lists what is known, in clauses; `batch` is the batch that it belongs to if it should not stay;
    `verdict` is the proposal: keep, remove or prune. `follows`: the only evidence is what lies beside it, as
    for a licence or an empty `__init__.py`.
    """

    path: str
    commit: Commit | None  # with which it came
    evidence: tuple[str, ...]
    verdict: str
    batch: str
    open: bool  # a person has to decide
    follows: bool = False
    undecided: bool = False  # no rule decides it
    word: str = ""  # the word of a fact that its text still has


@dataclass(frozen=True, slots=True)
class Group:
    """New paths that need one decision together; `pattern` matches them."""

    pattern: str
    paths: tuple[str, ...]
    verdict: str
    batch: str
    evidence: tuple[str, ...]
    came: str  # the commits, in words
    undecided: bool  # no rule decides them
    word: str = ""  # the word of a fact that the texts still have

    @property
    def id(self) -> str:
        return f"path:{self.pattern}"

    @property
    def sentence(self) -> str:
        count = f"{len(self.paths)} new paths" if len(self.paths) > 1 else "new path"
        state = "no rule decides" if self.undecided else "kept so far"
        return f"`{self.pattern}` ({count}, {state}): {'; '.join(self.evidence)}."

    @property
    def rule(self) -> str:
        """The rule that would decide them, and where it would stand."""
        top = "at the top" if self.verdict == "keep" else "in a batch"  # the top has no rule that removes
        where = top if self.batch == BASE else f"in batch {self.batch}"
        return f"`{self.verdict}: {self.pattern}` {where}"

    @property
    def proposal(self) -> Proposal | None:
        """The rule as a proposal; None if what the evidence names should go and not the path, and if no batch
        is known that would remove it."""
        needless = not self.undecided if self.verdict == "keep" else self.batch == BASE
        return None if needless else Proposal("rule", self.batch, key=self.verdict, text=self.pattern)


@dataclass(frozen=True, slots=True)
class Arrivals:
    """All new paths: those that rules remove, by batch; those that stay without doubt; the rest."""

    covered: Mapping[str, int]
    kept: tuple[New, ...]
    groups: tuple[Group, ...]


def arrivals(sides: Sides, markers: Markers) -> Arrivals:
    """The paths that are new between the two upstreams."""
    known, new, trial = frozenset(sides.old.tree), sides.new, sides.done
    undecided = {path for group in trial.selection.unclassified for path in group.paths}
    covered: Counter[str] = Counter()
    items: list[New] = []
    importers = Importers(sides)
    by_bytes = not sides.history.known and trial.cut is not None
    same = same_content(sides.old.tree, new.tree) if by_bytes else {}
    # a path that was there before may have lost its rule
    for path in (*(path for path in new if path not in known), *sorted(undecided & known)):
        rule = _remover(path, trial)
        if rule is not None:
            covered[rule.batch] += 1
        else:
            items.append(_judge(path, path in undecided, sides, markers, importers, same))
    kept = tuple(item for item in items if not item.open)
    follow = {item.path for item in kept if item.follows}
    groups = _groups([item for item in items if item.open], follow, known, frozenset(new))
    return Arrivals(
        {b.id: covered[b.id] for b in sides.manifest.batches if covered[b.id]},
        kept,
        tuple(sorted(groups, key=lambda group: group.pattern)),
    )


def _remover(path: str, trial: Trial) -> Rule | None:
    """Return the rule that keeps a path out of the output; None if it is there, or no rule decides it."""
    decision, cut = trial.selection.decisions.get(path), trial.cut
    if decision is None:
        return None
    stays = decision.verdict != "remove"
    if cut is not None and decision.verdict in ("prune", "reach", "follow"):
        stays = path in cut.output.tree
    removed: Mapping[str, Rule] = cut.decided.removed if cut else {}
    return None if stays else removed.get(path, decision.rule)


def _judge(
    path: str,
    undecided: bool,
    sides: Sides,
    markers: Markers,
    importers: Importers,
    same: Mapping[str, str],
) -> New:
    """Return a new path with the evidence on it. `same`: new path -> the deleted one with the same bytes."""
    names, commit = sides.history.origin(path)
    source = same.get(path) if names[-1] == path else names[-1]
    rule = sides.before.removed.get(source) if source else None
    unreached = rule is not None and rule.batch == BASE
    rule = None if unreached else rule
    standing = importers.standing(path) if rule is None else None
    marker = markers.of(path) if source is None else None
    verdict, batch, doubt, follows = "remove", BASE, True, False
    evidence: list[str] = []
    word = ""
    if rule is not None:
        verdict, batch = "prune" if rule.verdict == "prune" else "remove", rule.batch
        evidence.append(f"moved from {source}, which batch {batch} removes")
    elif marker is not None and (marker.stated or standing is None):
        batch = marker.batch
        others = f"{marker.paths} removed paths and no kept one" if marker.paths else "no kept path has"
        stated = f", and batch {batch} states it" if marker.stated else f" (batch {batch})"
        evidence.append(f"its name has `{marker.word}`, as {others}{stated}")
    else:
        verdict, batch = (standing.verdict, standing.batch) if standing else ("keep", BASE)
        whose = "nothing reached" if unreached else "stays"
        evidence += [f"moved from {source}, which {whose}"] if source else []
        evidence += [standing.evidence] if standing else []
        in_text = markers.in_text(sides.output.get(path, b"")) if path.endswith(_SOURCES) else None
        if in_text is not None:
            word, count = in_text
            lines = plural(count, "line")
            evidence.append(f"`{word}` still stands on {lines} of it (batch {markers.facts[word]})")
        doubt = in_text is not None or unreached or (standing is not None and standing.open)
        # a file that programs read at run time belongs to the code that names it, not to its folder
        follows = standing is None and not doubt and not path.endswith(RUNTIME_SUFFIXES)
        evidence = evidence or ["nothing speaks against it"]
    return New(path, commit, tuple(evidence), verdict, batch, undecided or doubt, follows, undecided, word)


def _groups(
    items: Sequence[New], follow: Collection[str], known: frozenset[str], new: frozenset[str]
) -> Iterator[Group]:
    """Groups for decisions: a new folder whose paths are all open, but for those that follow, and paths of
    one folder that are alike in name and evidence. Every other path is a group of its own."""
    old_folders = {folder for path in known for folder in _folders(path)}
    by_folder: dict[str, list[New]] = {}
    for item in items:
        new_folders = [f for f in _folders(item.path) if f not in old_folders]
        by_folder.setdefault(f"{new_folders[-1]}/" if new_folders else item.path, []).append(item)
    alone: list[New] = []
    for pattern, inside in sorted(by_folder.items()):
        inside_now = sorted(path for path in new if path.startswith(pattern)) if pattern.endswith("/") else []
        whole = {path for path in inside_now if path not in follow} == {item.path for item in inside}
        if inside_now and whole and _agreed(inside) is not None:
            yield _group(pattern, inside, inside_now)
        else:
            alone += inside
    for pattern, alike in _alike(alone, known | new):
        yield _group(pattern, alike, [item.path for item in alike])


def _alike(items: Iterable[New], every: Collection[str]) -> Iterator[tuple[str, list[New]]]:
    """Yield the paths of one folder that go the same way for the same reason, with their pattern, where one
    matches them and nothing else of `every`; the others one by one."""
    by_cause: dict[tuple[str, ...], list[New]] = {}
    for item in items:
        folder = item.path.rpartition("/")[0]
        reasons = (_MOVED.sub("moved", clause) for clause in item.evidence)
        by_cause.setdefault((folder, item.verdict, item.batch, *reasons), []).append(item)
    for (folder, *_), same in by_cause.items():
        names = [item.path.rpartition("/")[2] for item in same]
        start = common_start(names)
        end = common_start([name[len(start) :][::-1] for name in names])[::-1]
        pattern = f"{folder}/{start}*{end}"
        rest = {path for path in every if fnmatchcase(path, pattern)} - {item.path for item in same}
        if len(same) > 1 and len(start) >= _MIN_START and "[" not in pattern and not rest:
            yield pattern, same
        else:
            yield from ((item.path, [item]) for item in same)


def _agreed(items: Sequence[New]) -> New | None:
    """The item whose verdict a whole folder takes: that of all, or one of removal that most have and that
    the others, which nothing reaches, do not contradict."""
    items = [item for item in items if not item.follows] or items
    counts = Counter((item.verdict, item.batch) for item in items)
    (verdict, batch), count = max(counts.items(), key=lambda row: (row[1], row[0]))
    if len(counts) > 1 and (2 * count <= len(items) or any(item.verdict == "keep" for item in items)):
        return None
    return next(item for item in items if (item.verdict, item.batch) == (verdict, batch))


def _group(pattern: str, items: Sequence[New], paths: Sequence[str]) -> Group:
    first = _agreed(items) or items[0]
    clauses = Counter(clause for item in items for clause in item.evidence)
    evidence = [
        clause if len(items) == 1 or count == len(items) else f"{clause} ({count} of {len(items)})"
        for clause, count in sorted(clauses.items(), key=lambda c: (-c[1], c[0]))
    ]
    came = listed(dict.fromkeys(str(item.commit) for item in items if item.commit), 3)
    rooted = pattern if "/" in pattern.rstrip("/") else f"/{pattern}"
    undecided = any(item.undecided for item in items)
    return Group(
        rooted, tuple(paths), first.verdict, first.batch, tuple(evidence[:4]), came, undecided, first.word
    )


def _folders(path: str) -> list[str]:
    """The folders that a path lies in, innermost first."""
    return [str(folder) for folder in PurePosixPath(path).parents if folder.name]
