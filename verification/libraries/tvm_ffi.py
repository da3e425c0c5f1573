"""tvm_ffi: kernels that upstream compiles when they are first used, by their sources."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

from verification.machine.absent import implement
from verification.machine.trace import TRACE

_INCLUDE = re.compile(r'#include "([^"]+)"')


class _Compiled:
    """Calls of what would have been compiled are events."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, function: str) -> Any:
        if function.startswith("__"):
            raise AttributeError(function)
        return lambda *args, **kwargs: TRACE.add("compiled", f"{self._name}.{function}", args, kwargs)


def _load_inline(name: str, cpp_sources: Any = (), cuda_sources: Any = (), **named: Any) -> _Compiled:
    for source in [*cpp_sources, *cuda_sources]:
        for file in _INCLUDE.findall(source):
            TRACE.add("source", Path(file).name, [hashlib.sha256(Path(file).read_bytes()).hexdigest()])
    return _Compiled(name)


def install() -> None:
    """Let sources be compiled into things that record their calls."""
    implement("tvm_ffi.cpp.load_inline", _load_inline)
