"""torch.cuda as on a machine with NVIDIA GPUs of a chosen kind."""

from __future__ import annotations

import itertools
import sys
import types
from dataclasses import dataclass
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from verification.machine.trace import TRACE

GIB = 1 << 30
#: Equal to what a mode is given for the attribute, though made anew each time.
_IS_CUDA, _DEVICE = torch.Tensor.is_cuda.__get__, torch.Tensor.device.__get__
_GPU = torch.device("cuda:0")
#: Packages of SGLang that choose a kernel by the device of a tensor.
_CHOOSE = ("sglang.srt.constrained.",)
_NAMES = {8: "NVIDIA A100", 9: "NVIDIA H200", 10: "NVIDIA B200", 12: "NVIDIA RTX PRO 6000"}


@dataclass(frozen=True, slots=True)
class Machine:
    """NVIDIA GPUs, all alike."""

    capability: tuple[int, int] = (9, 0)
    devices: int = 8
    memory: int = 141 * GIB  # bytes of each

    @property
    def name(self) -> str:
        return _NAMES[self.capability[0]]


class Nothing:
    """A context manager and object that takes anything and does nothing."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        pass

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exception: object) -> bool:
        return False


class Event(Nothing):
    def record(self, *stream: object) -> None:
        pass

    def wait(self, *stream: object) -> None:
        pass

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        pass

    def elapsed_time(self, other: Event) -> float:
        return 0.0


class Stream(Nothing):
    """Each has a handle of its own; the first that is made is the default stream."""

    device = torch.device("cuda:0")
    device_index = 0
    priority = 0
    _handles = itertools.count()

    def __init__(self, *args: object, **kwargs: object) -> None:
        self.cuda_stream = self.stream_id = next(self._handles)

    def wait_stream(self, other: object) -> None:
        pass

    def wait_event(self, event: object) -> None:
        pass

    def record_event(self, event: Event | None = None) -> Event:
        return event or Event()

    def synchronize(self) -> None:
        pass

    def query(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.cuda_stream == self.cuda_stream

    def __hash__(self) -> int:
        return self.cuda_stream


class CUDAGraph(Nothing):
    """Captures nothing: what is captured has run already; a replay is one event."""

    def replay(self) -> None:
        TRACE.add("graph", "replay")

    def reset(self) -> None:
        pass

    def pool(self) -> tuple[int, int]:
        return (0, 0)

    def capture_begin(self, *args: object, **kwargs: object) -> None:
        pass

    def capture_end(self) -> None:
        pass


def _does_nothing(*args: object, **kwargs: object) -> None:
    return None


def _always(value: Any) -> Any:
    """A function of its own each time: torch's compiler keeps a table by function."""
    return lambda *args, **kwargs: value


