"""Times sglang.Engine of one tree: a decoding step and a prefill, in milliseconds, at given sizes.

In a process of its own: `python -m verification.real.speed QUESTION ANSWER`.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from verification import names
from verification.real import engine

_DEFAULTS: dict[str, Any] = {
    "dtype": "bfloat16", "random_seed": 42, "mem_fraction_static": 0.8, "max_total_tokens": 540672,
    "max_running_requests": 256, "cuda_graph_bs": [1, 8, 64, 256], "disable_piecewise_cuda_graph": True,
    "log_level": "warning", "grammar_backend": "none", "load_format": "dummy", "skip_tokenizer_init": True,
}  # fmt: skip
_FEW, _STEPS = 8, 192  # tokens of the short answer, and how many more the long one has
_TOKENS = 1000  # prompts are of the first tokens of the vocabulary


def main() -> None:
    asked = json.loads(Path(sys.argv[1]).read_text())
    import sglang

    given = {**_DEFAULTS, "model_path": asked["model"], **asked["arguments"]}
    running = sglang.Engine(**names.named(given, engine.fields()))
    times = asked["times"]
    answer: dict[str, Any] = {"decode": [], "prefill": []}
    for count, length in asked["decode"]:
        answer["decode"].append([count, length, _decode(running, count, length, times)])
    for count, length in asked["prefill"]:
        answer["prefill"].append([count, length, _prefill(running, count, length, times)])
    answer["arguments"] = engine.arguments(running.get_server_info())
    Path(sys.argv[2]).write_text(json.dumps(answer))
    running.shutdown()


def _decode(running: Any, count: int, length: int, times: int) -> list[float]:
    """Milliseconds of a step that gives each of `count` sequences one token, `times` times.

    A long answer less a short one; the prompts are in the radix cache by then.
    """
    engine.flush(running)
    prompts = _prompts(count, length, 0)
    found = []
    for number in range(times + 1):
        short, long = _seconds(running, prompts, _FEW), _seconds(running, prompts, _FEW + _STEPS)
        if number:  # the first fills the cache
            found.append(round((long - short) / _STEPS * 1000, 3))
    return found


def _prefill(running: Any, count: int, length: int, times: int) -> list[float]:
    """Milliseconds until `count` prompts of `length` tokens have their first token, `times` times."""
    found = []
    for number in range(times + 1):
        engine.flush(running)
        seconds = _seconds(running, _prompts(count, length, number), 1)
        if number:  # the first compiles kernels
            found.append(round(seconds * 1000, 1))
    return found


def _prompts(count: int, length: int, seed: int) -> list[list[int]]:
    draws = random.Random(f"{count} {length} {seed}")
    return [draws.choices(range(2, _TOKENS), k=length) for _ in range(count)]


def _seconds(running: Any, prompts: Sequence[Sequence[int]], tokens: int) -> float:
    start = time.perf_counter()
    running.generate(
        input_ids=[list(prompt) for prompt in prompts],
        sampling_params={"temperature": 0, "max_new_tokens": tokens, "ignore_eos": True},
    )
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
