"""What is asked and said: requests in every form, limits of sampling, text again from tokens, positions."""

from __future__ import annotations

import contextlib
import dataclasses
from itertools import product
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch

from verification.models import tokenizer
from verification.parts.events import Events, plain
from verification.parts.registry import Found, part
from verification.parts.requests import VOCABULARY, Letters
from verification.parts.versions import first, takes


def _said(function: Any, *args: Any, **named: Any) -> Any:
    """What a call gives, or the error that it ends with: that a request is refused is part of the answer."""
    try:
        return plain(function(*args, **named))
    except (ValueError, TypeError, AssertionError) as error:
        return f"{type(error).__name__}: {error}"


@part("asked")
def asked() -> Found:
    """Requests of one text or many, of tokens, several samples of each, and what is refused."""
    from sglang.srt.managers.io_struct import GenerateReqInput

    texts: tuple[dict[str, Any], ...] = (
        {"text": "a"}, {"text": ["a", "b"]}, {"input_ids": [1, 2]}, {"input_ids": [[1, 2], [3]]},
        {"input_embeds": [[0.5, 1.0]]}, {"input_ids": []}, {},
    )  # fmt: skip
    more: tuple[dict[str, Any], ...] = (
        {}, {"sampling_params": {"n": 2}}, {"sampling_params": [{"n": 2}, {"n": 2}]},
        {"sampling_params": [{"n": 1}, {"n": 2}]}, {"rid": "r"}, {"rid": ["r", "s"]},
        {"return_logprob": True, "logprob_start_len": 2, "top_logprobs_num": 3, "token_ids_logprob": [4, 5]},
        {"return_logprob": [True, False], "token_ids_logprob": [[4], [5]]}, {"token_ids_logprob": 7},
        {"bootstrap_host": "h", "bootstrap_port": 1, "bootstrap_room": 5},
        {"bootstrap_room": [5, 9], "bootstrap_host": ["h", "i"], "bootstrap_port": [1, 2]},
        {"custom_logit_processor": "p", "extra_key": "k"}, {"priority": 2, "stream": True},
        {"session_params": {"id": "s"}}, {"session_params": 3},
        {"return_logprob": [True, False], "sampling_params": {"n": 2}},
        {"lora_path": "l"}, {"lora_path": ["l", "m"]}, {"lora_path": "l", "sampling_params": {"n": 2}},
    )  # fmt: skip
    values: dict[str, Any] = {}
    number = iter(range(10**6))
    with mock.patch("uuid.uuid4", lambda: SimpleNamespace(hex=f"id{next(number)}")):
        for text, rest in product(texts, more):
            request = GenerateReqInput(**text, **rest)
            said = _said(request.normalize_batch_and_arguments)
            seen = [said, _fields(request)]
            if said is None and not request.is_single:
                seen.append(
                    _said(lambda one=request: [_fields(one[index]) for index in range(one.batch_size)])
                )
                seen.append(_said(request.regenerate_rid) if hasattr(request, "regenerate_rid") else None)
            values[f"{text}, {rest}"] = seen
    refused = sum(isinstance(one[0], str) for one in values.values())
    return Found({"some are refused": refused > 10, "most are not": refused < len(values) / 2}, values)


def _fields(request: Any) -> Any:
    return {
        one.name: plain(getattr(request, one.name))
        for one in dataclasses.fields(request)
        if "time" not in one.name
    }


@part("limits")
def limits() -> Found:
    """Settings of sampling at and beyond their limits, with stops by text and by patterns."""
    from sglang.srt.sampling.sampling_params import SamplingParams

    forms: dict[str, tuple[Any, ...]] = {
        "temperature": (-0.1, 0.0, 1e-7, 0.5), "top_p": (0.0, 0.1, 1.0, 1.1), "min_p": (-0.1, 0.0, 1.0, 1.1),
        "top_k": (-1, 0, 1, 50), "frequency_penalty": (-2.1, -2.0, 2.0, 2.1),
        "presence_penalty": (-2.1, -2.0, 2.0, 2.1), "repetition_penalty": (-0.1, 0.0, 2.0, 2.1),
        "min_new_tokens": (-1, 0, 128, 129), "max_new_tokens": (None, -1, 0, 1),
        "logit_bias": (None, {"0": 1.0}, {str(VOCABULARY - 1): 1.0}, {str(VOCABULARY): 1.0}, {"-1": 1.0}),
        "stop": (None, "abc", ["a", "bcde"], []), "stop_token_ids": (None, [1, 1, 2]),
        "stop_regex": (None, "", "a+b", ["a{2,5}", "(ab|cde)?f", "[a-z]", "x*", "^a.$"]),
        "json_schema": (None, "{}"), "ignore_eos": (True,), "skip_special_tokens": (False,),
    }  # fmt: skip
    values: dict[str, Any] = {}
    for name, settings in forms.items():
        for setting in settings:
            for known in (None, Letters()):
                try:
                    made = SamplingParams(**{name: setting})
                    made.normalize(known)
                except (ValueError, TypeError) as error:
                    values[f"{name}={setting}, {known is None}"] = str(error)
                    continue
                said = _said(made.verify, VOCABULARY)
                seen = {key: plain(value) for key, value in sorted(_slots(made).items())}
                values[f"{name}={setting}, {known is None}"] = [said, seen]
    two = SamplingParams(json_schema="{}", regex="a")
    two.normalize(None)
    values["two grammars"] = _said(two.verify, VOCABULARY)
    return Found({"refused": isinstance(values["top_k=0, True"][0], str)}, values)


