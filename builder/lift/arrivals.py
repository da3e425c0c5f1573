"""New paths: which of them the rules remove, and for each that stays the evidence for or against it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Any

from builder.analysis.projects import RUNTIME_SUFFIXES
from builder.errors import Mark
from builder.lift.evidence import Importers, Markers
from builder.lift.finding import Finding, ask, plain
from builder.lift.history import Commit, same_content, since
from builder.lift.insert import Proposal
from builder.lift.statements import common_start
from builder.lift.trial import Sides, Trial
from builder.manifest.statements import BASE, Rule
from builder.pipeline.answers.answer import listed, plural
from builder.select.suggest import rooted

#: Files whose text is searched for words of facts.
_SOURCES = (".py", ".cu", ".cuh", ".cc", ".h")
_MOVED = re.compile(r"moved from \S+(?=,)")
#: Letters at the start of names below which a pattern would say nothing.
_MIN_START = 3


@dataclass(frozen=True, slots=True)
class Arrival:
    """New paths that the distribution would hold and that need one decision together; `pattern` matches them.

    `evidence` lists what is known, in clauses; `batch` is the batch that they belong to if they should not
    stay; `verdict` is the proposal: keep, remove or prune. `follows`: the only evidence is what lies beside
    it, as for a licence or an empty `__init__.py`.
    """

    pattern: str
    paths: tuple[str, ...]
    commits: tuple[Commit, ...]  # with which they came
    evidence: tuple[str, ...]
    verdict: str
    batch: str
    open: bool  # a person has to decide
    follows: bool = False
    undecided: bool = False  # no rule decides them
    word: str = ""  # the word of a fact that their texts still have

    @property
    def path(self) -> str:
        """The first of the paths."""
        return self.paths[0]

    def kept(self) -> Finding:
        """It as a path that stays without doubt."""
        commit = next(iter(self.commits), None)
        text = f"`{self.path}`: {'; '.join(self.evidence)}{since(commit)}."
        data = {"path": self.path, "evidence": self.evidence, "commit": commit}
        return Finding("kept", "New paths that stay", text, data)

    def doubtful(self, choices: Iterable[Finding]) -> Finding:
        """It as a question, or as what stops the build where no rule decides it.

        `choices`: new values of options. One that is about a path of it has the same cause.
        """
        came = listed(dict.fromkeys(map(str, self.commits)), 3)
        count = f"{len(self.paths)} new paths" if len(self.paths) > 1 else "new path"
        state = "no rule decides" if self.undecided else "kept so far"
        text = f"`{self.pattern}` ({count}, {state}): {'; '.join(self.evidence)}."
        top = "at the top" if self.verdict == "keep" else "in a batch"  # the top has no rule that removes
        rule = f"`{self.verdict}: {self.pattern}` {top if self.batch == BASE else f'in batch {self.batch}'}"
        # what the evidence names should go and not the path, or no batch is known that would remove it
        needless = not self.undecided if self.verdict == "keep" else self.batch == BASE
        proposals = () if needless else (Proposal("rule", self.batch, key=self.verdict, text=self.pattern),)
        data = {"pattern": self.pattern, "paths": self.paths, "undecided": self.undecided}
        data |= {"verdict": self.verdict, "batch": self.batch, "evidence": self.evidence, "came": came}
        if self.undecided:  # R003 stops the build itself
            text += f"{came and f' They came with `{came}`.'} Proposed: {rule}."
            return Finding("open", "Paths that no rule decides", text, data, proposals=proposals)
        beside = [c.data["name"] for c in choices if any(_is_about(path, c.data) for path in self.paths)]
        question = ask(
            "L001",
            f"path:{self.pattern}",
            f"It came and stays: {text}",
            rule if proposals else "a fact or an edit for it",
            Mark(self.path),
            parts=tuple(f"path:{path}" for path in self.paths),
            causes=tuple(f"text:{plain(word)}" for word in (self.word, *beside) if word),
        )
        return Finding("open", "", text, data, question, proposals)


def _is_about(path: str, choice: Mapping[str, Any]) -> bool:
    """Return whether a file is named after a choice, or lists it."""
    return path == choice["path"] or plain(choice["name"]) in plain(path)


def arrivals(
    sides: Sides, markers: Markers, choices: Sequence[Finding]
) -> tuple[dict[str, int], list[Finding]]:
    """The paths that are new between the two upstreams: how many of them rules remove, by batch; and those
    that stay without doubt or not."""
    known, new, trial = frozenset(sides.old.tree), sides.new, sides.done
    undecided = {path for group in trial.selection.unclassified for path in group.paths}
    covered: Counter[str] = Counter()
    items: list[Arrival] = []
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
    follow = {item.path for item in items if not item.open and item.follows}
    groups = _groups([item for item in items if item.open], follow, known, frozenset(new))
    findings = [item.doubtful(choices) for item in sorted(groups, key=lambda group: group.pattern)]
    findings += [item.kept() for item in items if not item.open]
    return {b.id: covered[b.id] for b in sides.manifest.batches if covered[b.id]}, findings


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
) -> Arrival:
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
    return Arrival(
        rooted(path), (path,), (commit,) if commit else (), tuple(evidence), verdict, batch,
        undecided or doubt, follows, undecided, word,
    )  # fmt: skip


def _groups(
    items: Sequence[Arrival], follow: Collection[str], known: frozenset[str], new: frozenset[str]
) -> Iterator[Arrival]:
    """Groups for decisions: a new folder whose paths are all open, but for those that follow, and paths of
    one folder that are alike in name and evidence. Every other path is a group of its own."""
    old_folders = {folder for path in known for folder in _folders(path)}
    by_folder: dict[str, list[Arrival]] = {}
    for item in items:
        new_folders = [f for f in _folders(item.path) if f not in old_folders]
        by_folder.setdefault(f"{new_folders[-1]}/" if new_folders else item.path, []).append(item)
    alone: list[Arrival] = []
    for pattern, inside in sorted(by_folder.items()):
        inside_now = sorted(path for path in new if path.startswith(pattern)) if pattern.endswith("/") else []
        whole = {path for path in inside_now if path not in follow} == {item.path for item in inside}
        if inside_now and whole and _agreed(inside) is not None:
            yield _group(pattern, inside, inside_now)
        else:
            alone += inside
    for pattern, alike in _alike(alone, known | new):
        yield _group(pattern, alike, [item.path for item in alike]) if len(alike) > 1 else alike[0]


def _alike(items: Iterable[Arrival], every: Collection[str]) -> Iterator[tuple[str, list[Arrival]]]:
    """Yield the paths of one folder that go the same way for the same reason, with their pattern, where one
    matches them and nothing else of `every`; the others one by one."""
    by_cause: dict[tuple[str, ...], list[Arrival]] = {}
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


def _agreed(items: Sequence[Arrival]) -> Arrival | None:
    """The item whose verdict a whole folder takes: that of all, or one of removal that most have and that
    the others, which nothing reaches, do not contradict."""
    items = [item for item in items if not item.follows] or items
    counts = Counter((item.verdict, item.batch) for item in items)
    (verdict, batch), count = max(counts.items(), key=lambda row: (row[1], row[0]))
    if len(counts) > 1 and (2 * count <= len(items) or any(item.verdict == "keep" for item in items)):
        return None
    return next(item for item in items if (item.verdict, item.batch) == (verdict, batch))


def _group(pattern: str, items: Sequence[Arrival], paths: Sequence[str]) -> Arrival:
    clauses = Counter(clause for item in items for clause in item.evidence)
    evidence = [
        clause if count == len(items) else f"{clause} ({count} of {len(items)})"
        for clause, count in sorted(clauses.items(), key=lambda c: (-c[1], c[0]))
    ]
    return replace(
        _agreed(items) or items[0],
        pattern=rooted(pattern),
        paths=tuple(paths),
        commits=tuple(commit for item in items for commit in item.commits),
        evidence=tuple(evidence[:4]),
        undecided=any(item.undecided for item in items),
    )


def _folders(path: str) -> list[str]:
    """The folders that a path lies in, innermost first."""
    return [str(folder) for folder in PurePosixPath(path).parents if folder.name]
