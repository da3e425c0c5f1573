"""Prefill and decode of a DeepSeek model, with every operation recorded.

mode `shapes`: full machines, no numbers; mode `numbers`: real numbers on the CPU, Triton interpreted.
driver `runner`: ModelRunner with batches made here; driver `scheduler`: the real Scheduler with requests.
"""

from __future__ import annotations

import contextlib
import os
import resource
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from verification.machine import setup
from verification.probes.request import received

_SEED = 1


def main() -> None:
    request = received()
    asked = request.question
    numbers = asked["mode"] == "numbers"
    os.environ.update(asked.get("environment", {}))
    start = time.perf_counter()
    setup.pretend(request.tree, tuple(asked["capability"]), asked["devices"], numbers)

    import torch

    from verification.machine import absent, distributed, recording
    from verification.machine.trace import TRACE

    torch.set_num_threads(1)  # sums do not depend on how many cores are free
    device = None if numbers else _device()
    unmodelled: list[str] = []
    if numbers:
        from verification.machine import interpreter

        interpreter.install()
        distributed.alone()
    else:
        absent.otherwise(_plausible(unmodelled))
        distributed.among_fakes()
    recording.capture_custom_operators()
    recording.capture_launches(device, run=numbers)
    _import()
    if not numbers:
        from verification.libraries import nccl

        nccl.install()
        distributed.no_waiting()
    imported = time.perf_counter()

    model = _model(asked, request.out.parent)
    TRACE.active, TRACE.values = True, numbers
    with _world(device), torch.no_grad():
        report = _drive(asked, model, numbers)
    report.update(
        digest=TRACE.digest(),
        events=TRACE.events,
        sites=TRACE.sites,
        kinds=dict(Counter(event[0] for event in TRACE.events)),
        unmodelled=dict(Counter(unmodelled)),
        unknown=[[*map(str, key), count] for key, count in Counter(device.unknown).items()] if device else [],
        seconds={"import": round(imported - start, 1), "all": round(time.perf_counter() - start, 1)},
        megabytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    )
    request.answer(report)


def _device() -> Any:
    from verification.kernels.speculation import accept_one
    from verification.machine.fake import FakeDevice

    device = FakeDevice()
    for name in ("verify_tree_greedy", "tree_speculative_sampling_target_only"):
        device.stand_ins[f"sgl_kernel.{name}.default"] = accept_one
    return device


def _plausible(unmodelled: list[str]) -> Any:
    """An answer for calls that nobody implements: what they write to, else something like the first input."""

    def answer(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
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


def _import() -> None:
    """Import before anything is recorded: the order of first imports is no behaviour."""
    import importlib

    for name in (
        "managers.scheduler",
        "model_executor.model_runner",
        "models.deepseek_v2",
        "models.deepseek",
    ):
        importlib.import_module(f"sglang.srt.{name}")


@contextlib.contextmanager
def _world(device: Any) -> Iterator[None]:
    from verification.machine.cuda import Placed
    from verification.machine.recording import Recording

    placed = Placed("cpu") if device is None else Placed("cuda:0", device.read)
    with placed, Recording(device):
        yield


def _model(asked: dict[str, Any], folder: Path) -> Path:
    from verification.models import configuration, weights

    config = configuration.configuration(
        asked["architecture"], asked["layers"], asked["dense"], asked["full"], asked["quantization"]
    )
    config.update(asked.get("config", {}))
    # the same relative name in both trees' runs: paths are in the arguments that are compared
    os.chdir(folder)
    path = Path(f"model-{asked['architecture']}")
    configuration.write(config, path)
    if asked["checkpoint"]:
        weights.write(config, path)
    return path


def _drive(asked: dict[str, Any], model: Path, numbers: bool) -> dict[str, Any]:
    import torch
    from sglang.srt.server_args import PortArgs, ServerArgs

    from verification.machine.trace import TRACE
    from verification.probes import batches, schedule

    defaults = {
        "model_path": str(model), "load_format": "auto" if asked["checkpoint"] else "dummy", "device": "cuda",
        "dtype": "bfloat16", "disable_cuda_graph": True, "skip_tokenizer_init": True,
        "mem_fraction_static": 0.8, "max_total_tokens": 2048, "max_running_requests": 8,
        "random_seed": _SEED, "disable_custom_all_reduce": True, "cuda_graph_max_bs": 8,
        "chunked_prefill_size": 2048, "disable_flashinfer_autotune": True,
    }  # fmt: skip
    args = ServerArgs(**{**defaults, **asked["arguments"]})
    ports = PortArgs.init_new(args)
    torch.manual_seed(_SEED)
    if asked["driver"] == "scheduler":
        results = schedule.run(args, ports, asked["lengths"], asked["steps"], numbers)
    else:
        results = batches.run(args, ports, asked["lengths"], asked["steps"], numbers)
    return {
        "attention": [args.attention_backend, *args.get_attention_backends()],
        "arguments": TRACE.describe({k: v for k, v in vars(args).items() if not k.startswith("_")}),
        **results,
    }


if __name__ == "__main__":
    main()
