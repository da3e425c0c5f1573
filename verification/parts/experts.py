"""Triton kernels around the products of experts: what is sent to an expert, and what comes back is summed."""

from __future__ import annotations

from types import SimpleNamespace

import torch

from verification.parts.drawn import draw, error, factors, told, whole
from verification.parts.registry import Found, part
from verification.parts.versions import accepted, experts_kernel, first

_FP8 = torch.float8_e4m3fn
_FP8_NEAR, _SUM_NEAR = 0.07, 0.02
_EXPERTS, _TOKENS, _CHOICES, _GROUP = 4, 6, 2, 128
_HIDDEN = 2 * _GROUP
#: Which experts each token goes to; -1: one that is elsewhere.
_CHOSEN = ((0, 2), (2, -1), (3, 0), (-1, -1), (0, 1), (2, 0))
_BLOCK = 512  # numbers that a program of a kernel handles
_SCALED = 2.5  # by how much sums of experts are scaled


def _chosen(elsewhere: int = -1, dtype: torch.dtype = torch.int32) -> torch.Tensor:
    rows = [[elsewhere if one < 0 else one for one in row] for row in _CHOSEN]
    return torch.tensor(rows, dtype=dtype).to("cuda")


def _here() -> list[tuple[int, int]]:
    """Token and choice of each expert that is here."""
    return [(token, at) for token, row in enumerate(_CHOSEN) for at, one in enumerate(row) if one >= 0]


def _lengths() -> list[int]:
    """How many tokens each expert has."""
    return [sum(row.count(one) for row in _CHOSEN) for one in range(_EXPERTS)]


def _empty() -> torch.Tensor:
    """Where the sum of each token goes."""
    return torch.zeros(_TOKENS, _HIDDEN, dtype=torch.bfloat16).to("cuda")


