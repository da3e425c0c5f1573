"""Weights of linear layers: each rank takes its share, from one matrix on disk or from several."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch

from verification.machine.trace import digest_of
from verification.parts.drawn import by_shape
from verification.parts.registry import Found, part, refused
from verification.parts.versions import accepted

_RANKS = 2
_INNER = 6
_OUTPUTS = [8, 12]  # of the matrices in one
_HEAD, _HEADS = 4, 4
_BLOCK = 2
_KINDS = ("q", "k", "v")


def _share(matrix: torch.Tensor, rank: int, ranks: int = _RANKS, dim: int = 0) -> torch.Tensor:
    """What a rank has of a matrix that the ranks divide."""
    return matrix.chunk(ranks, dim)[rank]


def _weight(*shape: int, kind: str = "ModelWeightParameter", **more: Any) -> Any:
    """A parameter of zeros, of one of the tree's kinds."""
    from sglang.srt.layers import parameter

    return getattr(parameter, kind)(data=torch.zeros(*shape), weight_loader=None, **more)


def _of_rank(kind: str, rank: int, *given: Any) -> Any:
    """A layer of the tree, of a rank of a group that nobody made."""
    from sglang.srt.layers import linear

    made = getattr(linear, kind)
    more = accepted(made, tp_rank=rank, tp_size=_RANKS)
    group = SimpleNamespace(rank_in_group=rank, world_size=_RANKS)
    # later versions look for the group itself
    asked = {} if more else {"_resolve_linear_group": lambda name: group}
    with mock.patch.multiple(linear, **asked) if asked else contextlib.nullcontext():
        layer = made(*given, bias=False, **more)
    layer.quant_method = SimpleNamespace(quant_config=SimpleNamespace(weight_block_size=[_BLOCK, _BLOCK]))
    return layer


def _merged(rank: int) -> Any:
    return _of_rank("MergedColumnParallelLinear", rank, _INNER, _OUTPUTS)


def _attention(rank: int, key_heads: int) -> Any:
    return _of_rank("QKVParallelLinear", rank, _INNER, _HEAD, _HEADS, key_heads)


