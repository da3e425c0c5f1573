"""sgl_kernel's Python functions, for trees that come without its sources: releases have it as a wheel."""

from __future__ import annotations

import torch
from torch import Tensor

from verification.kernels import registry
from verification.machine.absent import implement

_kept: list[torch.library.Library] = []  # an operator is gone when nobody holds its library


def _silu_and_mul(x: Tensor, out: Tensor | None = None) -> Tensor:
    made = torch.empty_like(x[..., : x.shape[-1] // 2]) if out is None else out
    registry.REFERENCES["silu_and_mul"](made, x, 0)
    return made


def _rmsnorm(
    x: Tensor, weight: Tensor, eps: float = 1e-6, out: Tensor | None = None, enable_pdl: bool | None = None
) -> Tensor:
    made = torch.empty_like(x) if out is None else out
    registry.REFERENCES["rmsnorm"](made, x, weight, eps, False)
    return made


def _fused_add_rmsnorm(
    x: Tensor, residual: Tensor, weight: Tensor, eps: float = 1e-6, enable_pdl: bool | None = None
) -> None:
    registry.REFERENCES["fused_add_rmsnorm"](x, residual, weight, eps, False)


def _topk(*, score: Tensor, topk: int, **rest: object) -> Tensor:
    return score.new_empty((len(score), topk), dtype=torch.int32)


def _define(schema: str) -> None:
    """Define an operator that upstream calls by torch's name of it, unless the tree's sources do."""
    name = schema.partition("(")[0]
    if not hasattr(torch.ops.sgl_kernel, name):
        library = torch.library.Library("sgl_kernel", "FRAGMENT")
        _kept.append(library)
        library.define(schema)
        library.impl(name, registry.REFERENCES[name], "CPU")


def install(numbers: bool) -> None:
    """Implement what DeepSeek's paths ask; with `numbers`, also what they calculate."""
    implement("sgl_kernel.utils.is_arch_support_pdl", lambda: torch.cuda.get_device_capability()[0] >= 9)
    for name in ("fast_topk_transform_fused", "fast_topk_transform_ragged_fused"):
        implement(f"sgl_kernel.{name}", _topk)
    if numbers:
        implement("sgl_kernel.silu_and_mul", _silu_and_mul)
        implement("sgl_kernel.rmsnorm", _rmsnorm)
        implement("sgl_kernel.fused_add_rmsnorm", _fused_add_rmsnorm)
        implement("sgl_kernel.moe_align_block_size", registry.REFERENCES["moe_align_block_size"])
        _define("murmur_hash32_cpu(Tensor seed, Tensor positions, Tensor columns) -> Tensor")
