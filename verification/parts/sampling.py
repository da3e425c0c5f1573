"""Tokens are sampled by the torch of upstream: seeds, limits, log-probabilities, processors of logits."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from verification.parts.events import plain
from verification.parts.registry import Found, part
from verification.parts.versions import accepted, alone, configured, first

_ROWS, _VOCABULARY = 6, 30


def _draw(seed: int, rows: int = _ROWS) -> torch.Tensor:
    return torch.randn(rows, _VOCABULARY, generator=torch.Generator().manual_seed(seed)).to("cuda")


def _info(seeded: bool, greedy: bool = False, **limits: bool) -> Any:
    from sglang.srt.sampling.sampling_batch_info import SamplingBatchInfo

    count = range(_ROWS)
    some_greedy = accepted(SamplingBatchInfo, is_any_greedy=greedy)
    return SamplingBatchInfo(
        temperatures=torch.tensor([[0.5 + index / 4] for index in count]),
        top_ps=torch.tensor([0.3 + index / 10 for index in count]),
        top_ks=torch.tensor([1 + 3 * index for index in count], dtype=torch.int32),
        min_ps=torch.tensor([index / 20 for index in count]), is_all_greedy=greedy,
        need_top_p_sampling=limits.get("top_p", False), need_top_k_sampling=limits.get("top_k", False),
        need_min_p_sampling=limits.get("min_p", False), vocab_size=_VOCABULARY,
        sampling_seed=torch.tensor([17 * index + 3 for index in count]) if seeded else None, device="cuda",
        **some_greedy,
    )  # fmt: skip


@part("sampler")
def sampler() -> Found:
    """Each way to sample, each with log-probabilities of the best tokens and of some."""
    from sglang.srt.layers import sampler as module
    from sglang.srt.layers.logits_processor import LogitsProcessorOutput

    values: dict[str, Any] = {}
    with configured(sampling_backend="pytorch"):
        with alone(module, SimpleNamespace(device_group=None)):
            made = module.Sampler()
        for seeded in (False, True):
            for limits in ({}, {"top_p": True}, {"top_k": True}, {"min_p": True}, {"greedy": True}):
                for logprobs in (False, True):
                    torch.manual_seed(4)
                    for number in range(4):
                        said = LogitsProcessorOutput(next_token_logits=_draw(number), hidden_states=None)
                        name = f"{seeded=}, {limits}, {logprobs=}, {number}"
                        try:
                            tokens = made(
                                said, _info(seeded, **limits), logprobs, [2, 0, 1, 0, 0, 3],
                                [None, [1, 2], None, [3], None, None], torch.arange(_ROWS) + number,
                            )  # fmt: skip
                        except AssertionError as error:  # later versions refuse a seed under limits
                            values[name] = str(error)
                            continue
                        values[name] = [plain(tokens), _said(said)]
        for top, some in (
            ([0] * _ROWS, [None] * _ROWS), ([1] * _ROWS, [None] * _ROWS), ([2] * _ROWS, [[1, 5]] * _ROWS),
        ):  # fmt: skip
            said = LogitsProcessorOutput(next_token_logits=_draw(2), hidden_states=None)
            whether = accepted(made.compute_logprobs_only, return_logprob=True)
            made.compute_logprobs_only(
                said, _info(False), **whether, top_logprobs_nums=top, token_ids_logprobs=some
            )
            values[f"only probabilities, {top[0]}"] = _said(said)
    return Found({"ways": len({str(one[0]) for one in values.values()}) > 6}, values)


def _said(said: Any) -> list[Any]:
    names = (
        "next_token_logprobs", "next_token_top_logprobs_val", "next_token_top_logprobs_idx",
        "next_token_token_ids_logprobs_val", "next_token_token_ids_logprobs_idx",
    )  # fmt: skip
    return [plain(getattr(said, name)) for name in names]


@part("sampled-by-seed")
def sampled_by_seed() -> Found:
    """A seed and a position give the same token whatever else is in the batch."""
    from sglang.srt.layers import sampler as module

    chances = torch.softmax(_draw(3), -1)
    seeds = torch.tensor([1, 2, 3, 2, 5, 6])
    rows = [
        module.multinomial_with_seed(chances, seeds, torch.full((_ROWS,), at)).flatten() for at in range(40)
    ]
    alone = [
        module.multinomial_with_seed(chances[:1], seeds[:1], torch.full((1,), at)).item() for at in range(40)
    ]
    some = [[1, 3], None, [2], [], [0, 2, 4], None]
    of_each = first(
        "get_token_ids_logprobs_batch_optimized", "sglang.srt.layers.sampler",
        "sglang.srt.layers.logprob_processor",
    )  # fmt: skip
    chosen = of_each(torch.log(chances), some)
    none = of_each(torch.log(chances), [None] * _ROWS)
    return Found(
        {"alone as in a batch": alone == [int(row[0]) for row in rows]},
        {"tokens": plain(rows), "chosen": plain(list(chosen)), "none": plain(list(none))},
    )  # fmt: skip


class Doubled:
    """A processor of logits: it doubles them, and adds what the request asks for."""

    def __call__(self, logits: torch.Tensor, parameters: list[Any]) -> torch.Tensor:
        more = torch.tensor([[(each or {}).get("more", 0.0)] for each in parameters])
        return logits * 2 + more.repeat_interleave(len(logits) // len(parameters), dim=0)


@part("processors")
def processors() -> Found:
    """Processors of logits for some requests of a batch, through filters and merges of batches."""
    from sglang.srt.layers.sampler import apply_custom_logit_processor
    from sglang.srt.sampling import penaltylib

    def batch(rows: list[int]) -> Any:
        info = _info(False)
        info.has_custom_logit_processor = True
        mask = torch.tensor([index in rows for index in range(_ROWS)])
        info.custom_logit_processor = {1: _for_some(mask)}
        info.custom_params = [{"more": float(index)} if index % 2 else None for index in range(_ROWS)]
        orchestrator = penaltylib.BatchedPenalizerOrchestrator
        info.penalizer_orchestrator = orchestrator(_VOCABULARY, _NOBODY, set())
        return info

    values: dict[str, Any] = {}
    for keep in ([0, 2], [1, 3, 5], [4], list(range(_ROWS))):
        info = batch([1, 2, 3])
        info.filter_batch(keep, torch.tensor(keep))
        values[f"kept {keep}"] = _processed(info)
        logits = _draw(5, len(keep))
        if info.has_custom_logit_processor:
            apply_custom_logit_processor(logits, info)
        values[f"logits of {keep}"] = plain(logits.sum(-1))
        other = batch([0])
        other.logit_bias = torch.ones(_ROWS, _VOCABULARY) if len(keep) > 1 else None
        other.is_all_greedy = True
        info.merge_batch(other)
        values[f"merged {keep}"] = [_processed(info), plain(info.logit_bias), info.is_all_greedy]
        logits = _draw(6, len(info))
        apply_custom_logit_processor(logits, info)
        values[f"logits of merged {keep}"] = plain(logits.sum(-1))
    logits = _draw(7, 2 * _ROWS)
    apply_custom_logit_processor(logits, batch([0, 4]), num_tokens_in_batch=2)
    values["two tokens each"] = plain(logits.sum(-1))
    return Found({"forms": len(values) > 12}, values)


class Nobody:
    """A batch without requests, for an orchestrator that refers to it weakly."""

    device, reqs = "cuda", ()


_NOBODY = Nobody()


def _for_some(mask: torch.Tensor) -> Any:
    """A processor for the requests of a mask: later versions keep their numbers."""
    from sglang.srt.sampling import sampling_batch_info

    if not hasattr(sampling_batch_info, "ProcessorEntry"):
        return Doubled(), mask
    rows = mask.nonzero().flatten()
    return sampling_batch_info.ProcessorEntry(processor=Doubled(), rows=rows.tolist(), indices=rows)


def _processed(info: Any) -> list[Any]:
    masks = info.custom_logit_processor
    return [
        plain({key: getattr(entry, "rows", None) or entry[1] for key, entry in masks.items()})
        if masks
        else None,
        plain(info.custom_params), info.has_custom_logit_processor, plain(info.temperatures),
        plain(info.top_ks),
    ]  # fmt: skip
