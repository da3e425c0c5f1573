"""Weights on their way into a model: their names, and the parameters that take them."""

from __future__ import annotations

import torch

from verification.parts.registry import Found, part
from verification.parts.versions import first, in_group


@part("weights-simple")
def simple() -> Found:
    """A tensor goes into a parameter of its shape, a number into one of one number."""
    from sglang.srt.model_loader import weight_utils as utils

    whole = torch.arange(24.0).reshape(6, 4)
    taken, number = torch.zeros(6, 4), torch.zeros(1)
    utils.default_weight_loader(taken, whole)
    utils.default_weight_loader(number, torch.tensor(3.0))
    try:
        utils.default_weight_loader(number, whole)
        refused = False
    except AssertionError:
        refused = True
    return Found(
        {
            "the same": torch.equal(taken, whole), "a number": number.tolist() == [3.0],
            "another shape is refused": refused,
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
