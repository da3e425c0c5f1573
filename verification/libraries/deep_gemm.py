"""deep_gemm: products of 8-bit matrices, in plain torch or by the shapes that they give."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from verification.kernels.quantization import dequantized
from verification.machine.absent import implement

VERSION = "2.1.1"
_WRITES_ITS_ARGUMENT = (
    "fp8_gemm_nt", "bf16_gemm_nt", "m_grouped_fp8_gemm_nt_masked", "m_grouped_fp8_gemm_nt_contiguous",
    "set_num_sms", "set_compile_mode", "set_tc_util", "set_pdl",
)  # fmt: skip


def _product(
    a: tuple[Tensor, Tensor], b: tuple[Tensor, Tensor], out: Tensor, *rest: Any, **named: Any
) -> None:
    out.copy_((dequantized(*a) @ dequantized(*b).t()).to(out.dtype))


def _grouped(
    a: tuple[Tensor, Tensor], b: tuple[Tensor, Tensor], out: Tensor, groups: Tensor, *rest: Any, **named: Any
) -> None:
    rows = dequantized(*a)
    for group in groups.unique().tolist():
        if group >= 0:
            chosen = groups == group
            out[chosen] = (rows[chosen] @ dequantized(b[0][group], b[1][group]).t()).to(out.dtype)


def _masked(*args: Any, signal: Tensor | None = None, **named: Any) -> tuple[int, int] | None:
    """A product that others wait for says how tall its blocks are, and after how many it gives a signal."""
    return None if signal is None else (64, 1)


def _up(value: int, to: int) -> int:
    return -(-value // to) * to


def _divided(value: int, by: int) -> int:
    return -(-value // by)


def _logits(q: Tensor, kv: Any, *rest: Any, **named: Any) -> Tensor:
    return q.new_empty((q.shape[0], kv[0].shape[0]), dtype=torch.float32)


def _paged_logits(
    q: Tensor, kv: Tensor, weights: Tensor, lengths: Tensor, table: Tensor, plan: Any, longest: int,
    *rest: Any, **named: Any,
) -> Tensor:  # fmt: skip
    # rows are aligned, as the kernel's are
    return q.new_empty((q.shape[0] * q.shape[1], _up(longest, 256)), dtype=torch.float32)[:, :longest]


def install(numbers: bool) -> None:
    """Implement what DeepSeek's paths call; with `numbers`, the products calculate."""
    for name in _WRITES_ITS_ARGUMENT:
        implement(f"deep_gemm.{name}", lambda *args, **kwargs: None)
    implement("deep_gemm.fp8_m_grouped_gemm_nt_masked", _masked)
    if numbers:
        implement("deep_gemm.fp8_gemm_nt", _product)
        implement("deep_gemm.m_grouped_fp8_gemm_nt_contiguous", _grouped)
    implement("deep_gemm.get_num_sms", lambda: 132)
    implement("deep_gemm.get_compile_mode", lambda: 0)
    implement("deep_gemm.get_mk_alignment_for_contiguous_layout", lambda: 128)
    implement("deep_gemm.fp8_mqa_logits", _logits)
    implement("deep_gemm.fp8_paged_mqa_logits", _paged_logits)
    implement(
        "deep_gemm.get_paged_mqa_logits_metadata",
        lambda lengths, block, units: lengths.new_empty((units + 1, 2), dtype=torch.int32),
    )
    implement(
        "deep_gemm.utils.layout.get_mn_major_tma_aligned_packed_ue8m0_tensor",
        lambda scales: scales.new_empty(
            (*scales.shape[:-1], _divided(scales.shape[-1], 4)), dtype=torch.int32
        ),
    )
    implement("deep_gemm.transform_sf_into_required_layout", lambda scales, *args, **kwargs: scales)
    implement("deep_gemm.utils.get_tma_aligned_size", lambda size, width: _up(size, 16 // width))
    for package in ("deep_gemm.utils", "deep_gemm.utils.math"):
        implement(f"{package}.align", _up)
        implement(f"{package}.ceil_div", _divided)
