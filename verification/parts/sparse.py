"""Sparse attention: its cache in FP8, and how a long prompt is split between ranks."""

from __future__ import annotations

import contextlib
import importlib
from types import ModuleType, SimpleNamespace
from typing import Any

import torch

from verification.machine.trace import digest_of
from verification.parts.registry import Found, part

_NOPE, _ROPE = 512, 64
_BLOCKS, _SIZE = 3, 4
_RANKS = 4


def _module(name: str, function: str) -> ModuleType:
    """The module of sparse attention that has a function, by either of its names.

    Raises ImportError where none has it: later versions do this elsewhere.
    """
    for kind in ("dsa", "nsa"):
        with contextlib.suppress(ModuleNotFoundError):
            found = importlib.import_module(f"sglang.srt.layers.attention.{kind}.{name}")
            if hasattr(found, function):
                return found
    raise ImportError(f"no {function} of sparse attention")


@part("cache-of-sparse-attention")
def cache() -> Found:
    """What is kept in FP8, by the code that says how and by the one that serves, and what is read again."""
    quantize = _module("quant_k_cache", "_quantize_k_cache_ref")
    dequantize = _module("dequant_k_cache", "_dequantize_k_cache_ref")
    draw = torch.Generator().manual_seed(1)
    kept = torch.randn(_BLOCKS, _SIZE, 1, _NOPE + _ROPE, generator=draw).to(torch.bfloat16).to("cuda")
    slow = quantize._quantize_k_cache_ref(kept.clone())
    read = dequantize._dequantize_k_cache_ref(slow)
    near = (read.float() - kept.float()).abs().max().item()
    fast = quantize.quantize_k_cache(kept.clone())
    whole = dequantize.dequantize_k_cache(fast)
    pages = torch.tensor([5, 0, 11, 5], dtype=torch.int32).to("cuda")
    paged = dequantize.dequantize_k_cache_paged(fast.view(-1, 1, fast.shape[-1]), pages)
    flat = kept.view(-1, 1, _NOPE + _ROPE)
    nope, rope = quantize.quantize_k_cache_separate(
        flat[..., :_NOPE].contiguous(), flat[..., _NOPE:].contiguous()
    )
    served = {
        "whole": digest_of(fast.view(torch.uint8)), "whole, read": digest_of(whole),
        "pages": digest_of(paged), "apart": [digest_of(nope), digest_of(rope)],
    }  # fmt: skip
    return Found(
        {
            "positions are kept": torch.equal(read[..., _NOPE:], kept[..., _NOPE:]),
            "the rest is near": near < 0.25,
            "a page is what it is in the whole": torch.equal(paged[1], whole.view(-1, 1, _NOPE + _ROPE)[0]),
        },
        {"as it says": digest_of(slow.view(torch.uint8)), "read": digest_of(read), "served": served},
    )


@part("split-prompts")
def split() -> Found:
    utils = _module("utils", "prepare_input_dp_with_cp_dsa")
    told: dict[str, Any] = {}
    whole = []
    for total in (2 * _RANKS, 13, 41):
        data = torch.arange(2 * total, dtype=torch.float32).view(total, 2).to("cuda")
        positions = torch.arange(total).to("cuda")
        ranks, places = [], []
        for rank in range(_RANKS):
            batch = SimpleNamespace(
                nsa_cp_metadata=utils.prepare_input_dp_with_cp_dsa(total, rank, _RANKS, [total])
            )
            ranks.append(utils.cp_split_and_rebuild_data(batch, data).tolist())
            places.append(utils.cp_split_and_rebuild_position(batch, positions).tolist())
            told[f"{total}, rank {rank}"] = {
                name: value
                for name, value in sorted(vars(batch.nsa_cp_metadata).items())
                if isinstance(value, (int, list))
            }
        whole.append(sorted(place for each in places for place in each) == list(range(total)))
        told[f"{total}"] = [ranks, places]
    told["blocks"] = [
        utils.calculate_cp_seq_idx(list(blocks), list(lengths))
        for blocks, lengths in (((4, 4, 4), (5, 7)), ((4, 4), (4, 4)), ((2, 6), (1, 1, 6)))
    ]
    return Found({"each token is in one part": all(whole)}, told)
