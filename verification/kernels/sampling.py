"""Draws that a seed decides."""

from __future__ import annotations

import torch
from torch import Tensor

from verification.kernels.registry import reference

_32 = 0xFFFFFFFF


@reference("murmur_hash32_cpu")
def murmur_hash32(seed: Tensor, positions: Tensor, columns: Tensor) -> Tensor:
    """MurmurHash3 (32 bits) of a seed of 64 bits, a position and a column: [rows, columns] of uint32."""
    wide = seed.long()[:, None]
    found = torch.zeros(len(seed), len(columns), dtype=torch.int64)
    blocks = (wide & _32, (wide >> 32) & _32, positions.long()[:, None] & _32, columns.long()[None] & _32)
    for block in blocks:
        found = _mixed(found, block)
    found = found ^ 4 * len(blocks)  # the bytes that were hashed
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        found = ((found ^ (found >> shift)) * factor) & _32
    return (found ^ (found >> 16)).to(torch.uint32)


def _mixed(found: Tensor, block: Tensor) -> Tensor:
    block = _rotated((block * 0xCC9E2D51) & _32, 15)
    found = _rotated(found ^ ((block * 0x1B873593) & _32), 13)
    return (found * 5 + 0xE6546B64) & _32


def _rotated(found: Tensor, bits: int) -> Tensor:
    return ((found << bits) | (found >> (32 - bits))) & _32
