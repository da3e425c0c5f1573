"""Copies of the KV cache between a GPU and its host.

A row is what one layer keeps of one token. Layers lie in tensors of their own (`lf`), or the
layers of a token lie together in one tensor (`pf`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from torch import Tensor

from verification.kernels.registry import reference


@reference("transfer_kv_direct")
def transfer_kv_direct(
    sources: Sequence[Tensor], targets: Sequence[Tensor], source_rows: Tensor, target_rows: Tensor, page: int
) -> None:
    for source, target in zip(sources, targets, strict=True):
        target[target_rows.to(target.device)] = source[source_rows.to(source.device)]


@reference("transfer_kv_all_layer_direct_lf_pf")
def to_pages(
    sources: Sequence[Tensor], targets: Sequence[Tensor], source_rows: Tensor, target_rows: Tensor, page: int
) -> None:
    layers = len(sources) // len(targets)
    for first, place in _pages(source_rows, target_rows, page):
        for index, source in enumerate(sources):
            targets[index // layers][place // page][index % layers] = source[first : first + page]


@reference("transfer_kv_per_layer_direct_pf_lf")
def from_pages(
    sources: Sequence[Tensor], targets: Sequence[Tensor], source_rows: Tensor, target_rows: Tensor,
    layer: int, page: int,
) -> None:  # fmt: skip
    for place, first in _pages(source_rows, target_rows, page):
        for source, target in zip(sources, targets, strict=True):
            target[first : first + page] = source[place // page][layer]


def _pages(source_rows: Tensor, target_rows: Tensor, page: int) -> list[tuple[int, int]]:
    """Where each page begins, there and here."""
    return list(zip(source_rows[::page].tolist(), target_rows[::page].tolist(), strict=True))


@reference("transfer_kv_per_layer_mla")
def one_layer(source: Tensor, target: Tensor, source_rows: Tensor, target_rows: Tensor, *rest: Any) -> None:
    target[target_rows] = source[source_rows]


@reference("transfer_kv_per_layer_mla_pf_lf")
def one_layer_of_tokens(
    source: Tensor, target: Tensor, source_rows: Tensor, target_rows: Tensor, layer: int, *rest: Any
) -> None:
    target[target_rows] = source[source_rows, layer]


@reference("transfer_kv_all_layer_mla")
def all_layers(
    sources: Tensor, targets: Tensor, source_rows: Tensor, target_rows: Tensor, size: int, *rest: Any
) -> None:
    for source, target in zip(sources.tolist(), targets.tolist(), strict=True):
        for row, place in _pages(source_rows, target_rows, 1):
            ctypes.memmove(target + place * size, source + row * size, size)


@reference("transfer_kv_all_layer_mla_lf_pf")
def all_layers_to_tokens(
    sources: Tensor, target: Tensor, source_rows: Tensor, target_rows: Tensor, size: int, of_a_token: int,
    *rest: Any,
) -> None:  # fmt: skip
    for layer, source in enumerate(sources.tolist()):
        for row, place in _pages(source_rows, target_rows, 1):
            ctypes.memmove(target.data_ptr() + place * of_a_token + layer * size, source + row * size, size)


def _both(reference_of_one: Any) -> Any:
    """What keys and values take, of what one of them does: each has a source and a target of its own."""

    def of_both(k: Tensor, to_k: Tensor, v: Tensor, to_v: Tensor, *rest: Any) -> None:
        reference_of_one(k, to_k, *rest)
        reference_of_one(v, to_v, *rest)

    return of_both


reference("transfer_kv_per_layer")(_both(one_layer))
reference("transfer_kv_per_layer_pf_lf")(_both(one_layer_of_tokens))
reference("transfer_kv_all_layer")(_both(all_layers))
reference("transfer_kv_all_layer_lf_pf")(_both(all_layers_to_tokens))
