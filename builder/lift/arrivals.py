"""Paths that came: which of them the rules take, and for each that stays the evidence for or against it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from builder.graph.modules import module_of
from builder.graph.reach import graph, reach
from builder.lift.history import Arrival, History
from builder.lift.insert import Proposal
from builder.lift.markers import Markers
from builder.lift.trial import Trial
from builder.manifest.model import BASE, Manifest, Rule
from builder.pipeline.decide import Decided, roots
from builder.select.rules import Decision
from builder.select.suggest import few


@dataclass(frozen=True, slots=True)
class New:
    """A path that came and that the distribution would hold.

    `evidence` says in clauses what is known; `batch` is the one that it belongs to, if that is not kept;
    `verdict` is what is proposed: keep, remove, prune or unreached. `empty`: it goes with its folder.
    """

    path: str
    arrival: Arrival | None
    evidence: tuple[str, ...]
    verdict: str
    batch: str
    open: bool  # somebody has to decide
    empty: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """Paths that came together and about which the same is to be decided; `pattern` matches them."""

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
    """All paths that came: those that rules remove, by batch; those that stay without doubt; the rest."""

    covered: Mapping[str, int]
    kept: tuple[New, ...]
    groups: tuple[Group, ...]


def arrivals(
    old: Iterable[str],
    new: Iterable[str],
    manifest: Manifest,
    before: Decided,
    trial: Trial,
    markers: Markers,
    history: History,
) -> Arrivals:
    """What came between two upstreams. `before`: the decisions on the old one."""
    known = frozenset(old)
    came = [path for path in new if path not in known]
    undecided = {path for group in trial.selection.unclassified for path in group.paths}
    covered: Counter[str] = Counter()
    found: list[New] = []
    look = _Look(manifest, before, trial, markers, history)
    for path in came:
        decision = trial.selection.decisions.get(path)
        if decision is not None and not _stays(decision, path, trial):
            covered[decision.rule.batch] += 1
        else:
            found.append(look.at(path, path in undecided))
    # a path that was there and that no rule knows any more
    for path in sorted(undecided & known):
        found.append(look.at(path, True))
    doubtful = [item for item in found if item.open]
    kept = tuple(item for item in found if not item.open)
    return Arrivals(
        {b.id: covered[b.id] for b in manifest.batches if covered[b.id]},
        kept,
        tuple(_groups(doubtful, known, frozenset(new), undecided, kept, history)),
    )


def _stays(decision: Decision, path: str, trial: Trial) -> bool:
    if decision.verdict == "prune" and trial.cut is not None:
        return path in trial.cut.output.tree
    return decision.verdict != "remove"


class _Look:
    """Looks at one new path after another."""

    def __init__(
        self, manifest: Manifest, before: Decided, trial: Trial, markers: Markers, history: History
    ) -> None:
        self.manifest, self.before, self.trial, self.markers = manifest, before, trial, markers
        self.history = history
        self.removed: Mapping[str, Rule] = trial.cut.decided.removed if trial.cut else {}
        self.unreached = next((b.id for b in manifest.batches for r in b.rules if r.unless == "roots"), None)
        self.reached: Mapping[str, object] = {}
        self.importers: dict[str, list[str]] = {}
        if trial.cut is not None and trial.after is not None:
            after = trial.after.index
            self.reached = reach(graph(after, manifest.roots.dynamic), roots(after, manifest))
            for source, edges in graph(trial.cut.before.index).items():
                for edge in edges:
                    if edge.kind != "parent":
                        self.importers.setdefault(edge.target, []).append(source)

    def at(self, path: str, undecided: bool) -> New:
        arrival = self.history.arrival(path)
        evidence: list[str] = []
        source = arrival.source if arrival else None
        rule = self.before.removed.get(source) if source else None
        if rule is not None:
            evidence.append(f"moved from {source}, which batch {rule.batch} removes")
            verb = (
                "remove" if rule.verdict == "remove" else "unreached" if rule.unless == "roots" else "prune"
            )
            return New(path, arrival, tuple(evidence), verb, rule.batch, True)
        if source is not None:
            evidence.append(f"moved from {source}, which stays")
        verdict, batch, doubt = self._reach(path, evidence)
        marker = self.markers.of(path) if source is None else None
        # a word that only was learned says less than a root that reaches the module
        if marker is not None and (marker.stated or doubt or not evidence):
            others = f"{marker.paths} removed paths and no kept one" if marker.paths else "no kept path has"
            stated = ", and batch {} states it" if marker.stated else " (batch {})"
            evidence.append(f"its name has `{marker.word}`, as {others}" + stated.format(marker.batch))
            return New(path, arrival, tuple(evidence), "remove", marker.batch, True)
        said = self._said(path)
        if said is not None:
            word, count = said
            lines = "1 line" if count == 1 else f"{count} lines"
            evidence.append(f"`{word}` still stands on {lines} of it (batch {self.markers.facts[word]})")
        if not evidence:
            evidence.append("nothing speaks against it")
        cut = self.trial.cut
        empty = cut is not None and not cut.upstream[path].strip()
        return New(
            path, arrival, tuple(evidence), verdict, batch, undecided or doubt or said is not None, empty
        )

    def _said(self, path: str) -> tuple[str, int] | None:
        """The word of a fact that the output's text of a source file still holds."""
        cut = self.trial.cut
        if cut is None or path not in cut.output or not path.endswith((".py", ".cu", ".cuh", ".cc", ".h")):
            return None
        return self.markers.in_text(cut.output[path])

    def _reach(self, path: str, evidence: list[str]) -> tuple[str, str, bool]:
        """(verdict, batch, whether somebody has to decide) from who imports a module."""
        module = module_of(path, self.manifest.packages)
        if module is None or not self.reached:
            return "keep", BASE, False
        if module in self.reached:
            like = self._pruned_alike(path, module)
            if like is not None:
                evidence.append(
                    f"nothing that stays imports it but what imports its pruned neighbours too: {like[1]}"
                )
                return "prune", like[0], True
            evidence.append("a root reaches it")
            return "keep", BASE, False
        cut = self.trial.cut
        if cut is None or not cut.upstream[path].strip():
            return "keep", BASE, False  # an empty `__init__.py`
        sources = sorted(set(self.importers.get(module, ())))
        modules = cut.before.index.modules
        paths = [modules[s].path for s in sources if s in modules and modules[s].path != path]
        if not paths:
            evidence.append("nothing imports it")
        elif all(p in self.removed for p in paths):
            batches = Counter(self.removed[p].batch for p in paths)
            batch = min(batches, key=lambda name: (-batches[name], name))
            evidence.append(f"only what batch {batch} removes imports it: {few(paths)}")
            if any(r.verdict == "prune" for b in self.manifest.batches if b.id == batch for r in b.rules):
                return "prune", batch, True
        else:
            evidence.append(f"no root reaches it, nor {few([p for p in paths if p not in self.removed])}")
        if self.unreached is None:
            return "keep", BASE, True
        return "unreached", self.unreached, True

    def _pruned_alike(self, path: str, module: str) -> tuple[str, str] | None:
        """(batch, who) for a module that is reached only over modules that list its neighbours: a package's
        `__init__`, a registry. Its neighbours were pruned, and a kept model imports none of them."""
        cut = self.trial.cut
        folder = path.rpartition("/")[0]
        if cut is None:
            return None
        modules = cut.before.index.modules
        pruned = {
            module_of(p, self.manifest.packages): rule
            for p, rule in self.removed.items()
            if rule.verdict == "prune" and p.rpartition("/")[0] == folder
        }
        lists = Counter(s for m in pruned if m for s in set(self.importers.get(m, ())))
        batches = Counter(rule.batch for rule in pruned.values())
        if not batches:
            return None
        stay = [
            s for s in dict.fromkeys(self.importers.get(module, ()))
            if s in modules and modules[s].path not in self.removed and s != module
        ]  # fmt: skip
        if not stay or any(lists[s] < 2 for s in stay):
            return None
        batch = min(batches, key=lambda name: (-batches[name], name))
        return batch, few([modules[s].path for s in stay])


