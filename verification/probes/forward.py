"""Prefill and decode of a DeepSeek model, with every operation recorded.

The mode is one of the worlds of machine/world.py.
driver `runner`: ModelRunner with batches made here; driver `scheduler`: the real Scheduler with requests.
"""

from __future__ import annotations

import os
import resource
import time
from collections import Counter
from pathlib import Path
from typing import Any

from verification.machine import world
from verification.probes.request import received

_SEED = 1


def main() -> None:
    request = received()
    asked = request.question
    start = time.perf_counter()
    entered = world.enter(request)
    imported = time.perf_counter()

    from verification.machine.trace import TRACE

    said = report(asked, request.out.parent, entered)
    fake = entered.fake
    said.update(
        digest=TRACE.digest(),
        kinds=dict(Counter(event[0] for event in TRACE.events)),
        unmodelled=dict(Counter(entered.unmodelled)),
        unknown=[[*map(str, key), count] for key, count in Counter(fake.unknown).items()] if fake else [],
        world=entered.describe(),
        seconds={"import": round(imported - start, 1), "all": round(time.perf_counter() - start, 1)},
        megabytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    )
    request.answer(said)


def report(asked: dict[str, Any], folder: Path, entered: world.World) -> dict[str, Any]:
    """One run in a world that was entered: what came of it, and every event."""
    from verification.machine.trace import TRACE

    model = _model(asked, folder)
    TRACE.active, TRACE.values = True, entered.numbers
    with entered.inside():
        said = _drive(asked, model, entered.numbers)
    return {**said, "events": TRACE.events, "sites": TRACE.sites}


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
    if channels := asked["arguments"].get("ds_channel_config_path"):
        configuration.write_channels(config, Path(channels))
    return path


def _drive(asked: dict[str, Any], model: Path, numbers: bool) -> dict[str, Any]:
    import torch
    from sglang.srt.server_args import PortArgs

    from verification.machine.trace import TRACE
    from verification.probes import batches, schedule, server_args

    defaults = {
        "model_path": str(model), "load_format": "auto" if asked["checkpoint"] else "dummy", "device": "cuda",
        "dtype": "bfloat16", "trust_remote_code": True, "disable_cuda_graph": True,
        "skip_tokenizer_init": True,
        "mem_fraction_static": 0.8, "max_total_tokens": 2048, "max_running_requests": 8,
        "random_seed": _SEED, "disable_custom_all_reduce": True, "cuda_graph_max_bs": 8,
        "chunked_prefill_size": 2048, "disable_flashinfer_autotune": True,
    }  # fmt: skip
    args = server_args.make({**defaults, **asked["arguments"]})
    ports = PortArgs.init_new(args)
    torch.manual_seed(_SEED)
    if asked["driver"] == "scheduler":
        results = schedule.run(args, ports, asked["lengths"], asked["steps"], numbers, asked["logprobs"])
    else:
        results = batches.run(args, ports, asked["lengths"], asked["steps"], numbers)
    made = server_args.resolved(args)
    return {
        "attention": [made["attention_backend"], *server_args.attention(args)],
        "arguments": TRACE.describe(made),
        **results,
    }


if __name__ == "__main__":
    main()
