"""Words that show to which batch a path belongs, learned from the decisions on the old upstream."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from builder.lift.importers import is_test
from builder.manifest.model import Manifest
from builder.manifest.statements import BASE, Batch, Rule

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
