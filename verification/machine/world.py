"""The three worlds in which a tree runs, each entered once in a process before SGLang is imported.

`shapes`: machines of many GPUs, no numbers; `numbers`: real numbers on the CPU, Triton interpreted;
`device`: one NVIDIA GPU that is really there, with the kernels that Triton compiles for it.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from verification.machine.fake import FakeDevice
    from verification.probes.request import Request

SHAPES, NUMBERS, DEVICE = "shapes", "numbers", "device"
#: Imported before anything is recorded: the order of first imports is no behaviour.
_MODULES = ("managers.scheduler", "model_executor.model_runner", "models.deepseek_v2", "models.deepseek")


@dataclass(frozen=True, slots=True)
class World:
    """What is known of the world that was entered."""

    mode: str
    fake: FakeDevice | None = None
    unmodelled: list[str] = field(
        default_factory=list
    )  # calls of absent packages that got a plausible answer

    @property
    def numbers(self) -> bool:
        """Return whether tensors have real numbers."""
        return self.mode != SHAPES

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        """Tensors are placed and operations recorded as this world has it; nothing learns gradients."""
        import torch

        from verification.machine.cuda import Placed
        from verification.machine.recording import Recording

        with contextlib.ExitStack() as stack:
            if self.mode == NUMBERS:
                stack.enter_context(Placed("cpu"))
            elif self.fake is not None:
                stack.enter_context(Placed("cuda:0", self.fake.read))
            stack.enter_context(Recording(self.fake))
            stack.enter_context(torch.no_grad())
            yield

    def describe(self) -> dict[str, Any]:
        """What a probe's answer says of its world."""
        import torch
        import triton

        said = {"mode": self.mode, "torch": torch.__version__, "triton": triton.__version__}
        if self.mode == DEVICE:
            said |= {"gpu": torch.cuda.get_device_name(0), "cuda": str(torch.version.cuda)}
        return said


def enter(request: Request, modules: tuple[str, ...] = _MODULES) -> World:
    """Enter the world that a request's question names, and import `modules` of sglang.srt in it."""
    asked = request.question
    mode = asked["mode"]
    os.environ.update(asked.get("environment", {}))
    from verification.machine import setup

    if mode == DEVICE:
        setup.on_device(request.tree)
    else:
        setup.pretend(request.tree, tuple(asked["capability"]), asked["devices"], mode == NUMBERS)

    import torch

    from verification.libraries import tvm_ffi
    from verification.machine import absent, distributed, recording

    torch.set_num_threads(1)  # sums do not depend on how many cores are free
    fake = None
    unmodelled: list[str] = []
    if mode == NUMBERS:
        from verification.machine import interpreter

        interpreter.install()
        distributed.alone()
    elif mode == SHAPES:
        fake = _fake()
        absent.otherwise(_plausible(unmodelled))
        distributed.among_fakes()
    recording.capture_custom_operators()
    recording.capture_launches(fake, run=mode != SHAPES)
    for name in modules:
        importlib.import_module(f"sglang.srt.{name}")
    tvm_ffi.no_headers()
    if mode == SHAPES:
        from verification.libraries import nccl

        nccl.install()
        distributed.no_waiting()
        distributed.one_node()
    return World(mode, fake, unmodelled)


def _fake() -> FakeDevice:
    from verification.kernels.speculation import accept_one
    from verification.libraries import sgl_kernel, tvm_ffi
    from verification.machine.fake import FakeDevice

    device = FakeDevice()
    for name in ("verify_tree_greedy", "tree_speculative_sampling_target_only"):
        device.stand_ins[f"sgl_kernel.{name}.default"] = accept_one
        tvm_ffi.STAND_INS[name] = functools.partial(accept_one, device)
    sgl_kernel.accepts(functools.partial(accept_one, device))
    return device


def _plausible(unmodelled: list[str]) -> Any:
    """An answer for calls that nobody implements: what they write to, else something like the first input."""

    def answer(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        import torch

        unmodelled.append(name)
        for key in ("out", "output"):
            if isinstance(kwargs.get(key), torch.Tensor):
                return kwargs[key]
        for key in ("hidden_states", "input", "x"):
            if isinstance(kwargs.get(key), torch.Tensor):
                return kwargs[key].new_empty(kwargs[key].shape, dtype=torch.bfloat16)
        return next((torch.empty_like(each) for each in args if isinstance(each, torch.Tensor)), None)

    return answer
