"""Small tensors that are drawn by a seed, and what parts say of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from verification.machine.trace import digest_of


def draw(*shape: int, seed: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    """Numbers of a normal distribution."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype).to("cuda")


def by_shape(*shape: int) -> torch.Tensor:
    """Numbers of a normal distribution that the shape chooses, on the CPU."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def factors(*shape: int, seed: int) -> torch.Tensor:
    """Numbers from a half to one and a half."""
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed)).to("cuda") + 0.5


def whole(*numbers: Any, dtype: torch.dtype = torch.int32) -> torch.Tensor:
    """The tensor of some whole numbers."""
    return torch.tensor(numbers, dtype=dtype).to("cuda")


def told(*tensors: Any) -> list[Any]:
    """Type, shape and digest of each tensor that is there."""
    return [[str(each.dtype)[6:], list(each.shape), digest_of(each)] for each in tensors if each is not None]


def digests(pairs: Iterable[tuple[str, torch.Tensor]]) -> dict[str, str]:
    """The digest of each tensor by its name, in order: threads give files in any order."""
    return {name: digest_of(tensor) for name, tensor in sorted(pairs)}


def error(back: torch.Tensor, x: torch.Tensor) -> float:
    """The largest error, as a part of the largest number."""
    return float((back.float() - x.float()).abs().max() / x.float().abs().max())