def _summed(outputs: torch.Tensor, places: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """What each token gets: the rows that its experts gave, by their weights."""
    sums = torch.zeros(_TOKENS, outputs.shape[-1])
    for token, at in _here():
        sums[token] += outputs[int(places[token, at])].float() * float(weights[token, at])
    return sums


def _sent(outputs: torch.Tensor, places: torch.Tensor, x: torch.Tensor) -> bool:
    """Return whether each token is at the places that its experts read."""
    return all(
        torch.equal(outputs[int(places[token, at])].float(), x[token].float()) for token, at in _here()
    )


@part("tokens-by-experts")
def by_experts() -> Found:
    """Tokens in FP8 are copied to the rows of their experts, and what these give is summed."""
    counts = (128, 128, 128, 128)  # rows of an expert come in blocks of 128
    numbers, scales = draw(_TOKENS, _HIDDEN, seed=3).to(_FP8), factors(_TOKENS, _HIDDEN // _GROUP, seed=3)
    rows = torch.zeros(sum(counts), _HIDDEN).to(_FP8).to("cuda")
    row_scales = torch.zeros(sum(counts), _HIDDEN // _GROUP).to("cuda")
    starts, places = torch.zeros_like(whole(*counts)), torch.full_like(_chosen(), -1)
    owners = torch.full((sum(counts),), -1, dtype=torch.int32).to("cuda")
    scatter = experts_kernel("ep_scatter")
    given = {
        "recv_x": numbers, "recv_x_scale": scales, "recv_topk": _chosen(),
        "num_recv_tokens_per_expert": whole(*counts), "num_valid_tokens_per_expert": whole(*_lengths()),
        "expert_start_loc": starts, "output_tensor": rows, "output_tensor_scale": row_scales,
        "m_indices": owners, "output_index": places,
    }  # fmt: skip
    scatter(**accepted(scatter, **given))
    outputs, weights = draw(sum(counts), _HIDDEN, seed=4), factors(_TOKENS, _CHOICES, seed=5)
    sums = _empty()
    experts_kernel("ep_gather")(outputs, _chosen(), weights, places, sums)
    return Found(
        {
            "tokens are there": _sent(rows, places, numbers),
            "scales are there": _sent(row_scales, places, scales),
            "rows have owners": all(
                int(owners[places[token, at]]) == _CHOSEN[token][at] for token, at in _here()
            ),
            "sums are near": error(sums, _summed(outputs, places, weights)) < _SUM_NEAR,
        },
        {
            "places": places.tolist(),
            "rows": told(rows, row_scales),
            "sums": told(sums),
            "ends": starts.tolist(),
            "owners": told(owners),
        },
    )


@part("aligned-scales")
def aligned_scales() -> Found:
    """Scales in columns whose beginnings are 16 bytes apart or a multiple of them."""
    scales = factors(6, 3, seed=6)
    aligned = experts_kernel("tma_align_input_scale")(scales)
    return Found(
        {"the same": torch.equal(aligned, scales), "columns": aligned.stride() == (1, 8)},
        {"all": told(aligned)},
    )


@part("tokens-by-experts-of-one-size")
def of_one_size() -> Found:
    """Each expert has as many rows; what those past the first expert give is summed."""
    x, chosen = draw(_TOKENS, _HIDDEN, seed=7), _chosen(dtype=torch.int64)
    lengths, expected, places, rows, scales = experts_kernel("moe_ep_deepgemm_preprocess")(
        chosen, _EXPERTS, x, _CHOICES, None
    )
    at = places.view(_TOKENS, _CHOICES)
    flat, flat_scales = rows.view(-1, _HIDDEN), scales.view(-1, _HIDDEN // _GROUP)
    there = [int(at[one]) for one in _here()]
    back = flat[there].float().unflatten(-1, (-1, _GROUP)) * flat_scales[there][..., None]
    return Found(
        {
            "tokens are near": error(back.flatten(-2), x[[token for token, _ in _here()]]) < _FP8_NEAR,
            "lengths": lengths.tolist() == _lengths(),
        },
        {"places": there, "rows": told(flat[there], flat_scales[there]), "expected": expected},
    )


@part("sums-of-later-experts")
def of_later_experts() -> Found:
    """The kernel that sums what experts give. The first expert has no tokens: some versions leave it out."""
    sum_up = experts_kernel("post_reorder_triton_kernel")
    chosen = torch.where(_chosen() < 0, -1, _chosen() + 1)
    places = torch.arange(_TOKENS * _CHOICES, dtype=torch.int32).flip(0).view(_TOKENS, _CHOICES).to("cuda")
    outputs, weights = draw(_TOKENS * _CHOICES, _HIDDEN, seed=8), factors(_TOKENS, _CHOICES, seed=9)
    sums = _empty()
    sum_up[(_TOKENS,)](
        outputs, sums, places, chosen, weights, _CHOICES, _HIDDEN, BLOCK_SIZE=_BLOCK
    )  # fmt: skip
    return Found(
        {"sums are near": error(sums, _summed(outputs, places, weights)) < _SUM_NEAR}, {"sums": told(sums)}
    )


@part("tokens-for-products-of-4-bits")
def of_4_bits() -> Found:
    """Tokens in the order of their experts, scaled to FP8, and summed again; experts elsewhere are last."""
    x, scale = draw(_TOKENS, _HIDDEN, seed=10), torch.full((1,), 0.02).to("cuda")
    chosen = _chosen(_EXPERTS)
    places = experts_kernel("cutlass_w4_run_moe_ep_preproess")(chosen)
    rows = torch.zeros(_TOKENS * _CHOICES, _HIDDEN).to(_FP8).to("cuda")
    sizes = (_EXPERTS, _CHOICES, _TOKENS, _HIDDEN)
    experts_kernel("pre_reorder_for_cutlass_moe")(x, rows, places, chosen, scale, *sizes)
    weights = factors(_TOKENS, _CHOICES, seed=11)
    outputs = draw(_TOKENS * _CHOICES, _HIDDEN, seed=12)
    sums = _empty()
    experts_kernel("post_reorder_for_cutlass_moe")(outputs, sums, places, chosen, weights, *sizes, _SCALED)
    at = places.view(_TOKENS, _CHOICES)
    there = [int(at[one]) for one in _here()]
    tokens = [token for token, _ in _here()]
    owners = [_CHOSEN[token][choice] for token, choice in _here()]
    return Found(
        {
            "in the order of experts": [there[i] for i in sorted(range(len(owners)), key=owners.__getitem__)]
            == list(range(len(owners))),
            "tokens are near": error(rows[there].float() * scale, x[tokens]) < _FP8_NEAR,
            "sums are near": error(sums, _SCALED * _summed(outputs, at, weights)) < _SUM_NEAR,
        },
        {"places": places.tolist(), "rows": told(rows), "sums": told(sums)},
    )


@part("sizes-of-products-of-4-bits")
def sizes() -> Found:
    """Rows, columns and depth of both products of each expert."""
    lengths, wide, deep = (3, 0, 5), 64, 96
    given = [torch.zeros(3 * len(lengths), dtype=torch.int32).to("cuda") for _ in range(2)]
    told_sizes = experts_kernel("deepep_ll_get_cutlass_w4a8_moe_mm_data")(
        whole(*lengths), *given, len(lengths), wide, deep
    )
    first_sizes, second_sizes = (each.view(-1, 3).tolist() for each in told_sizes)
    return Found(
        {
            "the first": first_sizes == [[2 * wide, length, deep] for length in lengths],
            "the second": second_sizes == [[deep, length, wide] for length in lengths],
        }
    )


@part("tokens-of-other-ranks")
def of_other_ranks() -> Found:
    """Tokens in the order of their experts, where tokens of other ranks have experts that are elsewhere."""
    chosen = _chosen(dtype=torch.int64)
    experts, places, starts = experts_kernel("deepep_run_moe_deep_preprocess")(chosen, _EXPERTS)
    at = places.view(_TOKENS, _CHOICES)
    x, weights = draw(_TOKENS, _HIDDEN, seed=13), factors(_TOKENS, _CHOICES, seed=14)
    rows = torch.zeros(len(_here()), _HIDDEN, dtype=torch.bfloat16).to("cuda")
    shape = (_CHOICES, _HIDDEN)
    experts_kernel("deepep_permute_triton_kernel")[(_TOKENS,)](
        x, rows, places, chosen, None, *shape, BLOCK_SIZE=_BLOCK
    )  # fmt: skip
    outputs = draw(len(_here()), _HIDDEN, seed=15)
    sums = _empty()
    sum_up = experts_kernel("deepep_post_reorder_triton_kernel")
    scaled = {"routed_scaling_factor": 1.0} if "routed_scaling_factor" in sum_up.arg_names else {}
    sum_up[(_TOKENS,)](outputs, sums, places, chosen, weights, *shape, BLOCK_SIZE=_BLOCK, **scaled)
    return Found(
        {
            "tokens are there": _sent(rows, at, x),
            "in order": experts.tolist() == sorted(one for row in _CHOSEN for one in row if one >= 0),
            "sums are near": error(sums, _summed(outputs, at, weights)) < _SUM_NEAR,
        },
        {"places": places.tolist(), "starts": starts.tolist(), "sums": told(sums)},
    )


@part("sums-of-experts")
def sums_of_experts() -> Found:
    sum_up = first(
        "moe_sum_reduce_triton",
        "sglang.srt.layers.moe.fused_moe_triton.fused_moe_triton_kernels",
        "sglang.kernels.ops.moe.fused_moe_triton_kernels",
    )
    x = draw(_TOKENS, _CHOICES, _HIDDEN, seed=16)
    sums = _empty()
    sum_up(x, sums, _SCALED)
    return Found({"they are near": error(sums, x.float().sum(1) * _SCALED) < _SUM_NEAR}, {"sums": told(sums)})


@part("experts-in-plain-torch")
def in_plain_torch() -> Found:
    """Both ways give what each expert gives alone, with either activation."""
    from sglang.srt.layers.moe import fused_moe_native
    from sglang.srt.layers.moe.moe_runner import MoeRunnerConfig
    from sglang.srt.layers.moe.token_dispatcher import StandardDispatchOutput
    from sglang.srt.layers.moe.topk import StandardTopKOutput

    width = 24
    x = draw(_TOKENS, 32, seed=17, dtype=torch.float32)
    up, down = (
        draw(_EXPERTS, *shape, seed=seed, dtype=torch.float32)
        for shape, seed in (((2 * width, 32), 18), ((32, width), 19))
    )
    ids = torch.tensor([[one % _EXPERTS, (2 * one + 1) % _EXPERTS] for one in (0, 1, 2, 4, 5, 6)]).to("cuda")
    weights = factors(_TOKENS, _CHOICES, seed=20)
    chosen = StandardTopKOutput(weights, ids, draw(_TOKENS, _EXPERTS, seed=21))
    facts, values = {}, {}
    for activation in ("silu", "gelu"):
        config = MoeRunnerConfig(activation=activation)
        layer = SimpleNamespace(moe_runner_config=config, w13_weight=up, w2_weight=down, num_experts=_EXPERTS)
        act = getattr(torch.nn.functional, activation)
        plain = torch.zeros_like(x)
        for token in range(_TOKENS):
            for at in range(_CHOICES):
                one = int(ids[token, at])
                gate, straight = (up[one] @ x[token]).chunk(2)
                plain[token] += weights[token, at] * (down[one] @ (act(gate) * straight))
        fused = fused_moe_native.fused_moe_forward_native(layer, StandardDispatchOutput(x, None, chosen))
        outputs = {"together": fused.hidden_states}
        if activation == "silu":  # the other has no kernel here
            outputs["one by one"] = fused_moe_native.moe_forward_native(layer, x, chosen, config)
        for name, out in outputs.items():
            facts[f"{activation} {name} is near"] = error(out, plain) < _SUM_NEAR
            values[f"{activation} {name}"] = told(out)
    return Found(facts, values)