def _slots(made: Any) -> dict[str, Any]:
    names = getattr(made, "__struct_fields__", None) or vars(made)
    return {name: getattr(made, name) for name in names}


class Bytes:
    """A tokenizer whose tokens are single bytes: a letter of several is whole only with its last."""

    def decode(self, tokens: list[int], **settings: bool) -> str:
        kept = [token for token in tokens if token or not settings.get("skip_special_tokens")]
        return bytes(kept).decode("utf-8", "replace")

    def batch_decode(self, many: list[list[int]], **settings: bool) -> list[str]:
        return [self.decode(each, **settings) for each in many]


@part("text-again")
def text_again() -> Found:
    """Tokens of several requests at once become text: letters in halves, stops, and special tokens."""
    from sglang.srt.managers.detokenizer_manager import DetokenizerManager

    values: dict[str, Any] = {}
    whole = {"a": "Paris — 你好, naïve \n<stop>rest", "b": f"{tokenizer.USER}why?", "c": "", "d": "x y"}
    said: dict[str, str] = {}
    for alone, trim in product((False, True), (False, True)):
        made = DetokenizerManager.__new__(DetokenizerManager)
        made.__dict__.update(
            decode_status={}, tokenizer=Bytes(), disable_tokenizer_batch_decode=alone, is_dummy=False,
            is_tool_call_parser_gpt_oss=False, vocab_size=256,
            tool_close_token_ids=frozenset(),
        )  # fmt: skip
        events = Events(4)
        left = {name: [*text.encode(), 0] for name, text in whole.items()}
        said = dict.fromkeys(left, "")
        while left:
            names = sorted(left) if events.draw.random() < 0.5 else [events.draw.choice(sorted(left))]
            taken = {name: [left[name].pop(0) for _ in range(min(3, len(left[name])))] for name in names}
            over = [not left[name] for name in names]
            reasons = [
                _reason(name, taken[name]) if end else None for name, end in zip(names, over, strict=True)
            ]
            asked_for = SimpleNamespace(
                rids=names, decoded_texts=[""] * len(names), decode_ids=[taken[name] for name in names],
                read_offsets=[0] * len(names), finished_reasons=reasons, no_stop_trim=[trim] * len(names),
                skip_special_tokens=[name != "b" for name in names],
                spaces_between_special_tokens=[True] * len(names),
            )  # fmt: skip
            texts = made._decode_batch_token_id_output(asked_for)
            events.add("text", names, texts, [each in made.decode_status for each in names])
            for name, text in zip(names, texts, strict=True):
                said[name] += text
            left = {name: rest for name, rest in left.items() if rest}
        values[f"{alone=}, {trim=}"] = events.all
    kept = said["d"].rstrip("\0") == whole["d"] and said["b"].rstrip("\0") == whole["b"]
    return Found({"text is whole": kept}, values)


def _reason(name: str, tokens: list[int]) -> dict[str, Any]:
    if name == "a":
        return {"type": "stop", "matched": "<stop>"}
    return {"type": "stop", "matched": tokens[-1]} if name == "b" else {"type": "length"}


