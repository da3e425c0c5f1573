"""Every operation and every kernel launch becomes an event, and is run where it can be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from verification.kernels.lengths import LENGTHS
from verification.machine import stores
from verification.machine.fake import FakeDevice
from verification.machine.trace import SILENT, TRACE

#: The CUDA implementations of custom operators, by name: there is no CUDA to dispatch to.
_custom: dict[str, Callable[..., Any]] = {}


def capture_custom_operators() -> None:
    """Remember what is registered for CUDA from now on; call it before SGLang is imported."""
    real = torch.library.Library.impl

    def impl(self: Any, name: Any, function: Any, key: str = "", **kwargs: Any) -> Any:
        if key == "CUDA" and isinstance(name, str):
            _custom[f"{self.ns}.{name}"] = function
        return real(self, name, function, key, **kwargs)

    torch.library.Library.impl = impl


def _product(one: torch.Tensor, two: torch.Tensor, kind: torch.dtype) -> torch.Tensor:
    return torch.mm(one.to(kind), two.to(kind))


_CUDA_ONLY: dict[str, Callable[..., Any]] = {"aten.mm.dtype": _product}


class Recording(TorchDispatchMode):
    """Records operations; with a `device`, what touches CUDA runs on it, and all else on the CPU."""

    def __init__(self, device: FakeDevice | None) -> None:
        super().__init__()
        self._device = device

    def __torch_dispatch__(
        self, operation: Any, kinds: object, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        named = kwargs or {}
        name = str(operation)
        inner = _custom.get(name.rpartition(".")[0])
        if inner is not None:
            TRACE.add("enter", name, args, named)
            with self:
                result = inner(*args, **named)
            TRACE.add("exit", name, (), {}, result)
            return result
        result = self._run(operation, name, args, named)
        if name not in SILENT:
            TRACE.add("op", name, args, named, result)
        return result

    def _run(self, operation: Any, name: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if self._device is not None and self._device.touches(args, named):
            if name in ("aten._local_scalar_dense.default", "aten.item.default"):
                return self._device.read(args[0], "item")
            return self._device.run(operation, args, named)
        # what CUDA has of torch's operators and the CPU has not
        result = _CUDA_ONLY.get(name, operation)(*args, **named)
        if TRACE.values and "empty" in name and isinstance(result, torch.Tensor):
            result.zero_()  # what memory held before is no behaviour
        return result


def capture_launches(device: FakeDevice | None, run: bool) -> None:
    """Record launches of Triton kernels; `run` them too, or only forget what is known of their arguments."""
    from triton.runtime import autotuner, jit

    def wrap(kind: Any) -> None:
        real = kind.run

        def launch(self: Any, *args: Any, grid: Any = None, warmup: bool = False, **kwargs: Any) -> Any:
            if warmup:
                return None
            TRACE.add(
                "triton", _kernel(self).__name__, args, {**kwargs, "grid": _grid(self, grid, args, kwargs)}
            )
            if device is not None:
                _forget(device, _kernel(self), args, kwargs)
            if not run:
                return None
            # trials of a tuner are no behaviour
            with TRACE.silently():
                result = real(self, *args, grid=grid, warmup=warmup, **kwargs)
            # a kernel gives nothing back: what it did is in the tensors that it was given
            tensors = [each for each in (*args, *kwargs.values()) if isinstance(each, torch.Tensor)]
            TRACE.add("done", "", (), {}, tensors)
            return result

        kind.run = launch

    for kind in (jit.JITFunction, autotuner.Autotuner, autotuner.Heuristics):
        wrap(kind)
    _capture_interpreted()


def _capture_interpreted() -> None:
    """The interpreter's functions are of another class, which runs a grid by a call."""
    from triton.runtime import interpreter

    real = interpreter.GridExecutor.__call__

    def launch(self: Any, *args: Any, **kwargs: Any) -> None:
        if kwargs.get("warmup"):
            return
        named = {key: value for key, value in kwargs.items() if key != "warmup"}
        known = {**dict(zip(self.arg_names, args, strict=False)), **named}
        grid = self.grid(known) if callable(self.grid) else self.grid
        TRACE.add("triton", self.fn.__name__, args, {**named, "grid": grid})
        with TRACE.silently():  # how the interpreter moves numbers about is no operation of the tree
            real(self, *args, **kwargs)
        tensors = [each for each in known.values() if isinstance(each, torch.Tensor)]
        TRACE.add("done", "", (), {}, tensors)

    interpreter.GridExecutor.__call__ = launch


def _kernel(launched: Any) -> Any:
    """The function that a launcher launches, under its decorators."""
    while not hasattr(launched, "src") and hasattr(launched, "fn"):
        launched = launched.fn
    return launched


def _forget(device: FakeDevice, kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """What a kernel writes is not known any more, but for lengths that it makes of known ones."""
    make = LENGTHS.get(kernel.__name__)
    if make is None or not make(device, stores.named(kernel, args, kwargs)):
        device.written(stores.written(kernel, args, kwargs))


def _grid(launched: Any, grid: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if not callable(grid):
        return grid
    known = stores.named(_kernel(launched), args, kwargs)
    try:
        return grid(known)
    except KeyError as missing:  # decided by autotuning, on a GPU
        return f"needs {missing}"
