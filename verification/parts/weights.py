"""Weights on their way into a model: their names, and the parameters that take them."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import torch

from verification.parts.drawn import by_shape
from verification.parts.registry import Found, part, refused
from verification.parts.versions import first, in_group

_RANKS = 2


@part("weights-simple")
def simple() -> Found:
    """A tensor goes into a parameter of its shape, a number into one of one number."""
    from sglang.srt.model_loader import weight_utils as utils

    whole = torch.arange(24.0).reshape(6, 4)
    taken, number = torch.zeros(6, 4), torch.zeros(1)
    utils.default_weight_loader(taken, whole)
    utils.default_weight_loader(number, torch.tensor(3.0))
    return Found(
        {
            "the same": torch.equal(taken, whole), "a number": number.tolist() == [3.0],
            "another shape is refused": refused(
                partial(utils.default_weight_loader, number, whole), AssertionError
            ),
        }
    )  # fmt: skip


@part("weights-rows")
def rows() -> Found:
    """A rank takes its rows of a matrix; a tensor may come as a slice of a file."""
    from sglang.srt.model_loader import weight_utils as utils

    load = first("row_parallel_weight_loader", utils.__name__)
    read = first("convert_pyslice_to_tensor", utils.__name__)
    whole, share = torch.arange(24.0).reshape(6, 4), torch.zeros(2, 4)
    with in_group(1, 3, utils):
        load(share, whole)
    return Found({"its rows": torch.equal(share, whole[2:4]), "a slice": torch.equal(read(whole), whole)})


@part("weights-names")
def names() -> Found:
    """Names of weights change by what is inside, before or behind, the longest first; some weights leave."""
    from sglang.srt.models.utils import WeightsMapper

    made = WeightsMapper(
        orig_to_new_substr={".attn.": ".self_attn.", "rotary": None},
        orig_to_new_prefix={"m.": "model.", "m.head.": "head.", "vision.": None},
        orig_to_new_suffix={".gamma": ".weight", ".beta": None},
    )
    given = {
        "m.0.attn.q.gamma": "model.0.self_attn.q.weight", "m.head.w": "head.w", "other.m.": "other.m.",
        "m.rotary.x": None, "vision.w": None, "m.beta": None, "beta": "beta",
    }  # fmt: skip
    left = [new for new in given.values() if new]
    pairs = list(made.apply((name, torch.zeros(1)) for name in given))
    table = made.apply_dict({name: number for number, name in enumerate(given)})
    return Found(
        {
            "of weights": [name for name, _ in pairs] == left, "of a dictionary": list(table) == left,
            "of a list": made.apply_list(list(given)) == left,
        },
        {"places": list(table.values())},
    )  # fmt: skip


def _experts(rank: int, **more: Any) -> Any:
    """A layer of experts without memory, of a rank that divides them."""
    from sglang.srt.layers.moe.fused_moe_triton.layer import FusedMoE

    known = {
        "moe_tp_rank": rank, "quant_config": None, "quant_method": None, "use_triton_kernels": False,
        "use_presharded_weights": False,
    }  # fmt: skip
    kind = type("Experts", (FusedMoE,), {**known, **more})
    return kind.__new__(kind)


@part("weights-of-experts-in-one")
def experts() -> Found:
    """The matrices of all experts in one tensor: each rank takes its share, and turns it for Triton."""
    up, down = by_shape(3, 8, 6), by_shape(3, 6, 8)
    facts: dict[str, bool] = {}
    for rank in range(_RANKS):
        for triton in (False, True):
            made = _experts(rank, use_triton_kernels=triton)
            for shard, disk, dim in (("w13", up, 1), ("w2", down, 2)):
                right = disk.chunk(_RANKS, dim)[rank]
                right = right.transpose(1, 2).contiguous() if triton else right
                taken = torch.nn.Parameter(torch.zeros_like(right), requires_grad=False)
                made.weight_loader_fused(taken, disk, "weight", shard)
                facts[f"{shard} of {rank}, {triton=}"] = torch.equal(taken, right)
        bias = torch.nn.Parameter(torch.zeros(3, 4), requires_grad=False)
        _experts(rank).weight_loader_fused(bias, by_shape(3, 8), "weight_bias", "w13")
        facts[f"bias of {rank}"] = torch.equal(bias, by_shape(3, 8).chunk(_RANKS, 1)[rank])
    four_bits = SimpleNamespace(get_name=lambda: "mxfp4", is_static_cfg=lambda: True)
    made = _experts(0, quant_config=four_bits)
    for name, disk in (("bias", by_shape(3, 6)), ("weight", up), ("scale", by_shape(3, 8))):
        wide = [size + 2 * (number > 0 and name != "scale") for number, size in enumerate(disk.shape)]
        taken = torch.nn.Parameter(torch.zeros(wide), requires_grad=False)
        made.weight_loader_fused(taken, disk, name, "w13")
        corner = taken.data[tuple(slice(size) for size in disk.shape)]
        facts[f"{name} in four bits"] = torch.equal(corner, disk) and bool(
            taken.count_nonzero() == disk.count_nonzero()
        )
    names = made.make_expert_params_mapping_fused_mxfp4(*"abcdef")
    return Found(facts, {"names": [list(each) for each in names]})
