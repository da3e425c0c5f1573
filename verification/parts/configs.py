"""Configurations of DeepSeek models, at their full size, as upstream's ModelConfig understands them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from verification.models import configuration
from verification.parts.registry import Found, part

_PLAIN = (str, int, float, bool, type(None), list)


def _plain(value: Any) -> Any:
    if isinstance(value, _PLAIN):
        return value if not isinstance(value, list) else [_plain(each) for each in value]
    return str(value) if type(value).__module__ == "torch" or hasattr(value, "name") else type(value).__name__


def _parsed(architecture: str, layers: int, dense: int, quantization: str = "", draft: bool = False) -> Found:
    from sglang.srt.configs.model_config import ModelConfig

    folder = Path(f"config-{architecture}{quantization}{'-draft' if draft else ''}")
    config = configuration.configuration(architecture, layers, dense, True, quantization)
    configuration.write(config, folder)
    found = ModelConfig(str(folder), trust_remote_code=True, is_draft_model=draft)
    text = found.hf_text_config
    kinds = [
        "moe" if index >= text.first_k_dense_replace and index % text.moe_layer_freq == 0 else "dense"
        for index in range(config["num_hidden_layers"])
    ]
    known = {key: _plain(value) for key, value in sorted(vars(found).items()) if not key.startswith("hf_")}
    facts = {
        "dense": kinds.count("dense"),
        "moe": kinds.count("moe"),
        "experts": text.n_routed_experts,
        "architecture": found.hf_config.architectures[0],
        "layers": found.num_hidden_layers,
    }
    return Found(facts, {"fields": known, "attention": str(found.attention_arch)})


@part("config-v3")
def config_v3() -> Found:
    """V3 and R1."""
    return _parsed("DeepseekV3ForCausalLM", 61, 3, "fp8")


@part("config-v3-nvfp4")
def config_v3_nvfp4() -> Found:
    return _parsed("DeepseekV3ForCausalLM", 61, 3, "nvfp4")


@part("config-v3-draft")
def config_v3_draft() -> Found:
    """As a draft model, V3 is its layer for the next token."""
    return _parsed("DeepseekV3ForCausalLM", 61, 3, draft=True)


@part("config-v32")
def config_v32() -> Found:
    return _parsed("DeepseekV32ForCausalLM", 61, 3, "fp8")


@part("config-v2")
def config_v2() -> Found:
    return _parsed("DeepseekV2ForCausalLM", 60, 1)


@part("config-moe-16b")
def config_moe_16b() -> Found:
    return _parsed("DeepseekForCausalLM", 28, 1)


@part("context")
def context() -> Found:
    """How much a model reads at once, by what its configuration says."""
    from types import SimpleNamespace

    from sglang.srt.utils.hf_transformers_utils import get_context_length

    scalings: tuple[dict[str, Any] | None, ...] = (
        None, {}, {"factor": 4}, {"factor": 4, "original_max_position_embeddings": 32},
        {"rope_type": "llama3"}, {"factor": 2.5, "rope_type": "yarn"}, {"factor": 2, "rope_type": "llama3"},
    )  # fmt: skip
    keys = ("max_sequence_length", "seq_length", "max_seq_len", "model_max_length", "max_position_embeddings")
    found = {
        f"{key}, {scaling}": get_context_length(SimpleNamespace(**{key: 64}, rope_scaling=scaling))
        for key in keys
        for scaling in scalings
    }
    both = SimpleNamespace(max_position_embeddings=8, max_sequence_length=16, rope_scaling=None)
    none = get_context_length(SimpleNamespace())
    return Found(
        {"it grows": len(set(found.values())) > 2}, {**found, "both": get_context_length(both), "none": none}
    )
