"""Positions and words: cosines and sines of positions, and the share of a vocabulary that a rank has."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from verification.machine.trace import digest_of
from verification.parts.registry import Found, part
from verification.parts.versions import accepted, first

_ROTARY, _LONGEST = 8, 64
_BASE = 10_000
#: Where positions are turned into angles.
_PLACES = tuple(f"sglang.srt.layers.rotary_embedding{name}" for name in ("", ".yarn", ".rope_variant"))
_SECTIONS = [2, 1, 1]  # of time, height and width


def _turned(positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosines and sines of plain rotary positions, for the first half of a head."""
    frequencies = _BASE ** -(torch.arange(0, _ROTARY, 2, dtype=torch.float32) / _ROTARY)
    angles = positions.float()[:, None] * frequencies
    return angles.cos(), angles.sin()


def _plain() -> Any:
    from sglang.srt.layers.rotary_embedding import RotaryEmbedding

    return RotaryEmbedding(_ROTARY, _ROTARY, _LONGEST, _BASE, True, torch.float32)


@part("positions-told")
def told() -> Found:
    """A layer is asked for the cosines and sines of some positions."""
    positions = torch.tensor([0, 5, 63, 5])
    made = _plain()
    made.get_cos_sin_with_position(positions)
    right = [torch.cat([each, each], -1) for each in _turned(positions)]
    found = made.position_cos, made.position_sin
    near = [
        torch.allclose(got.reshape(4, _ROTARY).cpu(), wanted, atol=1e-5)
        for got, wanted in zip(found, right, strict=True)
    ]
    shape = list(made.position_cos.shape)
    first_of_all = [list(each.shape) for each in made.get_cos_sin(7)]
    return Found(
        {"near": near == [True, True], "shape": shape == [4, 1, 1, _ROTARY]},
        {"numbers": [digest_of(each) for each in found], "first": first_of_all},
    )


@part("positions-of-pictures")
def pictures() -> Found:
    """A token of a picture has three positions; where they are one, it is like a token of text."""
    positions = torch.tensor([0, 5, 63, 5])
    three = torch.stack([positions, positions.flip(0), positions.clamp(max=9)])
    text = _plain()
    text.get_cos_sin_with_position(positions)
    facts: dict[str, bool] = {}
    values: dict[str, Any] = {}
    for interleaved in (False, True):
        made = _plain()
        made.mrope_section, made.mrope_interleaved = _SECTIONS, interleaved  # as models with pictures do
        made.get_cos_sin_with_position(positions.expand(3, 4))
        facts[f"like text, {interleaved=}"] = torch.equal(made.position_cos, text.position_cos)
        made.get_cos_sin_with_position(three)
        values[f"{interleaved=}"] = [digest_of(made.position_cos), digest_of(made.position_sin)]
    return Found(facts, values)


@part("positions-longer")
def longer() -> Found:
    """YaRN: positions past the length of training, with and without the cut of its range to whole numbers."""
    kind = first("YaRNScalingRotaryEmbedding", *_PLACES)
    values = {}
    for truncate in (True, False):
        more = accepted(kind, truncate=truncate)
        made = kind(_ROTARY, _ROTARY, _LONGEST, _BASE, True, 4, torch.float32, **more)
        values[f"{truncate=}"] = digest_of(made.cos_sin_cache)
    before = len(made.cos_sin_cache)
    return Found({"as long as wanted": before == 4 * _LONGEST}, values)


@part("positions-deepseek")
def deepseek() -> Found:
    """DeepSeek's positions with and without an offset: cosines and sines of a type, at the same places."""
    made = first("DeepseekScalingRotaryEmbedding", *_PLACES)(
        _ROTARY, _ROTARY, _LONGEST, _BASE, False, 4, torch.float32, mscale=1, mscale_all_dim=1, device="cpu"
    )
    positions = torch.tensor([3, 0, 250])
    cosines, sines = made.get_cos_sin_cache(positions, torch.bfloat16)
    moved = made.get_cos_sin_cache(
        positions - 3 + torch.tensor([0, 3, 0]), torch.bfloat16, torch.tensor([3, 0, 3])
    )
    whole = torch.equal(cosines[:, 0, 0], made.get_cos_cached_total()[positions].to(torch.bfloat16))
    return Found(
        {
            "of the whole": whole,
            "moved": torch.equal(moved[0], cosines) and torch.equal(moved[1], sines),
            "on a circle": torch.allclose(
                cosines.float() ** 2 + sines.float() ** 2, torch.ones(1), atol=2e-2
            ),
        },
        {"all": [digest_of(cosines), digest_of(sines), str(cosines.dtype)]},
    )


@part("vocabulary-shares")
def vocabulary() -> Found:
    """The words of all ranks side by side: where each is, then those that adapters add, then empty rows."""
    from sglang.srt.layers.vocab_parallel_embedding import VocabParallelEmbedding as Embedding
    from sglang.srt.layers.vocab_parallel_embedding import pad_vocab_size

    if not hasattr(Embedding, "get_sharded_to_full_mapping"):
        raise ImportError("no mapping from shares of a vocabulary")
    facts: dict[str, bool] = {}
    values: dict[str, Any] = {}
    for words, added, ranks in ((101, 0, 2), (101, 7, 2), (128, 5, 4), (60, 0, 1)):
        known = pad_vocab_size(words, 64)
        rows = pad_vocab_size(known + added, 64)
        layer = SimpleNamespace(
            tp_size=ranks, num_embeddings_padded=rows, org_vocab_size_padded=known,
            num_embeddings=words + added, org_vocab_size=words, num_embeddings_per_partition=rows // ranks,
            _get_indices=Embedding._get_indices,
        )  # fmt: skip
        places = Embedding.get_sharded_to_full_mapping(layer)
        case = f"{words} words and {added}, {ranks} ranks"
        if ranks == 1:
            facts[f"{case}: as they are"] = places is None
            continue
        shares = [
            Embedding._get_indices(rows, known, words + added, words, rank, ranks) for rank in range(ranks)
        ]
        right = [
            rank * rows // ranks + word - share.org_vocab_start_index
            for rank, share in enumerate(shares)
            for word in range(share.org_vocab_start_index, share.org_vocab_end_index)
        ]
        facts[f"{case}: each row once"] = sorted(places) == list(range(rows))
        facts[f"{case}: the words first"] = places[:words] == right
        values[case] = places[words : words + added]
    return Found(facts, values)
