"""Triton kernels for products and quantization in 8 bits, beside what plain torch gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace
from unittest import mock

import torch

from verification.parts.drawn import draw, error, factors, told
from verification.parts.registry import Found, part, refused
from verification.parts.versions import first, fp8_kernel, int8_kernel, ranked

_BLOCK = [128, 128]
_GROUP = 128
_FP8 = torch.float8_e4m3fn
_FP8_NEAR, _INT8_NEAR, _ROUNDED_NEAR = 0.07, 0.02, 0.01
_ROWS, _INNER, _COLUMNS = 5, 96, 40
#: What one scale for 128 x 128 numbers is given for: fewer numbers than the compiled kernels take.
_NARROW_COLUMNS = 96
_MANTISSA = 23  # bits of a float32 below its exponent


@part("scaled-products")
def scaled_products() -> Found:
    """FP8 and INT8, with a scale for all and for each row and column, with and without a bias."""
    product = fp8_kernel("triton_scaled_mm")
    a, b = draw(_ROWS, _INNER, seed=1, dtype=torch.float32), draw(_COLUMNS, _INNER, seed=2)
    kinds = {
        "fp8": (a.to(_FP8), b.to(_FP8).t()),
        "int8": ((a * 30).to(torch.int8), (b * 30).to(torch.int8).t()),
    }
    scales = {
        "all": (factors(1, seed=3), factors(1, seed=4)),
        "each": (factors(_ROWS, seed=3), factors(_COLUMNS, 1, seed=4)),
    }
    biases = {"no bias": None, "bias": draw(_COLUMNS, seed=5)}
    facts, values = {}, {}
    for kind, (x, y) in kinds.items():
        for width, (scale_x, scale_y) in scales.items():
            for biased, bias in biases.items():
                out = product(x, y, scale_x, scale_y, torch.bfloat16, bias)
                plain = (x.float() @ y.float()) * scale_x.view(-1, 1) * scale_y.view(1, -1)
                name = f"{kind}, {width}, {biased}"
                facts[f"{name} is near"] = error(out, plain + (0 if bias is None else bias)) < _ROUNDED_NEAR
                values[name] = told(out)
    return Found(facts, values)


@part("scaled-product-of-torch")
def product_of_torch() -> Found:
    """The product for cards without one that scales: torch's, which is scaled afterwards."""
    from sglang.srt.layers.quantization.fp8_utils import _apply_fallback_scaled_mm

    rows, columns = 16, 32
    x, weight = draw(rows, _INNER, seed=1).to(_FP8), draw(columns, _INNER, seed=2).to(_FP8)
    scale_x, scale_weight = factors(rows, 1, seed=3), factors(columns, 1, seed=4)
    bias = draw(columns, seed=5)
    # the rows past the first ten are padding
    shapes = (10, _INNER), (10, columns)
    out = _apply_fallback_scaled_mm(
        x, weight.t(), scale_x, scale_weight, *shapes, bias, torch.bfloat16
    )  # fmt: skip
    plain = ((x.float() @ weight.float().t()) * scale_x * scale_weight.t() + bias)[:10]
    return Found({"it is near": error(out, plain) < _ROUNDED_NEAR}, {"out": told(out)})


def _any_shape(backend: str, *ways: bool) -> Found:
    """A shape that the compiled kernels do not take goes to Triton's kernel.

    `ways`: are the scales packed?
    """
    linear = first(
        f"{backend}_w8a8_block_fp8_linear_with_fallback", "sglang.srt.layers.quantization.fp8_utils"
    )
    x = draw(_ROWS, _GROUP, seed=1)
    weight = draw(_NARROW_COLUMNS, _GROUP, seed=2).to(_FP8)
    scales, bias = torch.full((1, 1), 2.0).to("cuda"), draw(_NARROW_COLUMNS, seed=3)
    plain = x.float() @ (weight.float() * scales).t() + bias
    facts, values = {}, {}
    for packed in ways:
        out = linear(x, weight, _BLOCK, _packed(scales) if packed else scales, bias=bias)
        name = "packed scales" if packed else "plain scales"
        facts[f"{name}: it is near"] = error(out, plain) < _FP8_NEAR
        values[name] = told(out)
    return Found(facts, values)


@part("any-shape-by-flashinfer")
def any_shape_by_flashinfer() -> Found:
    return _any_shape("flashinfer_gemm", False)


@part("any-shape-by-cutlass")
def any_shape_by_cutlass() -> Found:
    return _any_shape("cutlass", False)


@part("any-shape-by-deep-gemm")
def any_shape_by_deep_gemm() -> Found:
    return _any_shape("deepgemm", False, True)


def _packed(scales: torch.Tensor) -> torch.Tensor:
    """Powers of two by their exponents, of which an int32 holds four."""
    exponents = (scales.contiguous().view(torch.int32) >> _MANTISSA).to(torch.uint8)
    padded = torch.nn.functional.pad(exponents, (0, -exponents.shape[1] % 4))
    return padded.contiguous().view(torch.int32)


