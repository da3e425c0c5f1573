"""tvm_ffi: kernels that upstream compiles when they are first used, by their sources."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from verification.kernels.compiled import ANSWERS, CALCULATES
from verification.machine.absent import implement
from verification.machine.trace import TRACE

#: A source in a build file: `build NAME.o: compile_cuda FILE`.
_UNIT = re.compile(r"^build \S+: compile_\w+ (\S+)$", re.MULTILINE)
_INCLUDE = re.compile(r'#include "([^"]+)"')


#: What answers where only shapes exist, by function.
STAND_INS: dict[str, Callable[..., Any]] = {}


class _Compiled:
    """Calls of what would have been compiled are events; where numbers matter they also calculate."""

    def __init__(self, name: str, numbers: bool) -> None:
        self._name, self._numbers = name, numbers

    def __getattr__(self, function: str) -> Any:
        if function.startswith("__"):
            raise AttributeError(function)

        def call(*args: Any, **kwargs: Any) -> Any:
            TRACE.add("compiled", f"{self._name}.{function}", args, kwargs)
            if function in ANSWERS:
                return ANSWERS[function]
            if function in STAND_INS:
                return STAND_INS[function](*args)
            if self._numbers:
                if function not in CALCULATES:
                    raise NotImplementedError(f"{self._name}.{function} has no reference")
                CALCULATES[function](self._name)(*args, **kwargs)
            return None

        return call


def install(numbers: bool) -> None:
    """Let sources be compiled into things that record their calls, and with `numbers` also calculate."""

    def load_inline(name: str, cpp_sources: Any = (), cuda_sources: Any = (), **named: Any) -> _Compiled:
        for source in [*cpp_sources, *cuda_sources]:
            for file in _INCLUDE.findall(source):
                TRACE.add("source", Path(file).name, [hashlib.sha256(Path(file).read_bytes()).hexdigest()])
        return _Compiled(name, numbers)

    def load_module(path: str) -> _Compiled:
        library = Path(path)
        for source in _sources(library.parent):
            TRACE.add("source", source.name, [hashlib.sha256(source.read_bytes()).hexdigest()])
        return _Compiled(library.stem, numbers)

    implement("tvm_ffi.cpp.load_inline", load_inline)
    implement("tvm_ffi.load_module", load_module)
    if importlib.util.find_spec("tvm_ffi") is not None:
        importlib.import_module("tvm_ffi").load_module = load_module  # type: ignore[attr-defined]


def _sources(folder: Path) -> Iterator[Path]:
    """The files that a build in `folder` compiles, and those that its own wrappers include."""
    for unit in _UNIT.findall((folder / "build.ninja").read_text()):
        file = folder / unit
        included = _INCLUDE.findall(file.read_text()) if file.parent == folder else []
        yield from map(Path, included) if included else (file,)


def no_headers() -> None:
    """Let sources be compiled that ask for the headers of packages which are not here."""
    name = "sglang.kernels.jit.utils.deps"
    with contextlib.suppress(ModuleNotFoundError):
        known = importlib.import_module(name).REGISTERED_DEPENDENCIES
        known.update(dict.fromkeys(known, list))
