"""Slots of what is kept and of drafts, padded queries, and logits, by their kernels."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from verification.parts.drawn import draw, error, told, whole
from verification.parts.registry import Found, part
from verification.parts.versions import first

_DRAFTED = 4  # tokens that are drafted for each request
_BOUND = 30.0


def _drafts(name: str) -> Any:
    return first(name, "sglang.srt.speculative.spec_utils", "sglang.kernels.ops.speculative.cache_locs")


@part("logits-within-bounds")
def logits_within_bounds() -> Found:
    from sglang.srt.layers.logits_processor import fused_softcap

    logits = draw(3, 700, seed=1, dtype=torch.float32) * 40
    wanted = _BOUND * torch.tanh(logits / _BOUND)
    found = fused_softcap(logits, _BOUND)
    return Found(
        {"they are near": error(found, wanted) < 1e-4, "in place": found.data_ptr() == logits.data_ptr()},
        {"found": told(found)},
    )


@part("padded-drafts")
def padded_drafts() -> Found:
    """Queries of drafts of several lengths are padded to one, and what comes out is put together again."""
    from sglang.srt.layers.attention.trtllm_mla_backend import TRTLLMMLABackend

    lengths, ends, heads, width = (2, 0, 3), (0, 2, 2, 5), 70, 80
    q = draw(ends[-1], heads, width, seed=5)
    padded = torch.zeros(len(lengths), _DRAFTED, heads, width, dtype=q.dtype).to("cuda")
    TRTLLMMLABackend.pad_draft_extend_query(SimpleNamespace(), q, padded, whole(*lengths), whole(*ends))
    wanted = torch.zeros_like(padded)
    for request, length in enumerate(lengths):
        wanted[request, :length] = q[ends[request] : ends[request + 1]]
    facts = {"they are padded": torch.equal(padded, wanted)}
    for name, buffer in (("new", None), ("kept", torch.zeros(9, heads, width).to("cuda"))):
        out = TRTLLMMLABackend.unpad_draft_extend_output(
            SimpleNamespace(unpad_output_buffer=buffer), padded, whole(*ends), whole(*lengths), ends[-1]
        )
        facts[f"they come back in {name} memory"] = torch.equal(out, q)
    return Found(facts)


@part("slots-of-taken-drafts")
def slots_of_taken_drafts() -> Found:
    """What is taken of each draft keeps the first slots; the last slots are free again."""
    spread = _drafts("get_target_cache_loc")
    taken, freed = (1, 0, 3), (2, 3, 0)  # beside what is taken, a request keeps one more
    slots = torch.arange(100, 100 + len(taken) * _DRAFTED).to("cuda")
    kept = torch.zeros(sum(taken) + len(taken), dtype=torch.int64).to("cuda")
    free = torch.zeros(sum(freed), dtype=torch.int64).to("cuda")
    spread[(len(taken),)](kept, free, whole(*taken), whole(*freed), slots, _DRAFTED, _DRAFTED, 4)
    rows = slots.view(-1, _DRAFTED)
    wanted = [row[: count + 1] for row, count in zip(rows, taken, strict=True)]
    unwanted = [row[_DRAFTED - count :] for row, count in zip(rows, freed, strict=True)]
    return Found(
        {"kept": torch.equal(kept, torch.cat(wanted)), "free": torch.equal(free, torch.cat(unwanted))}
    )


@part("slots-of-unfinished-requests")
def slots_of_unfinished_requests() -> Found:
    """Of the slots that were kept, those of requests that go on."""
    keep = _drafts("filter_finished_cache_loc_kernel")
    taken, counts = (1, 0, 3), (2, 0, 4)  # the second request is at its end
    slots = torch.arange(200, 200 + sum(taken) + len(taken)).to("cuda")
    kept = torch.zeros(sum(counts), dtype=torch.int64).to("cuda")
    keep[(len(taken),)](kept, slots, whole(*taken), whole(*counts), 4, _DRAFTED)
    return Found({"kept": kept.tolist() == [200, 201, 203, 204, 205, 206]})


@part("slots-of-whole-pages")
def slots_of_whole_pages() -> Found:
    """Slots of drafts that are not taken are given up, but for those of the page that is still in use."""
    align = _drafts("align_evict_mask_to_page_size")
    lengths, page = (6, 8, 3), 4
    given = [[False, True, True, True], [True, True, True, True], [False, False, False, True]]
    mask = torch.tensor(given).to("cuda")
    align[(len(lengths),)](whole(*lengths, dtype=torch.int64), mask, page, _DRAFTED, _DRAFTED)
    wanted = []
    for length, row in zip(lengths, given, strict=True):
        start = (length + row.count(False) - 1) // page * page - length
        wanted.append([one and not start <= at < start + page for at, one in enumerate(row)])
    return Found({"they are right": mask.tolist() == wanted}, {"given up": mask.tolist()})


@part("slots-that-are-freed")
def slots_that_are_freed() -> Found:
    """Where what is taken was drafted, and how many slots past whole pages are free again."""
    from sglang.srt.speculative.spec_utils import create_accept_length_filter, get_src_tgt_cache_loc

    lengths, taken = whole(6, 8, 3, dtype=torch.int64), whole(1, 0, 3)
    slots = torch.arange(100, 100 + 3 * _DRAFTED).to("cuda")
    indices = whole(0, 2, 4, 8, 9, 10, 11, dtype=torch.int64)
    source, target, freed = get_src_tgt_cache_loc(lengths, slots, indices, taken, _DRAFTED, 4)
    counts = create_accept_length_filter(taken, whole(0, 2, dtype=torch.int64), lengths)
    return Found(
        {
            "source": torch.equal(source, slots[indices]),
            "target": target.shape == source.shape,
            "whole pages are free": freed.tolist() == [2, 0, 0],
            "counts": counts.tolist() == [2, 0, 4],
            "lengths": lengths.tolist() == [8, 9, 7],
        }
    )
