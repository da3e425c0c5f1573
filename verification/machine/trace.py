"""What a run did, as a list of events that two trees can be compared by.

An event is a list of JSON values: kind, name, positional arguments, named arguments, result, and the
digests of the result's numbers when `values` is on. Tensors are named by where they came from, so that
equal lists mean equal flow of data, not only equal operations.
"""

from __future__ import annotations

import contextlib
import hashlib
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils.weak import WeakIdKeyDictionary

#: Operations that only move a tensor's handle, in an order that Python's own caches decide.
SILENT = frozenset({"prim.device.default", "aten.lift_fresh.default"})
#: Addresses are kept in tensors of this type; they differ from process to process.
ADDRESSES = torch.uint64
#: Messages between processes are written here. They hold random names, so that their length varies by run.
MESSAGES = "/device_communicators/shm_broadcast.py:"
#: Larger tensors are not read (bytes): they are weights at their full width.
LARGEST = 1 << 28


class Trace:
    """Events in the order in which they happened; one for each process."""

    def __init__(self) -> None:
        self.events: list[list[Any]] = []
        self.sites: list[str] = []  # beside each event: file:line of the tree that caused it
        self.active = False
        self.values = False  # digests of numbers, where numbers are real
        self.tree = ""  # the tree's folder: it differs between the trees, and is no difference
        self._names: WeakIdKeyDictionary = WeakIdKeyDictionary()
        self._named = 0

    def add(
        self,
        kind: str,
        name: str,
        args: Any = (),
        kwargs: Mapping[str, Any] | None = None,
        result: Any = None,
    ) -> None:
        """Record one event, unless recording is off."""
        if not self.active:
            return
        site, importing = self._site()
        # when a module is imported for the first time is no behaviour, nor is how long a message is
        if importing or MESSAGES in site:
            return
        index = len(self.events)
        taken = self.describe(list(args))
        named = self.describe(dict(sorted((str(key), value) for key, value in (kwargs or {}).items())))
        event = [kind, name, taken, named, self._result(result, f"e{index}")]
        if self.values:
            with self.silently():  # reading numbers is no operation of the tree
                event.append([digest_of(each) for each in _tensors(result)])
        self.events.append(event)
        self.sites.append(site)

    @contextlib.contextmanager
    def silently(self) -> Iterator[None]:
        """Nothing is recorded inside."""
        was, self.active = self.active, False
        try:
            yield
        finally:
            self.active = was

    def describe(self, value: Any) -> Any:
        """A value as JSON: tensors by origin, type, shape, strides and device; objects by their class."""
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if isinstance(value, (list, tuple)):
            return [self.describe(each) for each in value]
        if isinstance(value, dict):
            return {str(key): self.describe(each) for key, each in value.items()}
        if isinstance(value, str):
            return value.replace(self.tree, "<tree>") if self.tree else value
        if isinstance(value, (int, float, bool, type(None))):
            return value
        if isinstance(value, (torch.dtype, torch.device)):
            return str(value)
        if callable(value) and hasattr(value, "__name__"):
            return value.__name__
        return type(value).__name__

    def digest(self) -> str:
        """SHA-256 over all events."""
        import json

        return hashlib.sha256(json.dumps(self.events).encode()).hexdigest()

    def _tensor(self, tensor: torch.Tensor) -> str:
        name = self._names.get(tensor)
        if name is None:
            # a counter, not the number of names: names of tensors that are gone are forgotten
            name = self._names[tensor] = f"x{self._named}"
            self._named += 1
        strides = "" if tensor.is_contiguous() else f"s{tensor.stride()}"
        return f"{name}:{str(tensor.dtype)[6:]}{list(tensor.shape)}{strides}@{tensor.device.type}"

    def _result(self, value: Any, name: str) -> Any:
        if isinstance(value, torch.Tensor):
            if value not in self._names:
                self._names[value] = name
            return self._tensor(value)
        if isinstance(value, (list, tuple)):
            return [self._result(each, f"{name}.{index}") for index, each in enumerate(value)]
        return self.describe(value)

    def _site(self) -> tuple[str, bool]:
        """The innermost line of the tree that is running, and whether a module of it is being imported."""
        frame: Any = sys._getframe(2)
        site, start = "", f"{self.tree}/"
        while frame is not None:
            code = frame.f_code
            if code.co_filename.startswith(start):
                site = site or f"{code.co_filename[len(start) :]}:{frame.f_lineno}"
                if code.co_name == "<module>":
                    return site, True
            frame = frame.f_back
        return site, False


def digest_of(tensor: torch.Tensor) -> str:
    """The first 16 digits of the SHA-256 of a tensor's bytes; nothing for what has no comparable bytes."""
    if isinstance(tensor, FakeTensor) or tensor.is_meta or tensor.dtype == ADDRESSES:
        return ""
    if tensor.nbytes > LARGEST:
        return ""
    # a copy: a tensor of one element counts as contiguous whatever its strides, and has no view as bytes
    flat = tensor.detach().cpu().clone(memory_format=torch.contiguous_format).reshape(-1)
    flat = flat.as_strided(flat.shape, (1,))  # the stride of a single number may be any
    if flat.is_complex():
        flat = torch.view_as_real(flat).reshape(-1)
    return hashlib.sha256(flat.view(torch.uint8).numpy().tobytes()).hexdigest()[:16]


def _tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for each in value for tensor in _tensors(each)]
    return []


#: The trace of this process.
TRACE = Trace()
