"""Products with weights of four or eight bits: the shapes of GPTQ's and Marlin's kernels."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from verification.kernels.registry import shape

_TILE = 16  # rows of a weight that Marlin reads together
_BITS = 32  # of the integers that weights are packed in


@shape("gptq_marlin_gemm")
def marlin_product(
    a: Tensor, c: Tensor | None, weight: Tensor, scales: Tensor, scale: Any, zeros: Any, groups: Any,
    order: Any, workspace: Tensor, kind: int, rows: int, columns: int, *rest: Any,
) -> Tensor:  # fmt: skip
    return a.new_empty((rows, columns)) if c is None else c


@shape("moe_wna16_marlin_gemm")
def marlin_product_of_experts(
    a: Tensor, c: Tensor | None, weight: Tensor, bias: Any, scales: Tensor, scale: Any, zeros: Any,
    groups: Any, order: Any, workspace: Tensor, tokens: Tensor, experts: Tensor, padded: Tensor,
    shares: Tensor, block: int, of_each: int, weighted: bool, parallel: bool, kind: int, rows: int,
    columns: int, *rest: Any,
) -> Tensor:  # fmt: skip
    return a.new_empty((rows * of_each, columns)) if c is None else c


@shape("gptq_gemm")
def gptq_product(a: Tensor, weight: Tensor, *rest: Any) -> Tensor:
    return a.new_empty((a.shape[0], weight.shape[1]))


@shape("gptq_marlin_repack")
def repacked(weight: Tensor, order: Tensor, rows: int, columns: int, bits: int) -> Tensor:
    return weight.new_empty((rows // _TILE, columns * _TILE * bits // _BITS), dtype=torch.int32)
