"""Runs sglang.Engine of one tree on a seeded model: tokens and log-probabilities of many prompts.

In a process of its own: `python -m verification.real.engine QUESTION ANSWER`.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from verification import names
from verification.real import models

_ROUNDS = 2  # in one process; what differs between them is not repeatable
_ASKED = "Say where it is sunny: "
_SAMPLING = {"temperature": 0, "max_new_tokens": 16, "ignore_eos": True}
#: As many tokens at least as at most.
_EXACT = {**_SAMPLING, "ignore_eos": False, "min_new_tokens": 16}
_SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 5}, "sunny": {"type": "boolean"}},
    "required": ["city", "sunny"],
}
#: What the requests of a batch ask for, in turn: they end at different times, each with state of its own.
_MIXED: tuple[dict[str, Any], ...] = (
    {}, {"frequency_penalty": 0.7}, {"presence_penalty": 0.7}, {"repetition_penalty": 1.3},
    {"logit_bias": {"20": 4.0, "21": -4.0}}, {"ignore_eos": False, "min_new_tokens": 6},
    {"ignore_eos": False, "stop_token_ids": [30, 31, 32, 33]},
    # the text shows the mark that ends a sentence, or not
    {"logit_bias": {"1": 100.0}}, {"logit_bias": {"1": 100.0}, "skip_special_tokens": False},
)  # fmt: skip


def main() -> None:
    asked = json.loads(Path(sys.argv[1]).read_text())
    start = time.perf_counter()
    import sglang

    imported = time.perf_counter()
    engine = sglang.Engine(
        **names.named({**_DEFAULTS, "model_path": asked["model"], **asked["arguments"]}, fields())
    )
    ready = time.perf_counter()
    prompts = models.prompts(asked["prompts"], asked["long"])
    adapters = [models.ADAPTER if asked["adapter"] and index % 2 else None for index in range(len(prompts))]
    rounds: list[dict[str, Any]] = []
    cached: list[int] = []
    for _ in range(_ROUNDS):
        flush(engine)
        replies = [
            _generate(engine, input_ids=prompt, **_adapter(adapters[index % len(prompts)]))
            for index, prompt in enumerate(prompts * (1 + asked["again"]))
        ]
        alone = [_said(each) | _verified(each) for each in replies]
        cached.append(sum(each["meta_info"].get("cached_tokens", 0) for each in replies))
        flush(engine)
        structured = [
            _said(_generate(engine, sampling, prompt=_ASKED))
            for sampling in ((_structured(), _EXACT) if asked["structured"] else ())
        ]
        flush(engine)
        together = [_said(each) for each in _generate(engine, input_ids=prompts, **_adapter(adapters))]
        flush(engine)
        mixed = (
            [_said(each) for each in _generate(engine, _mixed(len(prompts)), input_ids=prompts)]
            if asked["structured"]
            else []
        )
        rounds.append({"alone": alone, "structured": structured, "together": together, "mixed": mixed})
    done = time.perf_counter()
    info = engine.get_server_info()
    states = info.get("internal_states") or [{}]
    first = [rounds[0]["alone"], rounds[0]["structured"]]
    answer = {
        "rounds": rounds,
        "digest": hashlib.sha256(json.dumps(first).encode()).hexdigest(),
        "arguments": arguments(info),
        "cached": cached,
        "acceptance": states[0].get("avg_spec_accept_length"),
        "seconds": {
            "import": round(imported - start, 2), "start": round(ready - imported, 2),
            "rounds": round(done - ready, 2),
        },
    }  # fmt: skip
    Path(sys.argv[2]).write_text(json.dumps(answer))
    engine.shutdown()


_DEFAULTS: dict[str, Any] = {
    "dtype": "bfloat16", "random_seed": 42, "mem_fraction_static": 0.7, "max_total_tokens": 65536,
    "max_running_requests": 64, "cuda_graph_bs": [1, 2, 4, 8, 16, 32, 64], "chunked_prefill_size": 128,
    "disable_piecewise_cuda_graph": True, "log_level": "warning", "grammar_backend": "xgrammar",
}  # fmt: skip
#: What every engine has for itself, and where this machine has the model.
_OWN = frozenset(
    ("port", "nccl_port", "model_path", "tokenizer_path", "served_model_name", "speculative_draft_model_path")
)


def fields() -> frozenset[str]:
    """The fields of this tree's ServerArgs."""
    from sglang.srt.server_args import ServerArgs

    return frozenset(inspect.signature(ServerArgs).parameters)


def arguments(info: Mapping[str, Any]) -> dict[str, Any]:
    """What the engine made of its arguments: the fields of ServerArgs that hold one plain value."""
    return {
        name: info[name]
        for name in sorted(fields() - _OWN)
        if name in info and isinstance(info[name], (str, int, float, type(None)))
    }


def _adapter(named: str | Sequence[str | None] | None) -> dict[str, Any]:
    """The argument that names an adapter of LoRA for each prompt; none where no prompt has one."""
    return {"lora_path": named} if named and any(named) else {}


def _generate(
    engine: Any, sampling: Mapping[str, Any] | list[dict[str, Any]] = _SAMPLING, **asked: Any
) -> Any:
    given = sampling if isinstance(sampling, list) else dict(sampling)
    return engine.generate(sampling_params=given, return_logprob=True, top_logprobs_num=3, **asked)


def _structured() -> dict[str, Any]:
    return {**_SAMPLING, "ignore_eos": False, "max_new_tokens": 64, "json_schema": json.dumps(_SCHEMA)}


def _mixed(count: int) -> list[dict[str, Any]]:
    """The parameters of so many requests; one of them gives JSON."""
    found = [
        {**_SAMPLING, "max_new_tokens": 6 + index % 13, **_MIXED[index % len(_MIXED)]}
        for index in range(count)
    ]
    return [*found[:-1], _structured()]


def flush(engine: Any) -> None:
    """Empty the radix cache, so that each round meets the same one. Raises RuntimeError when it does not."""
    for _ in range(100):
        if engine.flush_cache().success:
            return
        time.sleep(0.05)  # the last request is still being put away
    raise RuntimeError("the cache could not be flushed")


def _said(output: dict[str, Any]) -> dict[str, Any]:
    """Token ids, and log-probabilities exactly: as the hexadecimal text of the number."""
    meta = output["meta_info"]
    own = [float(each[0]).hex() for each in meta["output_token_logprobs"]]
    top = [[[float(one[0]).hex(), one[1]] for one in each or ()] for each in meta["output_top_logprobs"]]
    return {"text": output["text"], "ids": output["output_ids"], "logprobs": own, "top": top}


def _verified(output: dict[str, Any]) -> dict[str, Any]:
    """How often the target model had to look at drafts: tokens do not tell what a draft proposes."""
    count = output["meta_info"].get("spec_verify_ct")
    return {} if count is None else {"passes": count}


if __name__ == "__main__":
    main()
