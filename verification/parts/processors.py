"""Processors: what changes logits before a token is drawn, and what listens to a layer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from verification.machine.trace import digest_of
from verification.parts.registry import Found, part

_SIZE = 64
_BEGIN, _END, _LINE = 10, 11, 12


def _logits(rows: int) -> torch.Tensor:
    return torch.randn(rows, _SIZE, generator=torch.Generator().manual_seed(1)).to("cuda")


def _asked(output: list[int], **more: Any) -> dict[str, Any]:
    return {"__req__": SimpleNamespace(origin_input_ids=[1, _BEGIN, 2], output_ids=output), **more}


@part("budget-of-thoughts")
def budget() -> Found:
    from sglang.srt.sampling import custom_logit_processor as processors

    class Budget(processors.DeepSeekR1ThinkingBudgetLogitProcessor):  # type: ignore[misc, name-defined]
        THINKING_START_TOKEN_ID, THINKING_END_TOKEN_ID, NEW_LINE_TOKEN_ID = _BEGIN, _END, _LINE

    rows = [
        _asked([3, 4], thinking_budget=2),  # a new line comes first
        _asked([3, _LINE], thinking_budget=2),  # and then the end of the thoughts
        _asked([3, _END, 4], thinking_budget=2),
        _asked([3], thinking_budget=9),
        _asked([3], thinking_budget="2"),
        _asked([3]),
        None,
    ]
    logits = Budget()(_logits(len(rows)), rows)
    original = _logits(len(rows))
    named = processors.DeepSeekR1ThinkingBudgetLogitProcessor
    again = processors.CustomLogitProcessor.from_str(named.to_str())
    return Found(
        {
            "drawn": logits[:2].argmax(dim=-1).tolist(),
            "the others": torch.equal(logits[2:], original[2:]),
            "sent and read": type(again).__name__,
        },
        {"logits": digest_of(logits)},
    )


@part("no-repeated-words")
def repeated() -> Found:
    from sglang.srt.sampling.custom_logit_processor import DeepseekOCRNoRepeatNGramLogitProcessor

    said = [5, 6, 7, 5, 6]
    rows = [
        _asked(said, ngram_size=3, window_size=9),
        _asked(said, ngram_size=3, window_size=9, whitelist_token_ids=[7]),
        _asked(said, ngram_size=1, window_size=2),
        _asked(said, ngram_size=9, window_size=4),
        _asked(said, ngram_size="x", window_size=4),
        {"ngram_size": 3, "window_size": 9},
        {},
    ]
    logits = DeepseekOCRNoRepeatNGramLogitProcessor()(_logits(len(rows)), rows)
    banned = [torch.nonzero(torch.isinf(row)).flatten().tolist() for row in logits]
    return Found({"banned": banned}, {"logits": digest_of(logits)})


heard: list[str] = []


def listener(config: dict[str, Any]) -> Any:
    """A hook as a user names it in `forward_hooks`."""
    return lambda module, given, result: heard.append(f"{config['name']} {type(module).__name__}")


def deaf(config: dict[str, Any]) -> None:
    return None


@part("hooks")
def hooks() -> Found:
    from sglang.srt.model_executor.hook_manager import register_forward_hooks, resolve_callable

    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
    here = __name__
    register_forward_hooks(
        model,
        [
            {
                "name": "a",
                "target_modules": ["0"],
                "hook_factory": f"{here}:listener",
                "config": {"name": "a"},
            },
            {
                "name": "b",
                "target_modules": ["*"],
                "hook_factory": f"{here}.listener",
                "config": {"name": "b"},
            },
            {
                "name": "c",
                "target_modules": ["9"],
                "hook_factory": f"{here}.listener",
                "config": {"name": "c"},
            },
            {"name": "d", "target_modules": ["0"], "hook_factory": f"{here}.deaf"},
            {"name": "e", "target_modules": ["0"]},
            {"name": "f"},
        ],
    )
    heard.clear()
    model(torch.ones(1, 4))
    refused = []
    for path in ("listener", f"{here}:nothing"):
        try:
            resolve_callable(path)
        except (ValueError, AttributeError) as error:
            refused.append(type(error).__name__)
    return Found({"heard": sorted(heard), "refused": refused}, {"nothing": resolve_callable(None)})
