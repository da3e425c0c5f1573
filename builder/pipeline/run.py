"""The state that the stages of one cut share, and the results that cuts leave for one another."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field, fields
from typing import Any

from builder.errors import BuildError, Mark, Problem
from builder.graph.modules import Summary, known_of
from builder.memo import Shelf, Store
from builder.specialize.fold_cache import FoldRecord
from builder.specialize.program import Memo
from builder.specialize.text_index import content
from builder.tree import Snapshot

#: Takes the problems of a stage.
Stop = Callable[[Iterable[Problem]], None]


@dataclass(frozen=True, slots=True)
class Recalled(Memo):
    """The results of cuts that hold for the same files again.

    Summaries, folded files, answers about the content of files, and whole outcomes.
    """

    summaries: MutableMapping[tuple[str, str], Summary] = field(default_factory=dict)
    folds: MutableMapping[str, FoldRecord] = field(default_factory=dict)
    answers: MutableMapping[str, dict[content.Question, Any]] = field(default_factory=dict)
    outcomes: MutableMapping[str, bytes] = field(default_factory=dict)

    @classmethod
    def of(cls, store: Store) -> Recalled:
        """Return what a store holds of them."""
        return cls(*(Shelf(store, one.name) for one in fields(cls)))

    def remember(self, files: Snapshot, by_path: Mapping[str, Summary]) -> None:
        """Keep the summaries of files for later cuts."""
        for key, summary in known_of(files, by_path).items():
            if self.summaries.get(key) is not summary:
                self.summaries[key] = summary


@dataclass(frozen=True, slots=True)
class Run:
    """One cut: the upstream tree, and what all stages share.

    `within`: the only folders that a partial upstream holds; `stop`: takes the problems of each stage;
    `recalled`: None where nothing may be remembered.
    """

    upstream: Snapshot
    within: tuple[str, ...]
    stop: Stop
    recalled: Recalled | None

    @property
    def summaries(self) -> MutableMapping[tuple[str, str], Summary]:
        """The summaries that earlier cuts made."""
        return self.recalled.summaries if self.recalled else {}

    def remember(self, files: Snapshot, by_path: Mapping[str, Summary]) -> None:
        """Keep the summaries of files for later cuts."""
        if self.recalled:
            self.recalled.remember(files, by_path)


def raise_problems(problems: Iterable[Problem]) -> None:
    """Raise BuildError if there is a problem."""
    listed = tuple(problems)
    if listed:
        raise BuildError(listed)


def digest_of(*parts: Any) -> str:
    """Return a digest of values; only what the manifest states counts, and not where."""
    return hashlib.sha256(repr(_plain(parts)).encode("utf-8", "surrogateescape")).hexdigest()


def _plain(value: Any) -> Any:
    """Return a value such that equal ones have the same `repr`."""
    if isinstance(value, Mark):
        return None
    if dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        return [type(value).__name__, *((f.name, _plain(getattr(value, f.name))) for f in fields)]
    if isinstance(value, Mapping):
        return sorted((repr(key), _plain(item)) for key, item in value.items())
    if isinstance(value, (set, frozenset)):
        return sorted(map(repr, value))
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
