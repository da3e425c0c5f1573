"""What is specialized, under what, and what is remembered from earlier runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from builder.specialize.evaluating.facts import Facts
from builder.specialize.fold_cache import Recall
from builder.specialize.text_index import content


@dataclass(frozen=True, slots=True)
class Program:
    """The Python to specialize, and what is around it.

    `files`: path -> bytes of the kept files, overlays applied, each of which is Python; `upstream`: the same
    files and the removed ones as upstream has them; `names`: path -> module for all of both; `removed`:
    modules that are gone; `extra`: other texts that may name symbols.
    """

    files: Mapping[str, bytes]
    upstream: Mapping[str, bytes]
    names: Mapping[str, str]
    removed: frozenset[str] = frozenset()
    extra: Iterable[bytes] = ()


def _nowhere(path: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Policy:
    """What decides.

    `prune_symbols`: paths in which dead definitions may leave; `frozen`: paths that are ours and stay as they
    are; `stays`: qualified names of definitions that never leave as dead; `check`: compare each edit with
    the oracle.
    """

    facts: Facts
    prune_symbols: Callable[[str], bool] = _nowhere
    frozen: frozenset[str] = frozenset()
    stays: frozenset[str] = frozenset()
    check: bool = True


@dataclass(frozen=True, slots=True)
class Memo:
    """What earlier runs found, to which this run adds.

    `folds`: what folding a file gave (only with a policy that checks); `answers`: what was found out about
    the content of files.
    """

    folds: Recall = field(default_factory=dict)
    answers: content.Kept = field(default_factory=dict)
