"""A LoRA adapter of the plain attention and the dense layers of the first DeepSeek MoE."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from verification.models.weights import seeded

_RANK = 8
_ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
_DENSE = ("gate_proj", "up_proj", "down_proj")


def write(config: dict[str, Any], folder: Path) -> None:
    """Write an adapter as PEFT does, for a model of this configuration whose layers are all dense."""
    width, inner = config["hidden_size"], config["intermediate_size"]
    tensors = {}
    for layer in range(config["num_hidden_layers"]):
        for module in (*_ATTENTION, *_DENSE):
            taken = inner if module == "down_proj" else width
            given = inner if module in ("gate_proj", "up_proj") else width
            part = "self_attn" if module in _ATTENTION else "mlp"
            name = f"base_model.model.model.layers.{layer}.{part}.{module}.lora_"
            for half, shape in (("A", (_RANK, taken)), ("B", (given, _RANK))):
                tensors[f"{name}{half}.weight"] = seeded(f"{name}{half}", shape, None).to(torch.bfloat16)
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / "adapter_model.safetensors")
    said = {
        "peft_type": "LORA",
        "r": _RANK,
        "lora_alpha": 2 * _RANK,
        "target_modules": [*_ATTENTION, *_DENSE],
    }
    (folder / "adapter_config.json").write_text(json.dumps(said, indent=1, sort_keys=True))
