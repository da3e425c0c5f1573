"""cutlass: decorators of kernels that are compiled when they are called, which none is here."""

from __future__ import annotations

from typing import Any

from verification.machine.absent import implement

_DECORATORS = (
    "cutlass.cute.jit", "cutlass.cute.kernel", "cutlass.cute.experimental.jit",
    "cutlass.cute.experimental.kernel", "cutlass.cutlass_dsl.dsl_user_op",
)  # fmt: skip


def _decorated(function: Any = None, **named: Any) -> Any:
    return function if function is not None else lambda given: given


def install() -> None:
    """Let functions be decorated and modules be imported."""
    for name in _DECORATORS:
        implement(name, _decorated)
