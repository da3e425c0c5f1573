"""Evidence on new paths: words of their names, learned from decisions on the old upstream, and importers."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from builder.graph.names import is_test as is_package_test
from builder.graph.names import module_of
from builder.graph.reach import graph
from builder.lift.statements import most_common
from builder.lift.trial import Sides
from builder.manifest.model import Manifest
from builder.manifest.statements import BASE, Batch, Rule
from builder.pipeline.starts import edges_of
from builder.select.suggest import few

_WORD = re.compile(r"[a-z0-9]+")
_NAME = re.compile(r"[a-z_][a-z0-9_]*")
_STRING = re.compile(r"""["']([a-z0-9_]+)["']""")
_ORDINARY = frozenset(("type", "platform", "device", "true", "false", "none", "auto", "cpu"))
#: Rules of one batch that must match paths with a word before the word counts as evidence.
_MIN_RULES = 2


@dataclass(frozen=True, slots=True)
class Marker:
    """A word that only removed paths have, the batch of most of them, and how many there are."""

    word: str
    batch: str
    paths: int
    stated: bool  # a fact of the manifest names it, or the batch has it as its id


@dataclass(frozen=True)
class Markers:
    """The marker words of paths, and the words of facts that are searched for in texts."""

    paths: Mapping[str, Marker]
    facts: Mapping[str, str]  # word -> batch
    values: frozenset[str]  # those of them that are values of options: strings, and no names

    def of(self, path: str) -> Marker | None:
        """The strongest marker of a path: a word that a fact names, else the one that most paths have."""
        markers = [self.paths[word] for word in words(path) if word in self.paths]
        return max(markers, key=lambda m: (m.stated, m.paths, len(m.word), m.word), default=None)

    def in_text(self, data: bytes) -> tuple[str, int] | None:
        """Return the word of a fact that most lines of code have, and their number; None without one."""
        counts: Counter[str] = Counter()
        for line in data.decode("utf-8", "replace").splitlines():
            code = line.partition("#")[0].lower()
            names = {*_NAME.findall(code), *_WORD.findall(code)} - self.values
            counts.update(self.facts.keys() & (names | self.values.intersection(_STRING.findall(code))))
        return min(counts.items(), key=lambda item: (-item[1], item[0]), default=None)


def learn(manifest: Manifest, removed: Mapping[str, Rule], kept: Iterable[str]) -> Markers:
    """Return the markers of a decided upstream: a word that a kept path has too says nothing.

    Nor does one that all paths have from one folder, or paths that left for different reasons: only what
    several rules of one batch have in common is about the subject of the batch.
    """
    ordinary = {word for path in kept for word in words(path)}
    counts: dict[str, Counter[Rule]] = {}
    for path, rule in removed.items():
        # what nothing reaches is about no subject
        for word in () if is_test(path) or rule.batch == BASE else words(path):
            if word not in ordinary:
                counts.setdefault(word, Counter())[rule] += 1
    facts: dict[str, str] = {}
    for batch in reversed(manifest.batches):  # the first batch that names a word has it
        facts |= dict.fromkeys((*_values_of(batch), *_names_of(batch)), batch.id)
    values = {word for batch in manifest.batches for word in _values_of(batch)}
    values -= {word for batch in manifest.batches for word in _names_of(batch)}
    stated = {b.id: b.id for b in manifest.batches if _WORD.fullmatch(b.id)} | facts
    markers = {word: Marker(word, batch, 0, True) for word, batch in stated.items() if word not in ordinary}
    for word, rules in counts.items():
        total, batches = sum(rules.values()), {rule.batch for rule in rules}
        if word in stated:
            markers[word] = Marker(word, stated[word], total, True)
        elif len(rules) >= _MIN_RULES and len(batches) == 1 and not word.isdigit() and len(word) > 1:
            markers[word] = Marker(word, min(batches), total, False)
    return Markers(markers, facts, frozenset(values))


def words(path: str) -> set[str]:
    """The words of a path without its suffix, and each two that follow one another, joined."""
    result: set[str] = set()
    folder, slash, last = path.lower().rpartition("/")
    for name in f"{folder}{slash}{last.rpartition('.')[0] or last}".split("/"):
        parts = _WORD.findall(name)
        result.update(parts)
        result.update(f"{a}{glue}{b}" for a, b in itertools.pairwise(parts) for glue in ("_", ""))
    return result


def _values_of(batch: Batch) -> Iterator[str]:
    """The words that are absent values of all options."""
    return _plain(v for o in batch.options if "*" in o.names for v in o.values if isinstance(v, str))


def _names_of(batch: Batch) -> Iterator[str]:
    """The platforms whose `is_X` is false, and the absent modules."""
    predicates = (
        f.name.rpartition(".")[2] for f in batch.facts if f.kind == "predicate" and f.value is False
    )
    platforms = (name[3:] for name in predicates if name.startswith("is_") and name.count("_") == 1)
    return _plain((*platforms, *(a.name for a in batch.absent if a.kind == "module" and "." not in a.name)))


def _plain(names: Iterable[str]) -> Iterator[str]:
    for word in map(str.lower, names):
        if re.fullmatch(r"[a-z][a-z0-9_]{2,}", word) and word not in _ORDINARY:
            yield word


@dataclass(frozen=True, slots=True)
class Standing:
    """The judgement on a module, with its reason. `open`: a person has to decide."""

    evidence: str
    verdict: str = "keep"
    batch: str = BASE
    open: bool = True


class Importers:
    """The importers of every module of a new upstream, and what the roots reach in its output."""

    def __init__(self, sides: Sides) -> None:
        manifest, trial = sides.manifest, sides.done
        self._packages, self._new = manifest.packages, sides.new
        self._removed: Mapping[str, Rule] = trial.cut.decided.removed if trial.cut else {}
        self._prunes = {b.id for b in manifest.batches for r in b.rules if r.verdict == "prune"}
        self._reached: Mapping[str, object] = {}
        self._by: dict[str, dict[str, str]] = {}  # module -> its importers, sorted, with their paths
        if trial.cut is not None:
            edges = edges_of(trial.cut.after.index, manifest)
            self._reached = trial.cut.decided.starts.reach(edges, rules=False)
            modules = trial.cut.before.index.modules
            for source, targets in graph(trial.cut.before.index).items():
                for edge in targets if source in modules else ():
                    if edge.kind != "parent":
                        self._by.setdefault(edge.target, {})[source] = modules[source].path

    def standing(self, path: str) -> Standing | None:
        """Return the judgement on a path; None if it is no module, or is empty."""
        module = module_of(path, self._packages)
        if module is None or not self._reached or not self._new[path].strip():
            return None
        if module in self._reached:
            return self._pruned_alike(path, module) or Standing("a root reaches it", open=False)
        leaving, is_used = self._users(module)
        if is_used or not leaving:
            return Standing(f"nothing {'that a root reaches ' if is_used else ''}imports it")
        batch = most_common(self._removed[p].batch for p in leaving)
        evidence = f"only what batch {batch} removes uses it: {few(leaving)}"
        return Standing(evidence, "prune", batch) if batch in self._prunes else Standing(evidence)

    def _users(self, module: str) -> tuple[list[str], bool]:
        """Return the removed paths that import a module, over modules that no root reaches, without tests if
        there are others; and whether a module that a root reaches imports it."""
        leaving: dict[str, None] = {}
        is_used = False
        seen = [module]
        for name in seen:  # which grows
            for source, path in self._by.get(name, {}).items():
                if path in self._removed:
                    leaving[path] = None
                elif source in self._reached:
                    is_used = True
                elif source not in seen:
                    seen.append(source)
        return [path for path in leaving if not is_test(path)] or list(leaving), is_used

    def _pruned_alike(self, path: str, module: str) -> Standing | None:
        """A module that is reached only over modules that list its neighbours: a package's `__init__`, a
        registry. Its neighbours were pruned, as no kept model imports them, and none imports this one."""
        folder = path.rpartition("/")[0]
        pruned = {
            module_of(p, self._packages): rule
            for p, rule in self._removed.items()
            if rule.verdict == "prune" and p.rpartition("/")[0] == folder
        }
        lists = Counter(source for name in pruned for source in self._by.get(name or "", ()))
        users = {s: p for s, p in self._by.get(module, {}).items() if p not in self._removed and s != module}
        if not pruned or not users or any(lists[source] < 2 for source in users):
            return None
        evidence = "nothing that stays imports it but what imports its pruned neighbours too"
        batch = most_common(rule.batch for rule in pruned.values())
        return Standing(f"{evidence}: {few(list(users.values()))}", "prune", batch)


def is_test(path: str) -> bool:
    """Return whether a path of the repository is a test, in a package or in the folder `test` beside them.

    Tests use everything: that they use something says little.
    """
    return path.startswith("test/") or is_package_test(path)
