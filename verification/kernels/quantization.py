"""8-bit quantization by groups, and the product of what was quantized so."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from verification.kernels.registry import reference, shape

_LARGEST = 448.0  # of float8_e4m3fn


@reference("sgl_per_token_group_quant_8bit")
def per_token_group_quant(
    x: Tensor, out: Tensor, scales: Tensor, group: int, eps: float, lowest: float, highest: float,
    powers_of_two: bool, *rest: Any,
) -> None:  # fmt: skip
    wide = x.float().view(*x.shape[:-1], -1, group)
    scale = wide.abs().amax(-1).clamp_min(eps) / highest
    if powers_of_two:
        scale = torch.exp2(torch.ceil(torch.log2(scale)))
    scaled = (wide / scale[..., None]).clamp(lowest, highest)
    out.copy_(scaled.reshape(x.shape).to(out.dtype))
    if scales.dtype == torch.float32:
        scales.copy_(scale)


@shape("fp8_blockwise_scaled_mm", "fp8_scaled_mm", "int8_scaled_mm")
def scaled_product(
    a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor, kind: torch.dtype, bias: Any = None
) -> Tensor:
    return a.new_empty((a.shape[0], b.shape[1]), dtype=kind)


@reference("fp8_scaled_mm")
@reference("int8_scaled_mm")
def scaled_product_of_numbers(
    a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor, kind: torch.dtype, bias: Any = None
) -> Tensor:
    """A row of `a` and a column of `b` have one scale each, or all have one."""
    product = (a.float() * scale_a.float().view(-1, 1)) @ (b.float() * scale_b.float().view(1, -1))
    return (product if bias is None else product + bias.float()).to(kind)


def dequantized(numbers: Tensor, scales: Tensor, block: int = 128) -> Tensor:
    """float32 of numbers with one scale for each block of a row, or of a square."""
    wide, scales = numbers.float(), scales.float()
    if scales.shape[0] != wide.shape[0]:
        scales = scales.repeat_interleave(block, 0)[: wide.shape[0]]
    return wide * scales.repeat_interleave(block, 1)[:, : wide.shape[1]]


@reference("sgl_per_tensor_quant_fp8")
def per_tensor_quant(x: Tensor, out: Tensor, scale: Tensor, static: bool) -> None:
    if not static:
        scale.copy_((x.float().abs().amax() / _LARGEST).reshape(scale.shape))
    out.copy_((x.float() / scale).clamp(-_LARGEST, _LARGEST).to(out.dtype))


@reference("sgl_per_token_quant_fp8")
def per_token_quant(x: Tensor, out: Tensor, scales: Tensor) -> None:
    scale = x.float().abs().amax(-1, keepdim=True) / _LARGEST
    scales.copy_(scale.reshape(scales.shape))
    out.copy_((x.float() / scale).clamp(-_LARGEST, _LARGEST).to(out.dtype))
