"""Checkpoints with seeded weights: each tensor is a function of its name, shape and spread."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

BLOCK = 128
_LARGEST_FP8 = 448.0


class _Checkpoint:
    def __init__(self, config: dict[str, Any]) -> None:
        self.config = config
        self.tensors: dict[str, Tensor] = {}
        self._fp8 = config.get("quantization_config", {}).get("quant_method") == "fp8"

    def random(
        self, name: str, *shape: int, spread: float | None = None, dtype: Any = torch.bfloat16
    ) -> None:
        self.tensors[name] = seeded(name, shape, spread).to(dtype)

    def linear(self, name: str, *shape: int) -> None:
        """A matrix that a checkpoint in FP8 has in blocks with one scale each."""
        if not self._fp8:
            self.random(name, *shape)
            return
        numbers, scales = _in_blocks(seeded(name, shape, None))
        self.tensors[name], self.tensors[f"{name}_scale_inv"] = numbers, scales

    def norm(self, name: str, width: int, dtype: Any = torch.bfloat16) -> None:
        self.tensors[name] = (seeded(name, (width,), 0.1) + 1).to(dtype)


def seeded(name: str, shape: tuple[int, ...], spread: float | None) -> Tensor:
    seed = int(hashlib.sha256(name.encode()).hexdigest()[:8], 16)
    numbers = torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
    return numbers * (spread if spread is not None else shape[-1] ** -0.5)


def _in_blocks(weight: Tensor) -> tuple[Tensor, Tensor]:
    rows, columns = weight.shape
    down, across = -(-rows // BLOCK), -(-columns // BLOCK)
    padded = torch.zeros(down * BLOCK, across * BLOCK)
    padded[:rows, :columns] = weight
    blocks = padded.view(down, BLOCK, across, BLOCK)
    scales = blocks.abs().amax((1, 3)) / _LARGEST_FP8
    scaled = (blocks / scales[:, None, :, None]).reshape(down * BLOCK, across * BLOCK)
    return scaled[:rows, :columns].to(torch.float8_e4m3fn).contiguous(), scales.contiguous()


def write(config: dict[str, Any], folder: Path) -> int:
    """Write a checkpoint for a configuration into its folder; the number of tensors."""
    made = _Checkpoint(config)
    hidden, vocabulary, layers = config["hidden_size"], config["vocab_size"], config["num_hidden_layers"]
    made.random("model.embed_tokens.weight", vocabulary, hidden, spread=1.0)
    made.norm("model.norm.weight", hidden)
    made.random("lm_head.weight", vocabulary, hidden)
    for index in range(layers + config.get("num_nextn_predict_layers", 0)):
        prefix = f"model.layers.{index}"
        made.norm(f"{prefix}.input_layernorm.weight", hidden)
        made.norm(f"{prefix}.post_attention_layernorm.weight", hidden)
        if "kv_lora_rank" in config:
            _latent_attention(made, f"{prefix}.self_attn")
        else:
            _plain_attention(made, f"{prefix}.self_attn")
        if index < config["first_k_dense_replace"]:
            _mlp(made, f"{prefix}.mlp", config["intermediate_size"])
        else:
            _experts(made, f"{prefix}.mlp")
        if index >= layers:
            _next_token(made, prefix)
    save_file(made.tensors, str(folder / "model.safetensors"), metadata={"format": "pt"})
    index_file = {"weight_map": dict.fromkeys(made.tensors, "model.safetensors"), "metadata": {}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index_file))
    return len(made.tensors)


def _mlp(made: _Checkpoint, prefix: str, width: int) -> None:
    hidden = made.config["hidden_size"]
    made.linear(f"{prefix}.gate_proj.weight", width, hidden)
    made.linear(f"{prefix}.up_proj.weight", width, hidden)
    made.linear(f"{prefix}.down_proj.weight", hidden, width)


def _experts(made: _Checkpoint, prefix: str) -> None:
    config = made.config
    experts, width = config["n_routed_experts"], config["moe_intermediate_size"]
    made.random(f"{prefix}.gate.weight", experts, config["hidden_size"])
    if config["topk_method"] == "noaux_tc":
        made.random(f"{prefix}.gate.e_score_correction_bias", experts, spread=0.1, dtype=torch.float32)
    for expert in range(experts):
        _mlp(made, f"{prefix}.experts.{expert}", width)
    _mlp(made, f"{prefix}.shared_experts", width * config["n_shared_experts"])


def _plain_attention(made: _Checkpoint, prefix: str) -> None:
    hidden = made.config["hidden_size"]
    for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
        made.linear(f"{prefix}.{name}.weight", hidden, hidden)


def _latent_attention(made: _Checkpoint, prefix: str) -> None:
    config = made.config
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    q_rank, rank, rope = config["q_lora_rank"], config["kv_lora_rank"], config["qk_rope_head_dim"]
    nope, value = config["qk_nope_head_dim"], config["v_head_dim"]
    made.linear(f"{prefix}.q_a_proj.weight", q_rank, hidden)
    made.norm(f"{prefix}.q_a_layernorm.weight", q_rank)
    made.linear(f"{prefix}.q_b_proj.weight", heads * (nope + rope), q_rank)
    made.linear(f"{prefix}.kv_a_proj_with_mqa.weight", rank + rope, hidden)
    made.norm(f"{prefix}.kv_a_layernorm.weight", rank)
    made.linear(f"{prefix}.kv_b_proj.weight", heads * (nope + value), rank)
    made.linear(f"{prefix}.o_proj.weight", hidden, heads * value)
    if "index_topk" in config:
        width, count = config["index_head_dim"], config["index_n_heads"]
        made.linear(f"{prefix}.indexer.wq_b.weight", count * width, q_rank)
        made.linear(f"{prefix}.indexer.wk.weight", width, hidden)
        made.random(f"{prefix}.indexer.weights_proj.weight", count, hidden)
        made.norm(f"{prefix}.indexer.k_norm.weight", width, torch.float32)
        made.random(f"{prefix}.indexer.k_norm.bias", width, spread=0.1, dtype=torch.float32)


def _next_token(made: _Checkpoint, prefix: str) -> None:
    """What a layer for multi-token prediction has besides; embedding and head are the model's own."""
    hidden = made.config["hidden_size"]
    made.norm(f"{prefix}.enorm.weight", hidden)
    made.norm(f"{prefix}.hnorm.weight", hidden)
    made.random(f"{prefix}.eh_proj.weight", hidden, 2 * hidden)
    made.norm(f"{prefix}.shared_head.norm.weight", hidden)
    made.tensors[f"{prefix}.embed_tokens.weight"] = made.tensors["model.embed_tokens.weight"].clone()
    made.tensors[f"{prefix}.shared_head.head.weight"] = made.tensors["lm_head.weight"].clone()
