"""Products, means and norms whose numbers do not depend on what else is in a batch."""

from __future__ import annotations

import torch

from verification.machine.trace import digest_of
from verification.parts.registry import Found, part

_ROWS, _INNER, _COLUMNS = 5, 48, 40
_BATCHES = 3


@part("numbers-of-any-batch")
def numbers() -> Found:
    """Each is near what torch gives, and a row is the same alone and among others."""
    from sglang.srt.batch_invariant_ops import batch_invariant_ops as ops

    draw = torch.Generator().manual_seed(1)

    def drawn(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=draw).to("cuda")

    a, b, bias = drawn(_ROWS, _INNER), drawn(_INNER, _COLUMNS), drawn(_COLUMNS)
    many, others = drawn(_BATCHES, _ROWS, _INNER), drawn(_BATCHES, _INNER, _COLUMNS)
    weight = drawn(_INNER)
    given = {
        "product": (lambda x: ops.mm_batch_invariant(x, b), lambda x: x @ b),
        "sum": (lambda x: ops.addmm_batch_invariant(bias, x, b), lambda x: x @ b + bias),
        "log-softmax": (
            lambda x: ops._log_softmax_batch_invariant(x, -1, False),
            lambda x: x.log_softmax(-1),
        ),
        "mean": (lambda x: ops.mean_batch_invariant(x, [1]), lambda x: x.mean(1)),
        "norm": (
            lambda x: ops.rms_norm_batch_invariant(x, weight),
            lambda x: torch.nn.functional.rms_norm(x, (_INNER,), weight, 1e-6),
        ),
    }
    whole = {name: ours(a) for name, (ours, _) in given.items()}
    pairs = ops.bmm_batch_invariant(many, others)
    return Found(
        {
            f"the {name} is near": torch.allclose(whole[name], plain(a), atol=1e-2)
            for name, (_, plain) in given.items()
        }
        | {
            f"a row of the {name} is the same alone": torch.equal(ours(a[:1]), whole[name][:1])
            for name, (ours, _) in given.items()
        }
        | {
            "the mean of all is near": torch.allclose(
                ops.mean_batch_invariant(a, [0, 1]), a.mean(), atol=1e-2
            ),
            "products of pairs are near": torch.allclose(pairs, torch.bmm(many, others), atol=1e-2),
            "it begins": _switched(ops),
        },
        {name: digest_of(value) for name, value in {**whole, "pairs": pairs}.items()},
    )


def _switched(ops: object) -> bool:
    """The mode begins where it is asked for, and ends."""
    with ops.set_batch_invariant_mode(True):  # type: ignore[attr-defined]
        began = ops.is_batch_invariant_mode_enabled()  # type: ignore[attr-defined]
    return began and not ops.is_batch_invariant_mode_enabled()  # type: ignore[attr-defined]
