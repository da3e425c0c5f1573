"""Seeded models with a tokenizer for real kernels: wide enough for two GPUs and for blocks of FP8."""

from __future__ import annotations

from pathlib import Path
from typing import Any

#: What differs from the small models of models/configuration.py.
_WIDER: dict[str, Any] = {
    "hidden_size": 512, "intermediate_size": 1024, "moe_intermediate_size": 256, "q_lora_rank": 256,
    "vocab_size": 1024, "n_group": 2, "topk_group": 1,
}  # fmt: skip
#: The groups of the real model's experts.
_GROUPS = {"n_group": 8, "topk_group": 4}
LAYERS, DENSE = 3, 1
ADAPTER = "adapter"  # a folder of the first DeepSeek MoE, and the name that requests give it


def write(architecture: str, quantization: str, folder: Path, experts: int = 0) -> Path:
    """Write a checkpoint with so many `experts` in a layer, or few where it is 0, once. Its folder."""
    from verification.subjects import once  # engines, which read prompts here, do without it

    return once(folder, lambda to: _write(architecture, quantization, to, experts))


def _write(architecture: str, quantization: str, folder: Path, experts: int) -> None:
    from verification.models import adapter, configuration, tokenizer, weights

    adapted = architecture == "DeepseekForCausalLM"  # with dense layers alone, as adapters have it
    dense = LAYERS if adapted else DENSE
    config = configuration.configuration(architecture, LAYERS, dense, False, quantization)
    config.update((key, value) for key, value in _WIDER.items() if key in config)
    if experts:
        config.update({"n_routed_experts": experts, **_GROUPS})
    configuration.write(config, folder)
    weights.write(config, folder)
    tokenizer.write(folder)
    if adapted:
        adapter.write(config, folder / ADAPTER)


def prompts(count: int, long: int = 0) -> list[list[int]]:
    """Token ids of mixed lengths, 1 to 400; every fourth begins like another, for the radix cache.

    `long` more have 2,200 to 3,000 tokens.
    """
    import random

    draws = random.Random(1)
    found: list[list[int]] = []
    for index in range(count):
        length = draws.choice((1, 3, 8, 17, 40, 64, 100, 200, 400))
        tokens = [draws.randrange(15, 271) for _ in range(length)]
        if index % 4 == 3:
            tokens = found[index - 3][: max(1, length // 2)] + tokens
        found.append(tokens[:400])
    return found + [
        [draws.randrange(15, 271) for _ in range(draws.randrange(2200, 3001))] for _ in range(long)
    ]
