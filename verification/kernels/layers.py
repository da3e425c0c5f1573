"""Norms, activations, rotary embedding, copies and the two small matrix products of DeepSeek V3."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from verification.kernels.registry import reference, shape


def normalized(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    wide = x.float()
    scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
    return (wide * scale * weight.float()).to(x.dtype)


@reference("rmsnorm")
def rmsnorm(out: Tensor, x: Tensor, weight: Tensor, eps: float, pdl: bool) -> None:
    out.copy_(normalized(x, weight, eps))


@reference("fused_add_rmsnorm")
def fused_add_rmsnorm(x: Tensor, residual: Tensor, weight: Tensor, eps: float, pdl: bool) -> None:
    residual.add_(x)
    x.copy_(normalized(residual, weight, eps))


@reference("silu_and_mul")
def silu_and_mul(out: Tensor, x: Tensor) -> None:
    gate, up = x.float().chunk(2, -1)
    out.copy_((torch.nn.functional.silu(gate) * up).to(out.dtype))


def turn(source: Tensor, target: Tensor, cache: Tensor, positions: Tensor, interleave: bool) -> None:
    width = cache.shape[-1]
    angles = cache[positions][:, None].float()
    cos, sin = angles[..., : width // 2], angles[..., width // 2 :]
    turned, rest = source[..., :width].float(), source[..., width:].clone()
    one, two = (turned[..., 0::2], turned[..., 1::2]) if interleave else turned.chunk(2, -1)
    pair = (one * cos - two * sin, two * cos + one * sin)
    joined = torch.stack(pair, -1).flatten(-2) if interleave else torch.cat(pair, -1)
    target[..., :width].copy_(joined.to(target.dtype))
    target[..., width:].copy_(rest)


@reference("apply_rope_pos_ids_cos_sin_cache")
def rotate(
    q: Tensor, k: Tensor, q_out: Tensor, k_out: Tensor, cache: Tensor, positions: Tensor, interleave: bool,
    pdl: bool, v: Tensor | None, k_buffer: Tensor | None, v_buffer: Tensor | None, places: Tensor | None,
) -> None:  # fmt: skip
    for source, target in ((q, q_out), (k, k_out)):
        turn(source, target, cache, positions, interleave)
    if k_buffer is not None and v_buffer is not None and v is not None:
        k_buffer[places] = k_out
        v_buffer[places] = v


@reference("rotary_embedding")
def rotary_embedding(
    positions: Tensor, query: Tensor, key: Tensor | None, head: int, cache: Tensor, neox: bool
) -> None:
    for states in (query, key):
        if states is not None:
            heads = states.view(positions.numel(), -1, head)
            turn(heads, heads, cache, positions.flatten(), not neox)


@reference("concat_mla_k")
def concat_mla_k(k: Tensor, nope: Tensor, rope: Tensor) -> None:
    k[..., : nope.shape[-1]] = nope
    k[..., nope.shape[-1] :] = rope


@reference("dsv3_router_gemm")
def dsv3_router_gemm(out: Tensor, a: Tensor, b: Tensor) -> None:
    out.copy_(a.float() @ b.float().t())


@reference("dsv3_fused_a_gemm")
def dsv3_fused_a_gemm(out: Tensor, a: Tensor, b: Tensor) -> None:
    out.copy_((a.float() @ b.float()).to(out.dtype))


@shape("weak_ref_tensor")
def weak_ref_tensor(tensor: Tensor) -> Tensor:
    return torch.empty_like(tensor)


@shape(*(f"fast_hadamard_transform{suffix}" for suffix in ("", "_12N", "_20N", "_28N", "_40N")))
def hadamard(x: Tensor, scale: Any) -> Tensor:
    return torch.empty_like(x)
