"""Quantization on its own: FP8 by tensor, by block, by channel and by token; INT8; FP4 of the KV cache."""

from __future__ import annotations

import contextlib
import importlib
from typing import Any

import torch

from verification.parts.drawn import draw, error, told
from verification.parts.registry import Found, part

_BLOCK = [128, 128]


#: Where upstream's Triton kernels of quantization are, with the later place first.
_PLACES = ("sglang.kernels.ops.quantization", "sglang.srt.layers.quantization")


def _kernels(name: str) -> Any:
    """The module of kernels `name`. Raises ModuleNotFoundError where the tree has none."""
    for package in _PLACES:
        with contextlib.suppress(ModuleNotFoundError):
            return importlib.import_module(f"{package}.{name}")
    raise ModuleNotFoundError(f"no {name} in {' nor '.join(_PLACES)}")


def _in_blocks(rows: int, columns: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    down, across = -(-rows // 128), -(-columns // 128)
    scales = torch.rand(down, across, generator=torch.Generator().manual_seed(seed)).to("cuda") + 0.5
    return draw(rows, columns, seed=seed, dtype=torch.float32).to(torch.float8_e4m3fn), scales


@part("fp8-tensor")
def fp8_tensor() -> Found:
    from sglang.srt.layers.quantization.fp8_utils import input_to_float8

    x = draw(96, 256, seed=1)
    numbers, scale = input_to_float8(x)
    return Found({"within 7%": error(numbers.float() * scale, x) < 0.07}, {"all": told(numbers, scale)})


@part("fp8-block")
def fp8_block() -> Found:
    from sglang.srt.layers.quantization import fp8_utils

    weight, scales = _in_blocks(256, 384, seed=2)
    wide = fp8_utils.block_quant_dequant(weight, scales, _BLOCK, torch.bfloat16)
    numbers, scale = fp8_utils.block_quant_to_tensor_quant(weight, scales, _BLOCK)
    back = numbers.float() * scale
    again, scales_again = fp8_utils.requant_weight_ue8m0(weight, scales, _BLOCK)
    return Found(
        {"within 7%": error(back, wide) < 0.07},
        {"wide": told(wide), "tensor": told(numbers, scale), "powers": told(again, scales_again)},
    )


@part("fp8-cast")
def fp8_cast() -> Found:
    from sglang.srt.layers.quantization import fp8_utils

    numbers, scales = fp8_utils.per_block_cast_to_fp8(draw(256, 256, seed=3))
    powers = fp8_utils.ceil_to_ue8m0(scales)
    exact = bool((torch.log2(powers) == torch.log2(powers).round()).all())
    return Found({"powers of two": exact}, {"all": told(numbers, scales, powers)})


@part("fp8-channel")
def fp8_channel() -> Found:
    from sglang.srt.layers.quantization.fp8_utils import channel_quant_to_tensor_quant

    weight, _ = _in_blocks(128, 256, seed=4)
    scales = torch.rand(128, 1, generator=torch.Generator().manual_seed(4)).to("cuda") + 0.5
    numbers, scale = channel_quant_to_tensor_quant(weight, scales)
    wide = weight.float() * scales
    return Found({"within 7%": error(numbers.float() * scale, wide) < 0.07}, {"all": told(numbers, scale)})


@part("fp8-groups")
def fp8_groups() -> Found:
    """By 128 numbers of a token, with the scales in rows and in columns."""
    fp8_kernel = _kernels("fp8_kernel")
    x = draw(8, 512, seed=5)
    made = {
        f"columns={columns}": told(
            *fp8_kernel.sglang_per_token_group_quant_fp8(x, 128, column_major_scales=columns)
        )
        for columns in (False, True)
    }
    made["triton"] = told(*fp8_kernel.per_token_group_quant_fp8(x, 128))
    return Found({"ways": len(made)}, made)


@part("fp8-product")
def fp8_product() -> Found:
    """Upstream's own Triton kernel for matrices in blocks."""
    from sglang.srt.layers.quantization import fp8_utils

    weight, scales = _in_blocks(256, 256, seed=6)
    x = draw(5, 256, seed=6)
    out = fp8_utils.triton_w8a8_block_fp8_linear(x, weight, _BLOCK, scales)
    wide = fp8_utils.block_quant_dequant(weight, scales, _BLOCK, torch.float32)
    return Found({"within 7%": error(out, x.float() @ wide.t()) < 0.07}, {"out": told(out)})


@part("fp8-static")
def fp8_static() -> Found:
    static_quant_fp8 = _kernels("fp8_kernel").static_quant_fp8
    x = draw(6, 256, seed=7)
    numbers, scale = static_quant_fp8(x, torch.full((1,), 0.02).to("cuda"), repeat_scale=True)
    return Found({"shape": list(scale.shape)}, {"all": told(numbers, scale)})


@part("fp8-latent")
def fp8_latent() -> Found:
    """What latent attention quantizes for its products of batches."""
    fp8_kernel = _kernels("fp8_kernel")
    x = draw(4, 6, 256, seed=8)
    numbers, scale = fp8_kernel.per_tensor_quant_mla_fp8(x, torch.zeros(1).to("cuda"))
    masked = fp8_kernel.per_token_group_quant_mla_deep_gemm_masked_fp8(x)
    return Found({"parts": len(masked)}, {"tensor": told(numbers, scale), "masked": told(*masked[:2])})


@part("int8-token")
def int8_token() -> Found:
    int8_kernel = _kernels("int8_kernel")
    x = draw(6, 256, seed=9)
    numbers, scales = int8_kernel.per_token_quant_int8(x)
    return Found({"within 2%": error(numbers.float() * scales, x) < 0.02}, {"all": told(numbers, scales)})


@part("int8-groups")
def int8_groups() -> Found:
    int8_kernel = _kernels("int8_kernel")
    x = draw(6, 256, seed=15)
    numbers, scales = int8_kernel.per_token_group_quant_int8(x, 128)
    back = numbers.float().view(6, 2, 128) * scales[..., None]
    return Found({"within 2%": error(back.view(6, 256), x) < 0.02}, {"all": told(numbers, scales)})


@part("int8-block")
def int8_block() -> Found:
    from sglang.srt.layers.quantization import int8_utils

    weight = (draw(256, 256, seed=10, dtype=torch.float32) * 30).to(torch.int8)
    scales = torch.rand(2, 2, generator=torch.Generator().manual_seed(10)).to("cuda") * 0.01
    x = draw(5, 256, seed=10)
    out = int8_utils.apply_w8a8_block_int8_linear(x, weight, _BLOCK, scales)
    wide = int8_utils.block_dequant(weight, scales, _BLOCK)
    # not in later versions
    tensor = told(*int8_utils.input_to_int8(x)) if hasattr(int8_utils, "input_to_int8") else []
    return Found(
        {"within 3%": error(out, x.float() @ wide.float().t()) < 0.03},
        {"out": told(out), "wide": told(wide), "tensor": tensor},
    )


@part("fp4-cache")
def fp4_cache() -> Found:
    """The FP4 form of the KV cache: blocks of 16 numbers with a power of two each, as MXFP4 has."""
    from sglang.srt.layers.quantization import kvfp4_tensor

    # later versions name it by its format
    names = ("KVFP4QuantizeUtil", "FP4MXBlock16KVQuantizeUtil")
    cache = next(getattr(kvfp4_tensor, name) for name in names if hasattr(kvfp4_tensor, name))
    x = draw(3, 4, 64, seed=11)
    numbers, scales = cache.batched_quantize(x)
    back = cache.batched_dequantize(numbers, scales)
    return Found(
        {"bits a number": 8 * numbers.numel() / x.numel(), "within 25%": error(back, x) < 0.25},
        {"numbers": told(numbers, scales), "back": told(back)},
    )


@part("fp4-scales")
def fp4_scales() -> Found:
    """NVFP4: the order of scales that the matrix units read, and of the two halves of gated experts."""
    from sglang.srt.layers.quantization import utils

    scales = draw(200, 12, seed=12, dtype=torch.float32).to(torch.float8_e4m3fn)
    swizzled = utils.swizzle_blockscale(scales)
    weight, halves = draw(2, 8, 6, seed=13), draw(2, 8, 3, seed=14)
    turned = utils.reorder_w1w3_to_w3w1(weight, halves)
    return Found({"shape": list(swizzled.shape)}, {"swizzled": told(swizzled), "turned": told(*turned)})


@part("skipped-layers")
def skipped_layers() -> Found:
    """Which layers a checkpoint leaves unquantized, also where upstream fuses several into one."""
    from sglang.srt.layers.quantization.utils import is_layer_skipped

    fused = {
        "gate_up_proj": ["gate_proj", "up_proj"],
        "fused_qkv_a_proj_with_mqa": ["q_a_proj", "kv_a_proj_with_mqa"],
    }
    ignored = ["model.layers.0.mlp.gate_proj", "model.layers.0.mlp.up_proj", "lm_head"]
    names = ("lm_head", "model.layers.0.mlp.gate_up_proj", "model.layers.1.mlp.gate_up_proj")
    skipped = [is_layer_skipped(name, ignored, fused) for name in names]
    return Found({"skipped": skipped}, {})
