"""Quantization in 8 bits with a scale for each token, or for each group of its numbers."""

from __future__ import annotations

import itertools
from unittest import mock

import torch

from verification.parts.drawn import draw, error, told, whole
from verification.parts.registry import Found, part
from verification.parts.versions import experts_kernel, fp8_kernel, int8_kernel

_GROUP = 128
_FP8 = torch.float8_e4m3fn
_FP8_NEAR, _INT8_NEAR, _ROUNDED_NEAR = 0.07, 0.02, 0.01
_ROWS, _EXPERTS = 5, 4
_WIDTH = 2 * _GROUP


def _by_groups(numbers: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    """What numbers with a scale for each group of a row stand for."""
    grouped = numbers.float().unflatten(-1, (-1, _GROUP)) * scales[..., None]
    return grouped.flatten(-2)


@part("groups-in-columns")
def groups_in_columns() -> Found:
    """Triton's kernel gives the same numbers whether the scales lie in rows or in columns."""
    quantize = fp8_kernel("per_token_group_quant_8bit")
    x = draw(_ROWS, 3 * _GROUP, seed=1)
    facts, values = {}, {}
    for kind, near in ((_FP8, _FP8_NEAR), (torch.int8, _INT8_NEAR)):
        rows = quantize(x, _GROUP, kind)
        ways = {
            "columns": {"column_major_scales": True},
            "aligned columns": {"column_major_scales": True, "scale_tma_aligned": True},
        }
        told_kind = str(kind)[6:]
        facts[f"{told_kind} is near"] = error(_by_groups(*rows), x) < near
        values[told_kind] = told(*rows)
        for way, options in ways.items():
            numbers, scales = quantize(x, _GROUP, kind, **options)
            facts[f"{told_kind} in {way} is near"] = error(_by_groups(numbers, scales), x) < near
            facts[f"scales of {told_kind} in {way} are the same"] = torch.equal(scales, rows[1])
            values[f"{told_kind} in {way}"] = [*told(numbers, scales), scales.stride()]
    powers = fp8_kernel("per_token_group_quant_8bit")(
        x, _GROUP, _FP8, column_major_scales=True, scale_tma_aligned=True, scale_ue8m0=True
    )
    facts["powers of two are near"] = error(_by_groups(*powers), x) < _FP8_NEAR
    values["powers of two"] = told(*powers)
    return Found(facts, values)


@part("groups-of-8-bits")
def groups_of_8_bits() -> Found:
    """The compiled kernel, by the type that is asked for."""
    quantize = fp8_kernel("sglang_per_token_group_quant_8bit")
    x = draw(_ROWS, 2 * _GROUP, seed=2)
    found = {kind: quantize(x, _GROUP, kind) for kind in (_FP8, torch.int8)}
    return Found(
        {f"{str(kind)[6:]} is near": error(_by_groups(*made), x) < _FP8_NEAR for kind, made in found.items()},
        {str(kind)[6:]: told(*made) for kind, made in found.items()},
    )


@part("groups-of-gated-numbers")
def groups_of_gated_numbers() -> Found:
    """The gate and the quantization in one kernel, for rows of one matrix and of several experts."""
    quantize = fp8_kernel("per_token_group_quant_8bit")
    lengths = whole(3, 0)
    options = {
        "column_major_scales": True, "scale_tma_aligned": True, "scale_ue8m0": True, "fuse_silu_and_mul": True
    }  # fmt: skip
    rows, experts = draw(_ROWS, 4 * _GROUP, seed=3), draw(2, 4, 4 * _GROUP, seed=4)
    one = quantize(rows, _GROUP, _FP8, **options)
    many = quantize(experts, _GROUP, _FP8, masked_m=lengths, **options)
    back = _by_groups(*many)
    return Found(
        {
            "rows are near": error(_by_groups(*one), _gated(rows)) < _FP8_NEAR,
            "rows of an expert are near": error(back[0, :3], _gated(experts)[0, :3]) < _FP8_NEAR,
            "the rest is left": not back[0, 3:].any() and not back[1].any(),
        },
        {"rows": told(*one), "experts": told(*many)},
    )


def _gated(x: torch.Tensor) -> torch.Tensor:
    gate, up = x.float().chunk(2, -1)
    return torch.nn.functional.silu(gate) * up


@part("gated-numbers-of-experts")
def gated() -> Found:
    """In FP8 with scales by groups, also powers of two, and with one scale; rows past the last are left."""
    lengths = (3, 0, 4, 1)
    x = draw(_EXPERTS, 4, 2 * _WIDTH, seed=1)
    wanted = _gated(x)
    there = torch.zeros(_EXPERTS, 4, dtype=torch.bool)
    for expert, length in enumerate(lengths):
        there[expert, :length] = True
    facts, values = {}, {}
    for name, powers in (("scales", False), ("powers of two", True)):
        numbers = torch.zeros(_EXPERTS, 4, _WIDTH).to(_FP8).to("cuda")
        scales = torch.zeros(_EXPERTS, 4, _WIDTH // _GROUP).to("cuda")
        gate = experts_kernel("silu_and_mul_masked_post_quant_fwd")
        gate(x, numbers, scales, _GROUP, whole(*lengths), powers)
        back = (numbers.float().unflatten(-1, (-1, _GROUP)) * scales[..., None]).flatten(-2)
        facts[f"{name}: it is near"] = error(back[there], wanted[there]) < _FP8_NEAR
        facts[f"{name}: the rest is left"] = not back[~there].any()
        values[name] = told(numbers, scales)
    numbers, scale = torch.zeros(_EXPERTS, 4, _WIDTH).to(_FP8).to("cuda"), torch.full((1,), 0.05).to("cuda")
    experts_kernel("silu_and_mul_masked_post_per_tensor_quant_fwd")(x, numbers, whole(*lengths), scale)
    back = numbers.float() * scale
    facts["one scale: it is near"] = error(back[there], wanted[there]) < _FP8_NEAR
    facts["one scale: the rest is left"] = not back[~there].any()
    return Found(facts, {**values, "one scale": told(numbers)})


@part("gated-numbers-of-some-rows")
def gated_rows() -> Found:
    """With one scale, for as many rows as a tensor says."""
    rows, given = 5, 8
    x, scale = draw(given, 2 * _WIDTH, seed=2), torch.full((1,), 0.05).to("cuda")
    numbers = torch.zeros(given, _WIDTH).to(_FP8).to("cuda")
    experts_kernel("silu_mul_static_tensorwise_quant_for_cutlass_moe")(
        x, numbers, scale, whole(rows), given, _WIDTH
    )
    back = numbers.float() * scale
    return Found(
        {
            "it is near": error(back[:rows], _gated(x)[:rows]) < _FP8_NEAR,
            "the rest is left": not back[rows:].any(),
        },
        {"all": told(numbers)},
    )


@part("groups-of-experts")
def groups_of_experts() -> Found:
    """Matrices of several experts, one below the other, each of them on its side."""
    turn = fp8_kernel("per_group_transpose")
    ends = (0, 4, 4, 40)
    x = draw(ends[-1], 20, seed=5)
    turned = turn(x, whole(*ends))
    plain = [x[begin:end].t().reshape(-1) for begin, end in itertools.pairwise(ends)]
    return Found({"it is exact": torch.equal(turned.reshape(-1), torch.cat(plain))}, {"turned": told(turned)})


@part("groups-of-experts-in-columns")
def groups_of_experts_in_columns() -> Found:
    """The scales of each expert lie in columns, one expert after the other."""
    quantize = fp8_kernel("per_token_group_quant_fp8_hopper_moe_mn_major")
    kernel = fp8_kernel("_per_token_group_quant_fp8_hopper_moe_mn_major")
    ends = (0, 4, 4, 40)
    x = draw(ends[-1], 2 * _GROUP, seed=11)
    sizes = torch.tensor([[end - begin, 0, 0] for begin, end in itertools.pairwise(ends)])
    # nothing is timed here: the first way to launch it is taken
    with mock.patch.object(kernel, "configs", kernel.configs[:1]):
        numbers, scales = quantize(x, whole(*ends[:-1]), sizes.to(torch.int32).to("cuda"), _GROUP, 4)
    flat = scales.reshape(-1)
    back = torch.cat(
        [
            _by_groups(numbers[begin:end], flat[2 * begin : 2 * end].view(2, -1).t())
            for begin, end in itertools.pairwise(ends)
        ]
    )
    return Found({"it is near": error(back, x) < _FP8_NEAR}, {"all": told(numbers, scales)})


@part("int8-tokens")
def int8_tokens() -> Found:
    """A scale for each token, with the sum of the token."""
    x = draw(2, _ROWS, 200, seed=9, dtype=torch.float32)
    numbers, scales, sums = int8_kernel("per_token_quant_int8")(x, cal_sum=True)
    return Found(
        {
            "tokens are near": error(numbers.float() * scales, x) < _INT8_NEAR,
            "sums are near": error(sums, x.sum(-1)) < _ROUNDED_NEAR,
        },
        {"tokens": told(numbers, scales)},
    )


@part("numbers-of-one-scale")
def numbers_of_one_scale() -> Found:
    """A scale that is given or found, for all or for each token."""
    quantize, by_token = fp8_kernel("scaled_fp8_quant"), fp8_kernel("sglang_per_token_quant_fp8")
    x = draw(_ROWS, _GROUP, seed=12)
    given = torch.full((1,), 0.02).to("cuda")
    found = {
        "given": quantize(x, given),
        "found": quantize(x),
        "of each token": quantize(x, use_per_token_if_dynamic=True),
        "of each token alone": by_token(x),
    }
    return Found(
        {
            f"{name}: it is near": error(made.float() * scale, x) < _FP8_NEAR
            for name, (made, scale) in found.items()
        },
        {name: told(*made) for name, made in found.items()},
    )
