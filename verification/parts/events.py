"""What parts that run many operations in a row keep of each, and a clock that tells every tree the same."""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Iterator
from enum import Enum
from itertools import count
from typing import Any
from unittest import mock

_SHOWN = 64  # numbers of a tensor that are kept as they are


class Events:
    """The operations of one run, drawn from a seed, each with all that could be seen of it."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.all: list[list[Any]] = []

    def add(self, name: str, *seen: Any) -> None:
        """Keep that `name` was done, and what came of it."""
        self.all.append([name, *(plain(each) for each in seen)])

    def names(self) -> set[str]:
        """The operations that were done."""
        return {event[0] for event in self.all}


def plain(value: Any) -> Any:
    """A value as JSON. A tensor has its numbers, or their digest where there are many."""
    torch = sys.modules.get("torch")
    if torch and isinstance(value, torch.Tensor):
        from verification.machine.trace import digest_of

        numbers = value.tolist() if value.numel() <= _SHOWN else digest_of(value)
        return [str(value.dtype)[6:], list(value.shape), _finite(numbers)]
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted((plain(each) for each in value), key=str)
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, Enum):
        return value.name
    if value is None or isinstance(value, (bool, int, float, str)):
        return _finite(value)
    return type(value).__name__


def _finite(value: Any) -> Any:
    """JSON has no infinity; NaN is like itself."""
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return str(value) if isinstance(value, float) and not abs(value) < float("inf") else value


@contextlib.contextmanager
def clock() -> Iterator[None]:
    """Time goes on by one with every look at it: what is ordered by time is ordered in the same way."""
    ticks = count(1)

    def tick() -> float:
        return float(next(ticks))

    with mock.patch("time.monotonic", tick), mock.patch("time.perf_counter", tick):
        yield