@part("positions")
def positions() -> Found:
    """Rotary positions as DeepSeek extends them, and plain ones."""
    from sglang.srt.layers import rotary_embedding as module

    draws = torch.Generator().manual_seed(2)
    values: dict[str, Any] = {}
    yarn = {
        "rope_type": "deepseek_yarn", "factor": 4, "original_max_position_embeddings": 32, "beta_fast": 32,
        "beta_slow": 1, "mscale": 1.0, "mscale_all_dim": 0.7,
    }  # fmt: skip
    kinds = ((None, False), (None, True), (yarn, False))  # upstream takes no batch of other pairs
    for (scaling, neox), part_of in product(kinds, (16, 24)):
        made = module.get_rope(
            part_of, rotary_dim=16, max_position=32, base=10000, rope_scaling=scaling, is_neox_style=neox,
            dtype=torch.float32,
        )  # fmt: skip
        name = f"{scaling is None}, {neox=}, {part_of}"
        values[f"{name}, table"] = plain(made.cos_sin_cache.flatten()[::7][:60])
        where = torch.tensor([0, 1, 5, 31, 17])
        query, key = torch.randn(5, 2, part_of, generator=draws), torch.randn(5, 1, part_of, generator=draws)
        for offsets in (None, torch.tensor([0, 0, 1, 0, 3])):
            turned = made.forward_native(where, query.clone(), key.clone(), offsets)
            values[f"{name}, {offsets is None}"] = [plain(each.reshape(-1)[::5]) for each in turned]
    # it has moved in later versions
    yarn_scale = getattr(module, "yarn_get_mscale", None) or module.yarn.yarn_get_mscale
    scales = [yarn_scale(scale, much) for scale in (0.5, 1, 4, 40) for much in (0.0, 0.707, 1.0)]
    return Found({"no scale below one": scales[:3] == [1.0] * 3}, {**values, "scales": scales})


@part("probabilities")
def probabilities() -> Found:
    """Log-probabilities of a prompt: the best tokens, and some that are asked for, whole and in pieces."""
    lengths, best, some = [3, 0, 4, 2], [2, 1, 0, 3], [[1, 2], None, [0], [5, 6, 7]]
    draws = torch.Generator().manual_seed(6)
    found = torch.log_softmax(torch.randn(sum(lengths), 12, generator=draws), -1)
    given = SimpleNamespace(
        top_logprobs_nums=best, token_ids_logprobs=some, extend_logprob_pruned_lens_cpu=lengths,
        temp_scaled_logprobs=True, top_p_normalized_logprobs=True,
    )  # fmt: skip
    best_of_piece, some_of_piece = _of("get_top_logprobs_chunk"), _of("get_token_ids_logprobs_chunk")
    values = {
        "best": plain(_of_prompt("get_top_logprobs", found, given, best)),
        "some": plain(_of_prompt("get_token_ids_logprobs", found, given, some)),
        "best of each": plain(_of("get_top_logprobs")(found[:4], best)),
        "some of each": plain(_of("get_token_ids_logprobs")(found[:4], some)),
    }
    # later versions do without what they never read of it
    more = [given] if takes(best_of_piece, "logits_metadata") else []
    for size in (2, 4, 5):
        tops: list[Any] = [[], []]
        asked_for: list[Any] = [[], []]
        cut, cut_too = 0, 0
        for start in range(0, len(found), size):
            piece = found[start : start + size]
            share = _share(lengths, start, start + len(piece))
            numbers = [index for index, count in enumerate(share) if count]
            counts = [share[index] for index in numbers]
            cut = best_of_piece(piece, *more, [best[index] for index in numbers], counts, *tops, cut)
            cut_too = some_of_piece(piece, [some[index] for index in numbers], counts, *asked_for, cut_too)
            values[f"pieces of {size}, from {start}"] = plain([cut, cut_too, tops, asked_for])
    return Found({"pieces": len(values) > 8}, values)


def _of(name: str) -> Any:
    """A function of log-probabilities, wherever this version has it."""
    return first(name, "sglang.srt.layers.utils.logprob", "sglang.srt.layers.logprob_processor")


def _of_prompt(name: str, found: torch.Tensor, given: Any, asked_for: list[Any]) -> Any:
    """What is asked for of a prompt: later versions have one function for a prompt and for what follows."""
    with contextlib.suppress(ImportError):
        return _of(f"{name}_prefill")(found, given)
    from sglang.srt.layers.logprob_processor import LogprobStage

    lengths = given.extend_logprob_pruned_lens_cpu
    return _of(f"{name}_raw")(found, asked_for, LogprobStage.PREFILL, lengths)


def _share(lengths: list[int], start: int, end: int) -> list[int]:
    """How many rows of each request lie between two rows."""
    found, at = [], 0
    for length in lengths:
        found.append(max(0, min(end, at + length) - max(start, at)))
        at += length
    return found