def _groups(
    items: Sequence[New],
    known: frozenset[str],
    new: frozenset[str],
    undecided: set[str],
    kept: Sequence[New],
    history: History,
) -> Iterable[Group]:
    """The paths of one new folder, where all of them are open, become one rule; every other path its own."""
    old_folders = {folder for path in known for folder in _folders(path)}
    apart = {item.path for item in kept if not item.empty}
    empty = {item.path for item in kept if item.empty}
    by_folder: dict[str, list[New]] = {}
    for item in items:
        fresh = [f for f in _folders(item.path) if f not in old_folders]
        by_folder.setdefault(f"{fresh[-1]}/" if fresh else item.path, []).append(item)
    for pattern, inside in sorted(by_folder.items()):
        here = {path for path in new if path.startswith(pattern)} if pattern.endswith("/") else set()
        whole = here - empty == {item.path for item in inside} and not here & apart
        if here and whole and _agreed(inside) is not None:
            yield _group(pattern, inside, undecided)
        else:
            for item in inside:
                yield _group(item.path, [item], undecided)


def _agreed(items: Sequence[New]) -> New | None:
    """The item whose verdict a whole folder takes: that of all, or one of removal that most have and that
    the others, which nothing reaches, do not contradict."""
    counts = Counter((item.verdict, item.batch) for item in items)
    (verdict, batch), count = max(counts.items(), key=lambda row: (row[1], row[0]))
    if len(counts) > 1 and (verdict != "remove" or 2 * count <= len(items)):
        return None
    if len(counts) > 1 and any(item.verdict == "keep" for item in items):
        return None
    return next(item for item in items if (item.verdict, item.batch) == (verdict, batch))


def _group(pattern: str, items: Sequence[New], undecided: set[str]) -> Group:
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
        rooted, tuple(i.path for i in items), verdict, batch, tuple(evidence[:4]), came, unknown, proposal,
    )  # fmt: skip


def _folders(path: str) -> list[str]:
    """The folders that a path lies in, innermost first."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[:count]) for count in range(len(parts), 0, -1)]