@part("linear-merged")
def merged() -> Found:
    """Matrices in one: from one matrix on disk and from each, as numbers, packed, and as scales of blocks."""
    facts: dict[str, bool] = {}
    values: dict[str, Any] = {}
    mine = sum(_OUTPUTS) // _RANKS
    for rank in range(_RANKS):
        layer = _merged(rank)
        for name, dim, per in (("plain", 0, 1), ("packed", 1, 2), ("tiles", 1, 2), ("scales", 0, _BLOCK)):
            size, whole = mine // per, sum(_OUTPUTS) // per
            shape = (size, _INNER) if dim == 0 else (_INNER, size)
            disk = by_shape(*((whole, _INNER) if dim == 0 else (_INNER, whole)))
            kind, more = "ModelWeightParameter", {"input_dim": 1 - dim, "output_dim": dim}
            if name == "scales":
                kind = "BlockQuantScaleParameter"
            if dim == 1:
                kind, more = "PackedvLLMParameter", {**more, "packed_dim": 1, "packed_factor": per}
            if name == "tiles":
                more["marlin_tile_size"] = per
                shape, disk = (_INNER, mine), by_shape(_INNER, sum(_OUTPUTS))
            split = [each * disk.shape[dim] // sum(_OUTPUTS) for each in _OUTPUTS]
            pieces = disk.split(split, dim)
            right = torch.cat([_share(each, rank, dim=dim) for each in pieces], dim)
            for way in ("whole", "pieces") if name != "scales" else ("pieces",):
                taken = _weight(*shape, kind=kind, **more)
                if way == "whole":
                    layer.weight_loader_v2(taken, disk)
                else:
                    for number, piece in enumerate(pieces):
                        layer.weight_loader_v2(taken, piece, number)
                facts[f"rank {rank}, {name}, {way}"] = torch.equal(taken.data, right)
                values[f"rank {rank}, {name}, {way}"] = digest_of(taken.data)
    return Found(facts, values)


@part("linear-single")
def single() -> Found:
    """Parameters that no rank divides: one number for a matrix, and what all ranks have."""
    layer, attention = _merged(1), _attention(1, 2)
    one = torch.tensor(3.0)
    facts: dict[str, bool] = {}
    values: dict[str, Any] = {}
    for name, made, kinds in (("merged", layer, (0, 1)), ("attention", attention, _KINDS)):
        scale = _weight(len(kinds), kind="PerTensorScaleParameter")
        made.weight_loader_v2(scale, one)
        values[name] = scale.tolist()  # later versions tell all matrices
        for number, kind in enumerate(kinds):
            made.weight_loader_v2(scale, torch.tensor([float(number)]), kind)
        facts[f"{name}: each"] = scale.tolist() == [float(each) for each in range(len(kinds))]
        for kind, more in (("BasevLLMParameter", {}), ("RowvLLMParameter", {"input_dim": 0})):
            same = _weight(3, kind=kind, **more)
            made.weight_loader_v2(same, by_shape(3))
            facts[f"{name}: {kind}"] = torch.equal(same.data, by_shape(3))
        plain = torch.nn.Parameter(torch.zeros(len(kinds)), requires_grad=False)
        plain.needs_scalar_to_array = True  # type: ignore[attr-defined]
        made.weight_loader(plain, torch.tensor([5.0]), kinds[-1])
        facts[f"{name}: as an array"] = plain.tolist() == [0.0] * (len(kinds) - 1) + [5.0]
    return Found(facts, values)


@part("linear-attention")
def attention() -> Found:
    """Queries, keys and values in one: the ranks divide the heads, or have the same keys if there are few."""
    facts: dict[str, bool] = {}
    values: dict[str, Any] = {}
    for rank, key_heads in ((0, 2), (1, 2), (0, 1), (1, 1)):
        layer = _attention(rank, key_heads)
        sizes = [heads * _HEAD for heads in (_HEADS, key_heads, key_heads)]
        repeated = key_heads < _RANKS
        for name, per in (("plain", 1), ("packed", 2), ("scales", _BLOCK)):
            dim = 1 if name == "packed" else 0
            split = [size // per for size in sizes]
            disk = by_shape(sum(split), _INNER) if dim == 0 else by_shape(_INNER, sum(split))
            pieces = disk.split(split, dim)
            right = torch.cat(
                [_share(pieces[0], rank, dim=dim)]
                + [each if repeated else _share(each, rank, dim=dim) for each in pieces[1:]],
                dim,
            )
            more: dict[str, Any] = {"input_dim": 1 - dim, "output_dim": dim}
            kind = "BlockQuantScaleParameter" if name == "scales" else "ModelWeightParameter"
            if name == "packed":
                kind, more = "PackedvLLMParameter", {**more, "packed_dim": 1, "packed_factor": per}
            for way in ("whole", "pieces"):
                taken = _weight(*right.shape, kind=kind, **more)
                for shard, weight in [(None, disk)] if way == "whole" else zip(_KINDS, pieces, strict=True):
                    layer.weight_loader_v2(taken, weight, shard)
                told = f"rank {rank} of {key_heads} key heads, {name}, {way}"
                facts[told] = torch.equal(taken.data, right)
                values[told] = digest_of(taken.data)
    return Found(facts, values)


def _parameters(shape: tuple[int, int]) -> Iterator[tuple[str, Any]]:
    for kind in ("ModelWeightParameter", "GroupQuantScaleParameter", "BlockQuantScaleParameter"):
        yield kind, _weight(*shape, kind=kind, input_dim=1, output_dim=0)


@part("linear-shares")
def shares() -> Found:
    """A share of rows or of columns; zeros are past the end of a matrix; a share on disk is taken whole."""
    disk = by_shape(8, 10)
    facts: dict[str, bool] = {}
    for kind, taken in _parameters((4, 10)):
        taken.load_column_parallel_weight(disk, tp_rank=1)
        facts[f"{kind}: rows"] = torch.equal(taken.data, disk[4:])
        taken.load_column_parallel_weight(disk[:4], tp_rank=1, use_presharded_weights=True)
        facts[f"{kind}: its own rows"] = torch.equal(taken.data, disk[:4])
    for kind, taken in _parameters((8, 6)):
        for rank, right in ((0, disk[:, :6]), (1, torch.cat([disk[:, 6:], torch.zeros(8, 2)], 1))):
            taken.load_row_parallel_weight(disk, tp_rank=rank)
            facts[f"{kind}: columns of {rank}"] = torch.equal(taken.data, right)
        taken.load_row_parallel_weight(disk, tp_rank=2)
        facts[f"{kind}: past the end"] = not taken.data.any()
    short = _weight(5, 10, input_dim=1, output_dim=0)
    short.load_merged_column_weight(disk, shard_offset=0, shard_size=5, tp_rank=1)
    facts["rows past the end"] = torch.equal(short.data, torch.cat([disk[5:], torch.zeros(2, 10)]))
    scale = _weight(1, kind="PerTensorScaleParameter")
    scale.load_row_parallel_weight(torch.tensor([2.0]), tp_rank=1, use_presharded_weights=False)
    scale.load_column_parallel_weight(torch.tensor([2.0]), tp_rank=1, use_presharded_weights=False)
    number = _weight(1, kind="RowvLLMParameter", input_dim=0)
    number.load_row_parallel_weight(torch.tensor(2.0), tp_rank=0, use_presharded_weights=True)
    return Found({**facts, "numbers": scale.tolist() == number.tolist() == [2.0]})


@part("linear-layout")
def layout() -> Found:
    """A parameter whose dimensions change their places: told ones, and one that follows from the other."""
    from sglang.srt.layers.parameter import permute_param_layout_

    disk = by_shape(4, 6)
    facts: dict[str, bool] = {}
    both = _weight(4, 6, input_dim=1, output_dim=0)
    packed = _weight(
        4, 6, kind="PackedvLLMParameter", input_dim=1, output_dim=0, packed_dim=1, packed_factor=2
    )
    only = _weight(4, 6, kind="ChannelQuantScaleParameter", output_dim=0)
    row = _weight(4, 6, kind="RowvLLMParameter", input_dim=1)
    for name, made, more in (
        ("both", both, {}), ("packed", packed, {"packed_dim": 0}), ("rows", only, {}), ("columns", row, {}),
    ):  # fmt: skip
        made.data.copy_(disk)
        turned = permute_param_layout_(made, input_dim=0, output_dim=1, **more)
        told = [getattr(turned, each, None) for each in ("input_dim", "output_dim", "packed_dim")]
        facts[f"{name}: turned"] = torch.equal(turned.data, disk.t()) and told[1] in (1, None)
        again = permute_param_layout_(turned, input_dim=0, output_dim=1, **more)
        facts[f"{name}: once"] = torch.equal(again.data, disk.t())
    turn = partial(permute_param_layout_, packed, input_dim=0, output_dim=1, packed_dim=1)
    facts["packing stays"] = refused(turn, AssertionError)
    deep = _weight(2, 3, 4, input_dim=2, output_dim=1)
    permute_param_layout_(deep, input_dim=0, output_dim=1)
    return Found(facts, {"of three": list(deep.shape)})
