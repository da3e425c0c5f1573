"""config.json of DeepSeek models, at their real width or small, with few layers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from verification.models.formats import FORMATS

MODEL_TYPES = {
    "DeepseekForCausalLM": "deepseek",
    "DeepseekV2ForCausalLM": "deepseek_v2",
    "DeepseekV3ForCausalLM": "deepseek_v3",
    "DeepseekV32ForCausalLM": "deepseek_v32",
}
_FULL: dict[str, Any] = {
    "hidden_size": 7168, "intermediate_size": 18432, "moe_intermediate_size": 2048, "n_routed_experts": 256,
    "num_experts_per_tok": 8, "n_group": 8, "topk_group": 4, "num_attention_heads": 128,
    "num_key_value_heads": 128, "q_lora_rank": 1536, "vocab_size": 129280, "max_position_embeddings": 163840,
}  # fmt: skip
_TINY: dict[str, Any] = {
    "hidden_size": 256, "intermediate_size": 512, "moe_intermediate_size": 128, "n_routed_experts": 8,
    "num_experts_per_tok": 2, "n_group": 4, "topk_group": 2, "num_attention_heads": 16,
    "num_key_value_heads": 16, "q_lora_rank": 128, "vocab_size": 512, "max_position_embeddings": 4096,
}  # fmt: skip
_COMMON: dict[str, Any] = {
    "moe_layer_freq": 1, "n_shared_experts": 1, "topk_method": "noaux_tc", "scoring_func": "sigmoid",
    "norm_topk_prob": True, "routed_scaling_factor": 2.5, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64, "v_head_dim": 128, "hidden_act": "silu", "rms_norm_eps": 1e-6,
    "rope_theta": 10000, "tie_word_embeddings": False, "attention_bias": False, "ep_size": 1,
    "num_nextn_predict_layers": 1, "bos_token_id": 0, "eos_token_id": 1, "torch_dtype": "bfloat16",
    "rope_scaling": {
        "type": "yarn", "factor": 40, "beta_fast": 32, "beta_slow": 1, "mscale": 1.0, "mscale_all_dim": 1.0,
        "original_max_position_embeddings": 4096,
    },
}  # fmt: skip
_V2: dict[str, Any] = {
    "topk_method": "group_limited_greedy", "scoring_func": "softmax", "n_shared_experts": 2,
    "norm_topk_prob": False,
}  # fmt: skip
_V32: dict[str, Any] = {"index_head_dim": 128, "index_n_heads": 64, "index_topk": 2048}
#: The first DeepSeek MoE has plain attention and no groups of experts.
_NOT_IN_V1 = (
    "q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "n_group",
    "topk_group", "num_nextn_predict_layers", "rope_scaling",
)  # fmt: skip


def configuration(
    architecture: str, layers: int = 2, dense: int = 1, full: bool = False, quantization: str = ""
) -> dict[str, Any]:
    """The configuration of a model: `dense` layers first, then MoE, `layers` in all."""
    config = {
        "architectures": [architecture],
        "model_type": MODEL_TYPES[architecture],
        **_COMMON,
        **(_FULL if full else _TINY),
        "num_hidden_layers": layers,
        "first_k_dense_replace": dense,
    }
    if architecture in ("DeepseekV2ForCausalLM", "DeepseekForCausalLM"):
        config.update(_V2)
        del config["num_nextn_predict_layers"]
    if architecture == "DeepseekForCausalLM":
        config = {key: value for key, value in config.items() if key not in _NOT_IN_V1}
    if architecture == "DeepseekV32ForCausalLM":
        config.update(_V32)
    if quantization == "nvfp4" and not full:
        config["moe_intermediate_size"] = 256  # blocks of scales are 128 wide
    if quantization:
        config["quantization_config"] = FORMATS[quantization]
    return config


_REMOTE = """from transformers import PretrainedConfig


class DeepseekConfig(PretrainedConfig):
    model_type = "deepseek"
    pad_token_id = None
"""


def write(config: dict[str, Any], folder: Path) -> None:
    """Write config.json, as a checkpoint's folder has it; the first DeepSeek MoE brings its own class."""
    folder.mkdir(parents=True, exist_ok=True)
    if config["model_type"] == "deepseek":
        config = {**config, "auto_map": {"AutoConfig": "configuration_deepseek.DeepseekConfig"}}
        (folder / "configuration_deepseek.py").write_text(_REMOTE)
    (folder / "config.json").write_text(json.dumps(config, indent=1, sort_keys=True))


def write_channels(config: dict[str, Any], file: Path) -> None:
    """Write the channels by weight that double sparsity reads: in each head the first are heaviest."""
    heads = config["num_attention_heads"]
    order = [list(range(config["hidden_size"] // heads))] * heads
    layers = range(config["num_hidden_layers"])
    file.write_text(json.dumps({f"model.layers.{layer}.self_attn.qk_proj": order for layer in layers}))
