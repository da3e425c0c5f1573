"""tvm_ffi: kernels that upstream compiles when they are first used, by their sources."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from verification.kernels import quantization
from verification.machine.absent import implement
from verification.machine.trace import TRACE

_INCLUDE = re.compile(r'#include "([^"]+)"')


def _per_tensor_quant(name: str) -> Callable[..., None]:
    # whether the scale is given is an argument of the template, and so of the module's name
    static = name.endswith("true")
    return lambda x, out, scale: quantization.per_tensor_quant(x, out, scale, static)


def _store_cache(name: str) -> Callable[..., None]:
    def store(k: Any, v: Any, k_cache: Any, v_cache: Any, places: Any, splits: int) -> None:
        k_cache[places] = k
        v_cache[places] = v

    return store


#: What calculates, by function: given the module's name, a function in torch.
_CALCULATES = {"per_tensor_quant_fp8": _per_tensor_quant, "store_cache": _store_cache}


class _Compiled:
    """Calls of what would have been compiled are events; where numbers matter they also calculate."""

    def __init__(self, name: str, numbers: bool) -> None:
        self._name, self._numbers = name, numbers

    def __getattr__(self, function: str) -> Any:
        if function.startswith("__"):
            raise AttributeError(function)

        def call(*args: Any, **kwargs: Any) -> None:
            TRACE.add("compiled", f"{self._name}.{function}", args, kwargs)
            if self._numbers:
                if function not in _CALCULATES:
                    raise NotImplementedError(f"{self._name}.{function} has no reference")
                _CALCULATES[function](self._name)(*args, **kwargs)

        return call


def install(numbers: bool) -> None:
    """Let sources be compiled into things that record their calls, and with `numbers` also calculate."""

    def load_inline(name: str, cpp_sources: Any = (), cuda_sources: Any = (), **named: Any) -> _Compiled:
        for source in [*cpp_sources, *cuda_sources]:
            for file in _INCLUDE.findall(source):
                TRACE.add("source", Path(file).name, [hashlib.sha256(Path(file).read_bytes()).hexdigest()])
        return _Compiled(name, numbers)

    implement("tvm_ffi.cpp.load_inline", load_inline)
