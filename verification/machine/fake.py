"""Tensors on a GPU that is not there: shapes only, and small ones also with numbers.

Schedulers and attention backends read back small integers (lengths, indices, tokens). A tensor that is
small and computed from known numbers keeps a shadow on the CPU; kernels that run nowhere make the shadows
of what they write stale.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
)
from torch.utils import _pytree
from torch.utils.weak import WeakIdKeyDictionary

#: Larger tensors get no shadow (elements).
LARGEST = 1 << 18
#: Numbers made from nothing are kept up to this size (elements); weights are larger.
LARGEST_NEW_FLOAT = 1 << 16
_RANDOM = ("rand", "normal", "multinomial", "bernoulli", "exponential", "dropout", "set_.")
_MANY_COPIES = "aten._foreach_copy_.default"
_BROADCAST = "c10d.broadcast_.default"
_COMPARISONS = ("aten.allclose.default", "aten.equal.default")


def keep_classes_of_parameters() -> None:
    """Parameters, and subclasses of them, stay what they are with fake data, where torch drops the class."""
    make = torch.nn.Parameter.__new__
    made_classes: dict[type, type] = {}

    def new(cls: Any, data: Any = None, requires_grad: bool = True) -> Any:
        if isinstance(data, FakeTensor) and isinstance(data, torch.nn.Parameter):
            data = data.detach()
        made = make(cls, data, requires_grad)
        if isinstance(made, FakeTensor):
            if cls not in made_classes:
                made_classes[cls] = type(cls)(cls.__name__, (FakeTensor, cls), {"__init__": cls.__init__})
            made.__class__ = made_classes[cls]
        return made

    torch.nn.Parameter.__new__ = new


class FakeDevice:
    """Runs operations on fake tensors and keeps the shadows."""

    def __init__(self) -> None:
        # CUDA is not initialized and never will be
        FakeTensorMode.avoid_device_init = property(lambda self: True)
        torch._C._set_only_lift_cpu_tensors(True)
        keep_classes_of_parameters()
        self.mode = FakeTensorMode(allow_non_fake_inputs=True)
        self.shadows: WeakIdKeyDictionary = WeakIdKeyDictionary()
        self.unknown: list[tuple[str, tuple[int, ...], str]] = []  # reads of numbers that nobody knows
        self.stand_ins: dict[str, Callable[..., None]] = {}  # by operator: write shadows of what it gives
        self._stale: set[int] = set()
        self._held: list[torch.Tensor] = []  # stale storages stay, so that their ids are not used again
        self._true: WeakIdKeyDictionary = WeakIdKeyDictionary()

    def touches(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Return whether an operation takes a fake tensor, or makes something on a CUDA device."""
        device = kwargs.get("device")
        if device is not None and torch.device(device).type == "cuda":
            return True
        return any(isinstance(leaf, FakeTensor) for leaf in _pytree.tree_leaves((args, kwargs)))

    def shadow(self, tensor: torch.Tensor) -> torch.Tensor | None:
        """The numbers of a tensor, when they are known."""
        found: torch.Tensor | None = self.shadows.get(tensor)
        if found is not None and found.untyped_storage()._cdata in self._stale:
            return None
        return found

    def written(self, arguments: Any) -> None:
        """Something unknown was written to the tensors among `arguments`."""
        for leaf in _pytree.tree_leaves(arguments):
            if isinstance(leaf, FakeTensor) and (shadow := self.shadows.get(leaf)) is not None:
                self._stale.add(shadow.untyped_storage()._cdata)
                self._held.append(shadow)

    def read(self, tensor: torch.Tensor, method: str) -> Any:
        """What `tensor.method()` gives: known numbers, else zeros, which is noted in `unknown`."""
        shadow = self.shadow(tensor)
        if shadow is not None:
            return getattr(shadow, method)()
        self.unknown.append((method, tuple(tensor.shape), str(tensor.dtype)))
        if tensor in self._true and method in ("__bool__", "item"):
            return True  # `all` of numbers that nobody knows: checks of weights and the like
        return getattr(torch.zeros(tensor.shape, dtype=tensor.dtype), method)()

    def run(self, operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of an operation: fake, with a shadow where that is possible."""
        name = str(operation)
        if name in _COMPARISONS:
            self.unknown.append((name, (), ""))
            return True
        if name == _MANY_COPIES:  # what is unknown of one says nothing of the others
            for target, source in zip(*args[:2], strict=True):
                self.run(torch.ops.aten.copy_.default, (target, source), {})
            return None
        try:
            with self.mode:
                result = operation(*args, **kwargs)
        except (DynamicOutputShapeException, DataDependentOutputException):
            return self._from_numbers(operation, args, kwargs)
        if name == "aten.copy_.default" and not isinstance(args[0], FakeTensor):
            self._copy_out(args[0], args[1])
        if name.startswith("aten.all.") and isinstance(result, FakeTensor):
            self._true[result] = True
        if name in self.stand_ins:
            self.stand_ins[name](self, *args)
            return result
        return self._shadowed(operation, args, kwargs, result)

    def _copy_out(self, target: torch.Tensor, source: Any) -> None:
        """What is read back to the CPU: known numbers, else zeros, which is noted in `unknown`."""
        if not isinstance(source, FakeTensor):
            return
        shadow = self.shadow(source)
        if shadow is None:
            self.unknown.append(("copy_", tuple(source.shape), str(source.dtype)))
            shadow = torch.zeros(source.shape, dtype=source.dtype)
        target.copy_(shadow)

    def _from_numbers(self, operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The shape of the result depends on numbers: known ones, else ones that give something."""
        name = str(operation)

        def numbers(value: Any) -> Any:
            if not isinstance(value, FakeTensor):
                return _on_cpu(value)
            shadow = self.shadow(value)
            if shadow is None:
                self.unknown.append((name, tuple(value.shape), str(value.dtype)))
                make = torch.ones if name == "aten.nonzero.default" else torch.zeros
                shadow = make(value.shape, dtype=value.dtype)
            return shadow

        def fake(real: Any) -> Any:
            if not isinstance(real, torch.Tensor):
                return real
            with self.mode:
                made = torch.empty_strided(real.shape, real.stride(), dtype=real.dtype, device="cuda:0")
            self.shadows[made] = real
            return made

        positional, named = _pytree.tree_map(numbers, (args, dict(kwargs)))
        return _pytree.tree_map(fake, operation(*positional, **named))

    def _shadowed(self, operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        name = str(operation)
        results = [leaf for leaf in _pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]
        if name == _BROADCAST and args[2] == 0:  # what this rank sends stays as it is
            return result
        if not self._computable(name, args, kwargs, results):
            if operation._schema.is_mutable:
                self.written(_mutated(operation, args, kwargs))
            return result

        def number(value: Any) -> Any:
            return self.shadow(value) if isinstance(value, FakeTensor) else _on_cpu(value)

        positional, named = _pytree.tree_map(number, (args, dict(kwargs)))
        if "pin_memory" in named:
            named["pin_memory"] = False
        try:
            real = operation(*positional, **named)
        except Exception:  # the CPU lacks this operation for these types
            if operation._schema.is_mutable:
                self.written(_mutated(operation, args, kwargs))
            return result
        numbers = [leaf for leaf in _pytree.tree_leaves(real) if isinstance(leaf, torch.Tensor)]
        if "empty" in name:
            for each in numbers:
                each.zero_()
        if len(numbers) == len(results):
            if name == "aten._to_copy.default" and results[0].device.type == "cpu":
                return numbers[0]
            for made, each in zip(results, numbers, strict=True):
                if isinstance(made, FakeTensor) and made.shape == each.shape:
                    self.shadows[made] = each
        return result

    def _computable(
        self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], results: list[torch.Tensor]
    ) -> bool:
        taken = [leaf for leaf in _pytree.tree_leaves((args, kwargs)) if isinstance(leaf, FakeTensor)]
        if not name.startswith(("aten.", "prims.")) or any(part in name for part in _RANDOM):
            return False
        if any(self.shadow(each) is None for each in taken):
            return False
        if any(each.numel() > LARGEST for each in results):
            return False
        return bool(taken) or not any(
            each.is_floating_point() and each.numel() > LARGEST_NEW_FLOAT for each in results
        )


def _mutated(operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The arguments that an operation writes to."""
    stated = operation._schema.arguments
    known = {**dict(zip((each.name for each in stated), args, strict=False)), **kwargs}
    return [known[each.name] for each in stated if each.is_write and each.name in known]


def _on_cpu(value: Any) -> Any:
    return torch.device("cpu") if isinstance(value, torch.device) and value.type == "cuda" else value
