"""Kernels that upstream compiles when they are first used: what each function calculates.

A module's name holds the arguments of its template, which decide what its functions do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from verification.kernels import layers, quantization, speculation

_SILU = "silu"
_LARGEST = 448.0  # of float8_e4m3fn


def _per_tensor_quant(name: str) -> Callable[..., None]:
    # whether the scale is given is an argument of the template, which a digest of the sources may follow
    static = "true" in name.split("_")
    return lambda x, out, scale: quantization.per_tensor_quant(x, out, scale, static)


def _store_cache(name: str) -> Callable[..., None]:
    def store(k: Tensor, v: Tensor, k_cache: Tensor, v_cache: Tensor, places: Tensor, *limits: int) -> None:
        # how many parts, how many places, the place to skip: versions give the first, the last two or all
        written = places != (limits[-1] if len(limits) > 1 else -1)
        k_cache[places[written]] = k[written]
        v_cache[places[written]] = v[written]

    return store


def _rope(name: str) -> Callable[..., None]:
    neox = name.partition("fused_rope_")[2].startswith("true")

    def rotate(q: Tensor, k: Tensor, cache: Tensor, positions: Tensor) -> None:
        for states in (q, k):
            layers.turn(states, states, cache, positions, not neox)

    return rotate


def _set_latent(name: str) -> Callable[..., None]:
    def store(buffer: Tensor, places: Tensor, nope: Tensor, rope: Tensor, *rest: Any) -> None:
        buffer.view(buffer.shape[0], -1)[places] = torch.cat((nope, rope), -1).to(buffer.dtype)

    return store


def _activation(name: str) -> Callable[..., None]:
    def activate(x: Tensor, out: Tensor, kind: str) -> None:
        if kind != _SILU:
            raise NotImplementedError(f"the activation {kind} has no reference")
        layers.silu_and_mul(out, x)

    return activate


def _activation_of_experts(name: str) -> Callable[..., None]:
    activate = _activation(name)

    def filtered(x: Tensor, out: Tensor, experts: Tensor, step: int, kind: str) -> None:
        # rows of experts that are elsewhere stay as they are
        here = experts.repeat_interleave(step)[: len(x)] >= 0
        made = torch.empty_like(out[here])
        activate(x[here], made, kind)
        out[here] = made

    return filtered


def _clamp_position(name: str) -> Callable[..., None]:
    return lambda out, lengths: out.copy_((lengths - 1).clamp(min=0))


def _fused_a(name: str) -> Callable[..., None]:
    return lambda a, b, out: layers.dsv3_fused_a_gemm(out, a, b)


def _run(name: str) -> Callable[..., None]:
    if "tiny_n_gemm" not in name:
        raise NotImplementedError(f"{name} has no reference")
    return lambda a, b, out: layers.dsv3_router_gemm(out, a, b)


def _per_token_group_quant(name: str) -> Callable[..., None]:
    # input, output, group, powers of two, rows first, aligned, with the activation, PDL, layout
    kinds, _, rest = name.partition("per_token_group_quant_")[2].partition("_t_fp8_e4m3_t_")
    group, powers, _, _, activates, _, layout, *_ = rest.split("_")

    def quantize(x: Tensor, out: Tensor, scales: Tensor) -> None:
        if not kinds or layout != "flat" or "true" in (powers, activates):
            raise NotImplementedError(f"{name} has no reference")
        quantization.per_token_group_quant(x, out, scales, int(group), 1e-10, -_LARGEST, _LARGEST, False)

    return quantize


def _fused_eh_norm(name: str) -> Callable[..., None]:
    def normalize(x: Tensor, hidden: Tensor, weight: Tensor, other: Tensor, out: Tensor, eps: float) -> None:
        out.copy_(torch.cat((layers.normalized(x, weight, eps), layers.normalized(hidden, other, eps)), -1))

    return normalize


#: Functions of compiled modules. Given the module's name, each gives a function in torch.
CALCULATES: dict[str, Callable[[str], Callable[..., None]]] = {
    "per_tensor_quant_fp8": _per_tensor_quant,
    "store_cache": _store_cache,
    "run_rope": _rope,
    "set_mla_kv_buffer": _set_latent,
    "run_activation": _activation,
    "run_activation_filtered": _activation_of_experts,
    "clamp_position": _clamp_position,
    "dsv3_fused_a_gemm": _fused_a,
    "rotary_embedding": lambda name: layers.rotary_embedding,
    "run": _run,
    "per_token_quant_fp8": lambda name: quantization.per_token_quant,
    "fused_eh_norm": _fused_eh_norm,
    "per_token_group_quant": _per_token_group_quant,
    "build_tree_kernel_efficient": lambda name: speculation.build_tree,
    "verify_tree_greedy": lambda name: speculation.verify_tree_greedy,
}
#: What functions answer that ask the device and calculate nothing.
ANSWERS: dict[str, Any] = {"fits_device": False, "get_max_active_clusters": 16}