def pretend(machine: Machine) -> None:
    """Make torch.cuda answer as `machine` would, for the rest of the process."""
    from torch.utils import cpp_extension

    torch.version.cuda = "12.9"
    cpp_extension.CUDA_HOME = "/absent/cuda"
    stream = Stream()
    properties = types.SimpleNamespace(
        name=machine.name,
        major=machine.capability[0],
        minor=machine.capability[1],
        total_memory=machine.memory,
        multi_processor_count=132,
        warp_size=32,
        shared_memory_per_block_optin=227 * 1024,
        max_threads_per_multi_processor=2048,
        L2_cache_size=50 << 20,
        gcnArchName="",
        uuid="0",
        is_integrated=0,
    )
    answers = {
        "is_available": True,
        "is_initialized": True,
        "device_count": machine.devices,
        "current_device": 0,
        "get_device_capability": machine.capability,
        "get_device_properties": properties,
        "get_device_name": machine.name,
        "get_arch_list": [f"sm_{machine.capability[0]}{machine.capability[1]}"],
        "mem_get_info": (machine.memory - GIB, machine.memory),
        "current_stream": stream,
        "default_stream": stream,
        "memory_allocated": 0,
        "max_memory_allocated": 0,
        "memory_reserved": 0,
        "utilization": 0,
        "is_current_stream_capturing": False,
        "is_bf16_supported": True,
        "can_device_access_peer": True,
        "graph_pool_handle": (0, 0),
    }
    for name, value in answers.items():
        setattr(torch.cuda, name, _always(value))
    for name in (
        "set_device", "synchronize", "empty_cache", "set_stream", "init", "_lazy_init", "ipc_collect",
        "reset_peak_memory_stats", "manual_seed", "manual_seed_all",
    ):  # fmt: skip
        setattr(torch.cuda, name, _always(None))
    for name in ("device", "stream", "StreamContext", "graph"):
        setattr(torch.cuda, name, Nothing)
    torch.cuda.Stream, torch.cuda.Event, torch.cuda.CUDAGraph = Stream, Event, CUDAGraph
    torch.cuda.memory.empty_cache = torch.cuda.empty_cache
    torch.cuda.cudart = _always(
        types.SimpleNamespace(cudaHostRegister=_always(0), cudaHostUnregister=_always(0))
    )
    torch.cuda.nvtx = types.SimpleNamespace(
        range=Nothing, range_push=_does_nothing, range_pop=_does_nothing, mark=_does_nothing
    )
    real = torch.get_device_module
    torch.get_device_module = lambda device=None: torch.cuda if device is None else real(device)
    torch.Tensor.pin_memory = lambda self, *device: self
    torch.Tensor.is_pinned = lambda self, *device: False
    torch.Tensor.record_stream = lambda self, stream: None
    _generators_on_cpu()


def _generators_on_cpu() -> None:
    real = torch.Generator

    class Generator(real):  # type: ignore[misc, valid-type]
        def __new__(cls, device: object = "cpu") -> Any:
            return real.__new__(cls, device="cpu")

    torch.Generator = Generator


def _chooses_kernel(frame: types.FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).startswith(_CHOOSE)


class Placed(TorchFunctionMode):
    """Puts every tensor that asks for a CUDA device on `device`: `cpu`, or `cuda:0` of fake tensors."""

    def __init__(self, device: str, read: Any = None) -> None:
        """`read(tensor, method)` answers reads of the numbers of a fake tensor."""
        super().__init__()
        self._device = torch.device(device)
        self._on_cpu = self._device.type == "cpu"
        self._read = read
        tensor = torch.Tensor
        self._reads = {
            tensor.tolist, tensor.numpy, tensor.item, tensor.__bool__, tensor.__int__, tensor.__float__,
            tensor.__index__,
        }  # fmt: skip

    def __torch_function__(
        self, function: Any, kinds: object, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        named = dict(kwargs or {})
        if function is torch.device:  # its name is no place yet
            return function(*args, **named)
        if function is torch.Tensor.cuda:
            kept = {key: value for key, value in named.items() if key == "non_blocking"}
            return torch.Tensor.to(args[0], self._device, **kept)
        if self._on_cpu and function == _IS_CUDA:
            return True
        if self._on_cpu and function == _DEVICE and _chooses_kernel(sys._getframe(1)):
            return _GPU
        if not self._on_cpu and function in self._reads and type(args[0]).__name__ == "FakeTensor":
            return self._read(args[0], function.__name__)
        args = tuple(self._placed(each) for each in args)
        if function is torch.Tensor.to and len(args) > 1:
            args = (args[0], self._numbered(args[1]), *args[2:])
        if "device" in named:
            named["device"] = self._numbered(self._placed(named["device"]))
        if named.get("pin_memory"):
            named["pin_memory"] = False
        return function(*args, **named)

    def _numbered(self, value: Any) -> Any:
        """A device that is named by its number is a GPU."""
        return self._device if type(value) is int else value

    def _placed(self, value: Any) -> Any:
        if isinstance(value, str) and (value == "cuda" or value.startswith("cuda:")):
            return self._device
        if isinstance(value, torch.device) and value.type == "cuda":
            return self._device
        return value
