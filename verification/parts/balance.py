"""Balance: where the copies of experts are placed, by every algorithm."""

from __future__ import annotations

from typing import Any

import torch

from verification.parts.registry import Found, part

_LAYERS, _EXPERTS, _COPIES, _GPUS, _NODES, _GROUPS = 3, 16, 24, 8, 2, 4


def _load() -> torch.Tensor:
    """(steps, layers, experts) tokens, few experts with most of them."""
    draw = torch.Generator().manual_seed(1)
    return torch.randint(1, 100, (2, _LAYERS, _EXPERTS), generator=draw) ** 2


def _placed(algorithm: Any, nodes: int) -> list[Any]:
    from sglang.srt.eplb.eplb_algorithms import rebalance_experts

    places, copies, counts = rebalance_experts(_load(), _COPIES, _COPIES // _GPUS, _GROUPS, nodes, algorithm)
    return [places.tolist(), copies.tolist(), counts.tolist()]


def _facts(found: dict[str, list[Any]]) -> dict[str, Any]:
    layers = [layer for places, _, _ in found.values() for layer in places]
    return {
        "all experts are placed": all(set(range(_EXPERTS)) <= set(layer) for layer in layers),
        "copies": all(len(layer) == _COPIES for layer in layers),
    }


@part("balanced-experts")
def balanced() -> Found:
    from sglang.srt.eplb.eplb_algorithms import EplbAlgorithm, compute_algorithm

    found = {
        f"{each.name}, {nodes} nodes": _placed(each, nodes)
        for each in EplbAlgorithm
        if not each.name.startswith("elasticity_aware")
        for nodes in (1, _NODES)
    }
    return Found(
        _facts(found),
        {
            "places": found,
            "chosen": {
                f"{raw} {groups} {nodes}": compute_algorithm(raw, groups, nodes).name
                for raw in ("auto", "deepseek")
                for groups, nodes in ((4, 2), (4, 3), (None, 1))
            },
        },
    )  # fmt: skip


@part("balanced-experts-without-one-gpu")
def balanced_without_one() -> Found:
    """With all GPUs, and with one lost."""
    from sglang.srt.eplb.eplb_algorithms import elasticity_aware

    found = {}
    healthy = torch.ones(_GPUS, dtype=torch.int32)
    for name, ranks in {"all": healthy, "one is lost": healthy.index_fill(0, torch.tensor([3]), 0)}.items():
        given = (_load().sum(dim=0), _COPIES, _GROUPS, _NODES, _GPUS, False, ranks)
        found[name] = [each.tolist() for each in elasticity_aware.rebalance_experts(*given)]
    return Found(_facts(found), {"places": found})
