"""tilelang: kernels that upstream writes in it, by the shapes that they give; no program is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from verification.machine.absent import implement
from verification.machine.trace import TRACE


class _Kernel:
    """What a builder of upstream's would have compiled: a call is an event."""

    def __init__(self, name: str, built: tuple[Any, ...]) -> None:
        self._name, self._built = name, built

    def __call__(self, *args: Any) -> Any:
        TRACE.add("absent", f"tilelang.{self._name}", [*self._built, *args])
        query = args[0]
        if self._name.startswith("sparse_attention"):
            width = self._built[1]
            return query.new_empty((*query.shape[:3], width), dtype=torch.bfloat16)
        if self._name.startswith("fp8_index"):
            keys = args[2]
            return query.new_empty((*query.shape[:2], keys.shape[1]), dtype=torch.float32)
        return None  # it writes what it is given


def _jit(*args: Any, **kwargs: Any) -> Any:
    def decorate(builder: Callable[..., Any]) -> Callable[..., _Kernel]:
        return lambda *built, **named: _Kernel(builder.__name__, (*built, *named.values()))

    return decorate(args[0]) if args and callable(args[0]) else decorate


def install() -> None:
    """Let upstream's kernels be declared and called."""
    implement("tilelang.jit", _jit)
    implement("tilelang.set_log_level", lambda *args: None)
