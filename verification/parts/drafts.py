"""What draft models leave for the next step: of requests that stay, of two batches, and of no request."""

from __future__ import annotations

from typing import Any

import torch

from verification.parts.events import plain
from verification.parts.registry import Found, part
from verification.parts.versions import accepted, takes

_BEST, _WIDTH = 3, 4
_FIELDS = ("topk_p", "topk_index", "hidden_states")  # besides the token that is sure


def _drafts(count: int, seed: int) -> Any:
    from sglang.srt.speculative.eagle_info import EagleDraftInput

    draw = torch.Generator().manual_seed(seed)
    return EagleDraftInput(
        topk_p=torch.rand(count, _BEST, generator=draw),
        topk_index=torch.randint(0, 99, (count, _BEST), generator=draw),
        hidden_states=torch.randn(count, _WIDTH, generator=draw),
        **{_sure(): torch.arange(count, dtype=torch.int32) + 10 * seed},
    )


def _sure() -> str:
    """The field of the token that the target model has agreed to."""
    from sglang.srt.speculative.eagle_info import EagleDraftInput

    return "verified_id" if takes(EagleDraftInput, "verified_id") else "bonus_tokens"


def _fields() -> tuple[str, ...]:
    return (*_FIELDS, _sure())


def _nothing() -> Any:
    """Drafts of no request, as a batch without one has them."""
    from sglang.srt.model_executor.forward_batch_info import CaptureHiddenMode
    from sglang.srt.speculative.eagle_info import EagleDraftInput

    if takes(EagleDraftInput, "verified_id"):
        return EagleDraftInput()
    return EagleDraftInput.create_idle_input("cpu", _WIDTH, torch.float32, _BEST, CaptureHiddenMode.FULL)


def _same(one: Any, fields: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(getattr(one, name), value) for name, value in fields.items())


def _rows(one: Any, rows: Any) -> dict[str, torch.Tensor]:
    return {name: getattr(one, name)[rows] for name in _fields()}


@part("drafts-stay")
def stay() -> Found:
    """Some requests stay: those of the indices, or the first where the others left before."""
    rows = torch.tensor([3, 0])
    given, left = _drafts(4, 1), _drafts(4, 1)
    given.filter_batch(rows, **accepted(given.filter_batch, has_been_filtered=False))
    facts = {"by index": _same(given, _rows(_drafts(4, 1), rows))}
    left.filter_batch(torch.tensor([0, 1, 2, 3]))
    facts["all"] = _same(left, _rows(_drafts(4, 1), slice(None)))
    return Found(facts, {"left": plain([getattr(given, name) for name in _fields()])})


@part("drafts-together")
def together() -> Found:
    """Two batches become one, in order; one that has nothing yet takes what the other has."""
    one, two = _drafts(2, 1), _drafts(3, 2)
    right = {name: torch.cat([getattr(one, name), getattr(two, name)]) for name in _fields()}
    one.merge_batch(two)
    facts = {"in order": _same(one, right)}
    empty = _nothing()
    empty.merge_batch(two)
    facts["the other's"] = _same(empty, _rows(two, slice(None)))
    two.merge_batch(_nothing())
    facts["its own"] = _same(two, _rows(_drafts(3, 2), slice(None)))
    return Found(facts)


@part("drafts-later")
def later() -> Found:
    """Where the numbers come later, only their places stay, and come together."""
    from sglang.srt.managers import overlap_utils
    from sglang.srt.speculative.eagle_info import EagleDraftInput

    kind = getattr(overlap_utils, "FutureIndices", None)  # later versions keep the places themselves

    def at(*places: int) -> Any:
        kept = torch.tensor(places)
        return EagleDraftInput(future_indices=kind(indices=kept) if kind else kept)

    one, two = at(4, 5, 6), at(9)
    one.filter_batch(torch.tensor([2, 0]))
    one.merge_batch(two)
    found = one.future_indices.indices if kind else one.future_indices
    return Found({"places": found.tolist() == [6, 4, 9]})


@part("drafts-of-nobody")
def nobody() -> Found:
    """No request: every tensor is there and has no row."""
    from sglang.srt.model_executor.forward_batch_info import CaptureHiddenMode
    from sglang.srt.speculative.eagle_info import EagleDraftInput, EagleVerifyInput

    verify = EagleVerifyInput.create_idle_input(
        _BEST, 2, 5, **accepted(EagleVerifyInput.create_idle_input, device="cuda")
    )
    draft = EagleDraftInput.create_idle_input("cuda", _WIDTH, torch.bfloat16, _BEST, CaptureHiddenMode.FULL)
    shapes = {
        type(made).__name__: {
            name: [str(value.dtype)[6:], list(value.shape)]
            for name, value in sorted(vars(made).items())
            if isinstance(value, torch.Tensor)
        }
        for made in (verify, draft)
    }
    rows = [shape[0] for made in shapes.values() for _, shape in made.values()]
    return Found(
        {
            "no row": bool(rows) and not any(rows),
            "its width": verify.draft_token_num == 5,
        },
        {"shapes": shapes},
    )
