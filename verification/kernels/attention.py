"""Attention: the two merges of partial results, and FlashAttention as upstream's tree may still call it."""

from __future__ import annotations

import itertools
from typing import Any

import torch
from torch import Tensor

from verification.kernels.registry import reference, shape


@reference("merge_state_v2")
def merge_state(v_a: Tensor, s_a: Tensor, v_b: Tensor, s_b: Tensor, v_out: Tensor, s_out: Tensor) -> None:
    largest = torch.maximum(s_a, s_b)
    one, two = (s_a - largest).exp(), (s_b - largest).exp()
    total = one + two
    merged = v_a.float() * (one / total)[..., None] + v_b.float() * (two / total)[..., None]
    v_out.copy_(merged.to(v_out.dtype))
    s_out.copy_(largest + total.log())


@reference("fwd")
def flash_attention(
    q: Tensor, k: Tensor, v: Tensor, k_new: Any, v_new: Any, q_v: Tensor | None, out: Any,
    starts_q: Tensor, starts_k: Tensor, starts_k_new: Any, used_q: Any, used_k: Tensor | None,
    longest_q: Any, longest_k: Any, pages: Tensor | None, batch: Any, left_pad: Any, cos: Any, sin: Any,
    rotary_lengths: Any, q_scale: Any, k_scale: Any, v_scale: Any, scale: float | None, causal: bool,
    *rest: Any,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    batched = q.dim() == 4
    flat_v = q_v
    if batched:
        count, length = q.shape[:2]
        starts = [index * length for index in range(count + 1)]
        flat = q.flatten(0, 1)
        flat_v = q_v.flatten(0, 1) if q_v is not None else None
    else:
        starts, flat = starts_q.tolist(), q
    result = torch.zeros((*flat.shape[:2], v.shape[-1]), dtype=torch.float32, device=q.device)
    sums = torch.full((flat.shape[1], flat.shape[0]), float("-inf"), device=q.device)
    factor = scale if scale is not None else flat.shape[-1] ** -0.5
    for index, (first, last) in enumerate(itertools.pairwise(starts)):
        keys, values = _of_sequence(k, v, starts_k, used_k, pages, index)
        if first == last or not len(keys):
            continue
        repeat = flat.shape[1] // keys.shape[1]
        keys, values = keys.float().repeat_interleave(repeat, 1), values.float().repeat_interleave(repeat, 1)
        scores = torch.einsum("qhd,khd->hqk", flat[first:last].float(), keys)
        if flat_v is not None:
            scores = scores + torch.einsum("qhd,khd->hqk", flat_v[first:last].float(), values)
        scores = scores * factor
        if causal:
            count_q, count_k = last - first, len(keys)
            behind = torch.arange(count_q, device=q.device)[:, None] + (count_k - count_q)
            scores = scores.masked_fill(torch.arange(count_k, device=q.device)[None] > behind, float("-inf"))
        sums[:, first:last] = scores.logsumexp(-1)
        result[first:last] = torch.einsum("hqk,khd->qhd", scores.softmax(-1), values)
    result = result.to(v.dtype)
    if batched:
        result = result.view(*q.shape[:2], *result.shape[1:])
    nothing = torch.empty(0, device=q.device)
    return result, sums, nothing, nothing


def _of_sequence(
    k: Tensor, v: Tensor, starts: Tensor, used: Tensor | None, pages: Tensor | None, index: int
) -> tuple[Tensor, Tensor]:
    if pages is None:
        first, last = int(starts[index]), int(starts[index + 1])
        return k[first:last], v[first:last]
    length = int(used[index]) if used is not None else int(starts[index + 1] - starts[index])
    size = k.shape[1]
    chosen = pages[index, : (length + size - 1) // size].long()
    return k[chosen].flatten(0, 1)[:length], v[chosen].flatten(0, 1)[:length]


@shape("fwd")
def flash_attention_shape(
    q: Tensor, k: Tensor, v: Tensor, *rest: Any, **named: Any
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    out = q.new_empty((*q.shape[:-1], v.shape[-1]), dtype=torch.bfloat16)
    sums = (q.shape[-2], q.shape[0]) if q.dim() == 3 else (q.shape[0], q.shape[2], q.shape[1])
    nothing = q.new_empty((0,), dtype=torch.float32)
    return out, q.new_empty(sums, dtype=torch.float32), nothing, nothing


@shape("get_mla_decoding_metadata", "get_mla_decoding_metadata_dense_fp8")
def mla_metadata(lengths: Tensor, *rest: Any) -> list[Tensor]:
    plan = lengths.new_empty((132, 8), dtype=torch.int32)
    return [plan, lengths.new_empty((lengths.shape[0] + 1,), dtype=torch.int32)]


@shape("fwd_kvcache_mla", "fwd_kvcache_mla_fp8")
def mla_decode(q: Tensor, cache: Tensor, width: int, *rest: Any) -> list[Tensor]:
    sums = q.new_empty((q.shape[0], q.shape[2], q.shape[1]), dtype=torch.float32)
    return [q.new_empty((*q.shape[:-1], width), dtype=torch.bfloat16), sums]


@shape("sparse_prefill_fwd")
def sparse_prefill(q: Tensor, cache: Tensor, chosen: Tensor, scale: float, width: int) -> list[Tensor]:
    sums = [q.new_empty(q.shape[:-1], dtype=torch.float32) for _ in range(2)]
    return [q.new_empty((*q.shape[:-1], width)), *sums]
