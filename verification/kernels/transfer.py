"""Copies of the KV cache between a GPU and its host."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from verification.kernels.registry import reference


@reference("transfer_kv_direct")
def transfer_kv_direct(
    sources: Sequence[Tensor], targets: Sequence[Tensor], source_rows: Tensor, target_rows: Tensor, page: int
) -> None:
    for source, target in zip(sources, targets, strict=True):
        target[target_rows.to(target.device)] = source[source_rows.to(source.device)]
