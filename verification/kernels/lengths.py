"""Kernels that make lengths which are read back: on the numbers that are known where only shapes exist."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch


def _of_draft_extension(device: Any, given: Mapping[str, Any]) -> bool:
    """Each sequence is extended by as many tokens as a draft has; False: its length is not known."""
    lengths = device.shadow(given["seq_lens"])
    if lengths is None:
        return False
    width, front = given["WIDTH"], given["FRONT"]
    made = {
        "prefix_lens": (lengths - front).clamp(min=0),
        "extend_lens": torch.full_like(lengths, width + front),
        "post_lens": lengths + width,
    }
    if given.get("MAKE_POSITIONS"):
        made["positions"] = (made["prefix_lens"][:, None] + torch.arange(width)).flatten()
        made["start_locs"] = torch.arange(len(lengths)) * width
    for name, numbers in made.items():
        device.shadows[given[name]] = numbers.to(given[name].dtype)
    return True


#: By kernel. Each is given the device and the kernel's arguments by name, and says whether it knew enough.
LENGTHS: dict[str, Callable[[Any, Mapping[str, Any]], bool]] = {
    "_prepare_draft_extend_lengths_kernel": _of_draft_extension,
}
