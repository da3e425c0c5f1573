"""What config.json says of a checkpoint's weights, by format."""

from __future__ import annotations

from typing import Any

#: Weights of attention that are multiplied into others at the start are kept as they are in such checkpoints.
_NOT_ATTENTION = ["lm_head", "re:.*self_attn.*proj.*"]


def _compressed(form: str, weights: dict[str, Any], inputs: dict[str, Any] | None = None) -> dict[str, Any]:
    """A checkpoint of compressed-tensors, whose linear layers are all alike."""
    group = {
        "targets": ["Linear"],
        "weights": weights,
        "input_activations": inputs,
        "output_activations": None,
    }
    return {
        "quant_method": "compressed-tensors", "format": form, "config_groups": {"group_0": group},
        "ignore": _NOT_ATTENTION, "kv_cache_scheme": None, "quantization_status": "compressed",
    }  # fmt: skip


def _numbers(bits: int, kind: str, strategy: str, dynamic: bool = False, **more: Any) -> dict[str, Any]:
    return {
        "num_bits": bits,
        "type": kind,
        "strategy": strategy,
        "dynamic": dynamic,
        "symmetric": True,
        **more,
    }


_FOUR_BITS = _numbers(4, "float", "tensor_group", group_size=16)
_FOUR_BITS_AS_THEY_COME = {**_FOUR_BITS, "dynamic": "local"}
_EIGHT_BITS_OF_A_TOKEN = {kind: _numbers(8, kind, "token", dynamic=True) for kind in ("int", "float")}
_MODELOPT = {
    "quant_method": "modelopt", "producer": {"name": "modelopt", "version": "0.29.0"},
    "kv_cache_scheme": None, "ignore": ["lm_head", "model.layers.*.self_attn*"],
}  # fmt: skip
_GPTQ = {
    "quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": False, "sym": True, "lm_head": False,
    "dynamic": {"-:.*proj.*": {}},
}  # fmt: skip

FORMATS: dict[str, dict[str, Any]] = {
    "fp8": {
        "activation_scheme": "dynamic", "fmt": "e4m3", "quant_method": "fp8", "weight_block_size": [128, 128]
    },
    "nvfp4": {
        **_MODELOPT, "quant_algo": "NVFP4",
        "config_groups": {
            "group_0": {
                name: {"dynamic": False, "num_bits": 4, "type": "float", "group_size": 16}
                for name in ("input_activations", "weights")
            } | {"targets": ["Linear"]}
        },
    },
    "fp8-tensors": {"quant_method": "fp8", "activation_scheme": "static", "ignored_layers": ["self_attn"]},
    "modelopt-fp8": {**_MODELOPT, "quant_algo": "FP8", "ignore": ["lm_head", "self_attn"]},
    "w4afp8": {"quant_method": "w4afp8"},
    "int8-blocks": {
        "quant_method": "blockwise_int8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]
    },
    "int8-channels": {"quant_method": "w8a8_int8", "ignore": _NOT_ATTENTION},
    "fp8-channels": {"quant_method": "w8a8_fp8"},
    "gptq": _GPTQ,
    "gptq-in-order": {**_GPTQ, "desc_act": True, "dynamic": {}},
    "fbgemm-fp8": {
        "quant_method": "fbgemm_fp8", "activation_scale_ub": 1200.0, "modules_to_not_convert": ["lm_head"]
    },
    "qoq": {"quant_method": "qoq", "wbits": 4, "group_size": 128},
    "auto-round": {
        "quant_method": "auto-round", "bits": 4, "group_size": 128, "sym": True, "data_type": "int",
        "packing_format": "auto_round:auto_gptq",
    },
    "compressed-fp8": _compressed(
        "float-quantized", _numbers(8, "float", "channel"), _EIGHT_BITS_OF_A_TOKEN["float"]
    ),
    "compressed-fp8-tensors": _compressed(
        "float-quantized", _numbers(8, "float", "tensor"), _numbers(8, "float", "tensor")
    ),
    "compressed-fp8-weights": _compressed("float-quantized", _numbers(8, "float", "tensor")),
    "compressed-int8": _compressed(
        "int-quantized", _numbers(8, "int", "channel"), _EIGHT_BITS_OF_A_TOKEN["int"]
    ),
    "compressed-int8-tensors": _compressed(
        "int-quantized", _numbers(8, "int", "tensor"), _numbers(8, "int", "tensor")
    ),
    "compressed-int4": _compressed("pack-quantized", _numbers(4, "int", "group", group_size=128)),
    "compressed-nvfp4": _compressed("nvfp4-pack-quantized", _FOUR_BITS, _FOUR_BITS_AS_THEY_COME),
}  # fmt: skip