@part("fp8-products-of-any-depth")
def any_depth() -> Found:
    """Where the last block is not full, in each type that may come out."""
    multiply = fp8_kernel("w8a8_block_fp8_matmul")
    depth, columns = _GROUP + 64, _GROUP + 32
    x, weight = draw(_ROWS, depth, seed=4).to(_FP8), draw(columns, depth, seed=5).to(_FP8)
    scale, scales = factors(_ROWS, 2, seed=6), factors(2, 2, seed=7)
    wide = x.float() * scale.repeat_interleave(_GROUP, 1)[:, :depth]
    blocks = scales.repeat_interleave(_GROUP, 0)[:columns].repeat_interleave(_GROUP, 1)[:, :depth]
    plain = wide @ (weight.float() * blocks).t()
    multiply = partial(multiply, x, weight, scale, scales, _BLOCK)
    return _products(multiply, (torch.float16, torch.float32), plain, _ROUNDED_NEAR)


def _products(
    multiply: Callable[..., torch.Tensor], kinds: Sequence[torch.dtype], plain: torch.Tensor, near: float
) -> Found:
    """A product in each type that may come out, against the one in plain torch."""
    outputs = {str(kind)[6:]: multiply(kind) for kind in kinds}
    return Found(
        {f"{name} is near": error(out, plain) < near for name, out in outputs.items()},
        {name: told(out) for name, out in outputs.items()},
    )


@part("packed-scales")
def packed_scales() -> Found:
    """Exponents of powers of two, with a row for each row of the weight and with one for each block."""
    from sglang.srt.layers.quantization import fp8_utils

    rows, columns = 300, 384
    powers = torch.randint(-8, 8, (3, 3), generator=torch.Generator().manual_seed(1))
    scales = torch.exp2(powers.float()).to("cuda")
    unpack = fp8_utils._unpack_ue8m0_scale_for_triton
    blocks = unpack(_packed(scales), (rows, columns), _BLOCK)
    each = unpack(_packed(scales.repeat_interleave(_GROUP, 0)[:rows]), (rows, columns), _BLOCK)
    # four of them fill an integer
    square = torch.exp2(torch.arange(8).float()).view(2, 4).to("cuda")
    sent = fp8_utils.transform_scale_ue8m0(square, mn=2 * _GROUP, use_torch_impl=True)
    return Found(
        {
            "blocks are unpacked": torch.equal(blocks, scales),
            "rows are unpacked": torch.equal(each, scales),
            "another shape is refused": refused(
                lambda: unpack(_packed(scales[:2]), (rows, columns), _BLOCK), ValueError
            ),
            "what is sent comes back": torch.equal(
                fp8_utils.inverse_transform_scale_ue8m0(sent, mn=2 * _GROUP), square
            ),
        },
        {"blocks": told(blocks), "sent": told(sent)},
    )


@part("shapes-of-blocks")
def shapes_of_blocks() -> Found:
    """Which weights may be split between ranks where numbers share scales in blocks."""
    from sglang.srt.layers.quantization.fp8_utils import validate_fp8_block_shape as validate

    two, one = (
        SimpleNamespace(tp_size=ranks, tp_group=SimpleNamespace(world_size=ranks)) for ranks in (2, 1)
    )
    given = {
        "rows": (False, (two, 512, 256, 256, [256])),
        "rows that end within a block": (True, (two, 384, 256, 192, [256])),
        "columns": (False, (two, 256, 512, 256, [128, 128])),
        "columns that end within a block": (True, (two, 256, 384, 256, [192])),
        "matrices of which the last is small": (False, (one, 256, 192, 256, [128, 64])),
        "matrices of which the first is small": (True, (one, 256, 192, 256, [64, 128])),
    }
    # asked for even where the layer knows
    asked = "sglang.srt.distributed.get_tensor_model_parallel_world_size"
    with mock.patch(asked, lambda: 2, create=True), ranked(tp_size=2, attn_tp_size=2, moe_tp_size=2):
        return Found(
            {
                f"{name}: {'refused' if wrong else 'taken'}": wrong
                == refused(partial(validate, *shapes, _BLOCK), ValueError)
                for name, (wrong, shapes) in given.items()
            }
        )


@part("int8-products")
def int8_products() -> Found:
    """Products in blocks, also where the last block of columns is not full."""
    multiply, quantize = int8_kernel("w8a8_block_int8_matmul"), int8_kernel("per_token_group_quant_int8")
    columns = 160
    x = draw(_ROWS, 2 * _GROUP, seed=6)
    weight = (draw(columns, 2 * _GROUP, seed=7, dtype=torch.float32) * 30).to(torch.int8)
    scales = factors(2, 2, seed=8) * 0.01
    numbers, scale = quantize(x, _GROUP)
    wide = weight.float() * scales.repeat_interleave(_GROUP, 0)[:columns].repeat_interleave(_GROUP, 1)
    plain = x.float() @ wide.t()
    multiply = partial(multiply, numbers, weight, scale, scales, _BLOCK)
    return _products(multiply, (torch.bfloat16, torch.float16, torch.float32), plain, _INT8_NEAR)
