"""cutlass: decorators of kernels, types of numbers, and kernels that stand for compiled ones."""

from __future__ import annotations

import importlib
from typing import Any

from verification.machine.absent import implement

_DECORATORS = (
    "cutlass.cute.jit", "cutlass.cute.kernel", "cutlass.cute.experimental.jit",
    "cutlass.cute.experimental.kernel", "cutlass.cutlass_dsl.dsl_user_op",
)  # fmt: skip
#: Names of types in flashinfer: the class of cutlass, and its bits.
_TYPES = {
    "float4_e2m1fn": ("Float4E2M1FN", 4), "float8_e4m3fn": ("Float8E4M3FN", 8),
    "float8_e8m0fnu": ("Float8E8M0FNU", 8), "bfloat16": ("BFloat16", 16), "float16": ("Float16", 16),
    "float32": ("Float32", 32),
}  # fmt: skip


def _decorated(function: Any = None, **named: Any) -> Any:
    return function if function is not None else lambda given: given


def _type(name: str) -> Any:
    cutlass, width = _TYPES[name]
    found = getattr(importlib.import_module("cutlass"), cutlass)
    found.width = width
    return found


def _compiled(*args: Any, **named: Any) -> Any:
    """A kernel: calling it is an event."""
    return importlib.import_module("cutlass.cute").compiled


def install() -> None:
    """Let functions be decorated, modules be imported and kernels be compiled."""
    implement("flashinfer.cute_dsl.utils.get_cutlass_dtype", _type)
    implement("cutlass.cute.compile", _compiled)
    implement("cutlass.cute.compiled", lambda *args, **named: None)
    for name in _DECORATORS:
        implement(name, _decorated)
