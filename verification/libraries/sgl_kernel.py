"""sgl_kernel's Python functions, for trees that come without its sources: releases have it as a wheel."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from verification.kernels import registry
from verification.machine.absent import implement

_kept: list[torch.library.Library] = []  # an operator is gone when nobody holds its library
_WORKSPACE = 1 << 20  # bytes


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


def _build_tree(*args: object) -> None:
    registry.REFERENCES["build_tree_kernel_efficient"](*args)


def _verify_tree(
    *, predicts: Tensor, accept_index: Tensor, accept_token_num: Tensor, candidates: Tensor,
    target_predict: Tensor, **retrieval: Tensor,
) -> None:  # fmt: skip
    # retrive_index and so on: versions spell them in two ways, and give them in one order
    registry.REFERENCES["verify_tree_greedy"](
        predicts, accept_index, accept_token_num, candidates, *retrieval.values(), target_predict
    )


def accepts(accept: Callable[..., None]) -> None:
    """Let `accept` stand for what verifies drafts, where only shapes exist."""

    def verify(
        *, predicts: Tensor, accept_index: Tensor, accept_token_num: Tensor, candidates: Tensor,
        **rest: object,
    ) -> None:  # fmt: skip
        accept(predicts, accept_index, accept_token_num, candidates)

    for name in ("verify_tree_greedy", "tree_speculative_sampling_target_only"):
        implement(f"sgl_kernel.{name}", verify)


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


def _mla_decode(*, q_nope: Tensor, **rest: object) -> Tensor:
    return q_nope.new_empty(q_nope.shape)


def install(numbers: bool) -> None:
    """Implement what DeepSeek's paths ask; with `numbers`, also what they calculate."""
    implement("sgl_kernel.utils.is_arch_support_pdl", lambda: torch.cuda.get_device_capability()[0] >= 9)
    implement("sgl_kernel.cutlass_mla_get_workspace_size", lambda *sizes, **named: _WORKSPACE)
    implement("sgl_kernel.cutlass_mla_decode", _mla_decode)
    for name in ("fast_topk_transform_fused", "fast_topk_transform_ragged_fused"):
        implement(f"sgl_kernel.{name}", _topk)
    if numbers:
        implement("sgl_kernel.silu_and_mul", _silu_and_mul)
        implement("sgl_kernel.rmsnorm", _rmsnorm)
        implement("sgl_kernel.fused_add_rmsnorm", _fused_add_rmsnorm)
        implement("sgl_kernel.sgl_per_token_quant_fp8", registry.REFERENCES["sgl_per_token_quant_fp8"])
        implement("sgl_kernel.build_tree_kernel_efficient", _build_tree)
        implement("sgl_kernel.verify_tree_greedy", _verify_tree)
        implement("sgl_kernel.moe_align_block_size", registry.REFERENCES["moe_align_block_size"])
        _define("murmur_hash32_cpu(Tensor seed, Tensor positions, Tensor columns) -> Tensor")
