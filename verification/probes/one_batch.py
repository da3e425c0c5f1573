"""Prefill and decode through upstream's own benchmark of one batch, which follows ModelRunner's interface.

Releases from 0.5.17 have it as a module whose runner takes requests: what it does between requests and
logits is the tree's own, and need not be repeated here for each release.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from verification.probes import server_args

_PLACES = ("sglang.benchmark.one_batch", "sglang.bench_one_batch")
#: What the benchmark calls before it starts, where it has no function for that.
_INITIALIZES = ("initialize_moe_config", "initialize_fp8_gemm_config", "initialize_fp4_gemm_config")
_RUNNER = "_TorchBenchRunner"


def benchmark() -> ModuleType | None:
    """The benchmark of the tree that is imported; None where it has no runner of its own."""
    for name in _PLACES:
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not name.startswith(error.name):
                raise
        else:
            return module if hasattr(module, _RUNNER) else None
    return None


def start(module: ModuleType, args: Any, ports: Any) -> Any:
    """The benchmark's runner, with the model loaded and no tokenizer."""
    server_args.publish(args)
    if hasattr(module, "_init_process_global_configs"):
        module._init_process_global_configs()
    else:
        for name in _INITIALIZES:
            getattr(module, name)(args)
    module.get_tokenizer = lambda *args, **kwargs: None
    return module.load_model(args, ports, 0, 0)[0]


def requests(module: ModuleType, tokens: list[list[int]], steps: int) -> list[Any]:
    """A request for each list of tokens, which ends after `steps` more."""
    made = module.prepare_synthetic_inputs_for_latency_test(len(tokens), 0, tokens)
    for each in made:
        each.rid = str(each.rid)  # numbers there; the scheduler's own are texts
        each.sampling_params.max_new_tokens = steps
    return list(made)
