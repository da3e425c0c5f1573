"""Kernels that upstream compiles when they are first used: what each function calculates.

A module's name holds the arguments of its template, which decide what its functions do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from verification.kernels import layers, quantization

_SILU = "silu"


def _per_tensor_quant(name: str) -> Callable[..., None]:
    # whether the scale is given is an argument of the template
    static = name.endswith("true")
    return lambda x, out, scale: quantization.per_tensor_quant(x, out, scale, static)


def _store_cache(name: str) -> Callable[..., None]:
    def store(k: Tensor, v: Tensor, k_cache: Tensor, v_cache: Tensor, places: Tensor, splits: int) -> None:
        k_cache[places] = k
        v_cache[places] = v

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


def _clamp_position(name: str) -> Callable[..., None]:
    return lambda out, lengths: out.copy_((lengths - 1).clamp(min=0))


def _fused_a(name: str) -> Callable[..., None]:
    return lambda a, b, out: layers.dsv3_fused_a_gemm(out, a, b)


#: Functions of compiled modules. Given the module's name, each gives a function in torch.
CALCULATES: dict[str, Callable[[str], Callable[..., None]]] = {
    "per_tensor_quant_fp8": _per_tensor_quant,
    "store_cache": _store_cache,
    "run_rope": _rope,
    "set_mla_kv_buffer": _set_latent,
    "run_activation": _activation,
    "clamp_position": _clamp_position,
    "dsv3_fused_a_gemm": _fused_a,
}
