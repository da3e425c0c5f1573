"""What other scopes give, measured by `benchmarks/batches.py` and kept in docs/scope.json.xz."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from builder import json_xz

FILE = "docs/scope.json.xz"


@dataclass(frozen=True, slots=True)
class Trial:
    """One build of another scope. `off`: all batches that were off; `lines`: how many more lines of code than
    the default scope has; `codes`: the problems that stopped it, with their counts."""

    off: tuple[str, ...]
    lines: int
    codes: Mapping[str, int]


Trials = Mapping[str, Mapping[str, Trial]]  # pin -> what was tried -> what it gave


@dataclass(frozen=True, slots=True)
class Figures:
    """Everything measured: batches that are off alone, by id; pairs of them, and models that are kept
    beside the roots', by their names joined with `+`."""

    batches: Trials = field(default_factory=dict)
    pairs: Trials = field(default_factory=dict)
    models: Trials = field(default_factory=dict)


_KINDS = ("batches", "pairs", "models")


def read(data: bytes) -> Figures:
    """The figures in the file; none where it is not as `record` makes it."""
    try:
        loaded = json_xz.unpacked(data)
        return Figures(*(_measured(loaded[kind]) for kind in _KINDS))
    except (ValueError, KeyError, TypeError, AttributeError):
        return Figures()


def _measured(data: Any) -> Trials:
    return {
        pin: {
            name: Trial(tuple(one["off"]), int(one["lines"]), dict(one["codes"]))
            for name, one in tried.items()
        }
        for pin, tried in data.items()
    }


def record(figures: Figures) -> dict[str, Any]:
    """The figures as data for the file."""
    return {
        kind: {
            pin: {name: asdict(one) for name, one in sorted(tried.items())}
            for pin, tried in sorted(getattr(figures, kind).items())
        }
        for kind in _KINDS
    }
