"""Runs sglang.Engine of one tree on a seeded model: tokens and log-probabilities of many prompts.

In a process of its own: `python -m verification.real.engine QUESTION ANSWER`.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from pathlib import Path
from typing import Any

from verification.real import models

_SAMPLING = {"temperature": 0, "max_new_tokens": 16, "ignore_eos": True}
_SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 5}, "sunny": {"type": "boolean"}},
    "required": ["city", "sunny"],
}


def main() -> None:
    asked = json.loads(Path(sys.argv[1]).read_text())
    start = time.perf_counter()
    import sglang

    imported = time.perf_counter()
    engine = sglang.Engine(**{**_DEFAULTS, "model_path": asked["model"], **asked["arguments"]})
    ready = time.perf_counter()
    prompts = models.prompts(asked["prompts"])
    alone = [_one(engine, prompt) for prompt in prompts]
    apart = time.perf_counter()
    together = [_said(each) for each in engine.generate(input_ids=prompts, sampling_params=_SAMPLING, **_LOG)]
    done = time.perf_counter()
    schema = {**_SAMPLING, "ignore_eos": False, "max_new_tokens": 64, "json_schema": json.dumps(_SCHEMA)}
    structured = [
        engine.generate(prompt="Say where it is sunny: ", sampling_params=schema)["text"]
        if asked["structured"]
        else ""
    ]
    info = engine.get_server_info()
    states = info.get("internal_states") or [{}]
    answer = {
        "alone": alone,
        "together": together,
        "structured": structured,
        "digest": hashlib.sha256(json.dumps([alone, structured]).encode()).hexdigest(),
        "arguments": {key: info.get(key) for key in _TOLD},
        "acceptance": states[0].get("avg_spec_accept_length"),
        "seconds": {
            "import": round(imported - start, 2), "start": round(ready - imported, 2),
            "alone": round(apart - ready, 2), "together": round(done - apart, 2),
        },
    }  # fmt: skip
    Path(sys.argv[2]).write_text(json.dumps(answer))
    engine.shutdown()


_DEFAULTS: dict[str, Any] = {
    "dtype": "bfloat16", "random_seed": 42, "mem_fraction_static": 0.7, "max_total_tokens": 65536,
    "max_running_requests": 64, "cuda_graph_bs": [1, 2, 4, 8, 16, 32, 64], "chunked_prefill_size": 128,
    "disable_piecewise_cuda_graph": True, "log_level": "warning", "grammar_backend": "xgrammar",
}  # fmt: skip
_LOG: dict[str, Any] = {"return_logprob": True, "top_logprobs_num": 3}
_TOLD = (
    "attention_backend", "prefill_attention_backend", "decode_attention_backend", "sampling_backend",
    "disable_cuda_graph", "quantization", "tp_size", "dp_size", "speculative_algorithm",
    "chunked_prefill_size", "disable_radix_cache", "nsa_prefill_backend", "nsa_decode_backend",
)  # fmt: skip


def _one(engine: Any, prompt: list[int]) -> dict[str, Any]:
    return _said(engine.generate(input_ids=prompt, sampling_params=_SAMPLING, **_LOG))


def _said(output: dict[str, Any]) -> dict[str, Any]:
    """Token ids, and log-probabilities exactly: as the hexadecimal text of the number."""
    meta = output["meta_info"]
    own = [float(each[0]).hex() for each in meta["output_token_logprobs"]]
    top = [[[float(one[0]).hex(), one[1]] for one in each or ()] for each in meta["output_top_logprobs"]]
    return {"ids": output["output_ids"], "logprobs": own, "top": top}


if __name__ == "__main__":
    main()
