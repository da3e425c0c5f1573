"""Products with weights of four or eight bits: the shapes of GPTQ's and Marlin's kernels."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from verification.kernels.registry import shape

_TILE = 16  # rows of a weight that Marlin reads together
_BITS = 32  # of the integers that weights are packed in


@shape("gptq_marlin_gemm")
def marlin_product(a: Tensor, c: Tensor | None, *rest: Any) -> Tensor:
    rows, columns = rest[8:10]
    return a.new_empty((rows, columns)) if c is None else c


@shape("moe_wna16_marlin_gemm")
def marlin_product_of_experts(a: Tensor, c: Tensor | None, *rest: Any) -> Tensor:
    of_each, rows, columns = rest[13], rest[17], rest[18]
    return a.new_empty((rows * of_each, columns)) if c is None else c


@shape("gptq_gemm")
def gptq_product(a: Tensor, weight: Tensor, *rest: Any) -> Tensor:
    return a.new_empty((a.shape[0], weight.shape[1]))


@shape("gptq_marlin_repack")
def repacked(weight: Tensor, order: Tensor, rows: int, columns: int, bits: int) -> Tensor:
    return weight.new_empty((rows // _TILE, columns * _TILE * bits // _BITS), dtype=torch.int32)
