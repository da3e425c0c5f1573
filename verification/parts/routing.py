"""Routing: which experts a token gets, with which weights, twice the same, and the load of an expert."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

import torch

from verification.machine.trace import digest_of
from verification.parts.drawn import draw
from verification.parts.registry import Found, part

_TOKENS, _HIDDEN = 64, 32


_draw = partial(draw, dtype=torch.float32)


def _route(experts: int, biased: bool, **config: Any) -> tuple[torch.Tensor, torch.Tensor]:
    from sglang.srt.layers.moe.topk import TopKConfig, select_experts

    torch.manual_seed(1)  # which of several shared experts is drawn
    bias = _draw(experts, seed=3) * 0.1 if biased else None
    chosen = select_experts(
        _draw(_TOKENS, _HIDDEN, seed=1).to(torch.bfloat16),
        _draw(_TOKENS, experts, seed=2),
        TopKConfig(**_named(TopKConfig, config), correction_bias=bias),
    )
    return chosen.topk_ids, chosen.topk_weights


def _named(kind: type, config: dict[str, Any]) -> dict[str, Any]:
    """Later versions keep the number of fused shared experts in a layout of its own."""
    shared = "num_fused_shared_experts"
    if shared not in config or shared in inspect.signature(kind).parameters:
        return config
    from sglang.srt.configs.shared_experts import SharedExpertsConfig

    rest = {name: value for name, value in config.items() if name != shared}
    return {**rest, "shared_experts": SharedExpertsConfig(num_fused_shared_experts=config[shared])}


def _routing(experts: int, biased: bool = False, **config: Any) -> Found:
    ids, weights = _route(experts, biased, **config)
    again, weights_again = _route(experts, biased, **config)
    counts = torch.bincount(ids.flatten().long().cpu(), minlength=experts)
    return Found(
        {
            "the same twice": torch.equal(ids, again) and torch.equal(weights, weights_again),
            "choices": int(counts.sum()),
            "each expert once a token": all(len(set(row)) == len(row) for row in ids.tolist()),
            "shape": list(ids.shape),
        },
        {"ids": digest_of(ids), "weights": digest_of(weights), "load": counts.tolist()},
    )


_V3 = {"use_grouped_topk": True, "renormalize": True, "scoring_func": "sigmoid", "routed_scaling_factor": 2.5}


@part("routing-v3")
def routing_v3() -> Found:
    """256 experts in 8 groups, bias and sigmoid: the fused gate."""
    return _routing(256, True, top_k=8, topk_group=4, num_expert_group=8, **_V3)


@part("routing-v3-scaled")
def routing_v3_scaled() -> Found:
    return _routing(
        256, True, top_k=8, topk_group=4, num_expert_group=8, **_V3,
        apply_routed_scaling_factor_on_output=True,
    )  # fmt: skip


@part("routing-v3-shared")
def routing_v3_shared() -> Found:
    """The shared expert is the last choice of every token."""
    return _routing(256, True, top_k=9, topk_group=4, num_expert_group=8, num_fused_shared_experts=1, **_V3)


@part("routing-small")
def routing_small() -> Found:
    """8 experts that no group of the fused gate fits: upstream's own code in torch."""
    return _routing(24, True, top_k=2, topk_group=2, num_expert_group=4, **_V3)


@part("routing-v2")
def routing_v2() -> Found:
    """160 experts in 8 groups, softmax, no bias."""
    return _routing(
        160, top_k=6, use_grouped_topk=True, topk_group=3, num_expert_group=8, renormalize=False,
        routed_scaling_factor=16.0,
    )  # fmt: skip


@part("routing-v2-shared")
def routing_v2_shared() -> Found:
    return _routing(
        160, top_k=8, use_grouped_topk=True, topk_group=3, num_expert_group=8, renormalize=False,
        num_fused_shared_experts=2, routed_scaling_factor=16.0,
    )  # fmt: skip


@part("routing-without-groups")
def routing_without_groups() -> Found:
    """V2-Lite and the first DeepSeek MoE."""
    return _routing(64, top_k=6, renormalize=False)


@part("routing-replicas")
def routing_replicas() -> Found:
    """Logical experts become physical ones, some of which are replicas."""
    from sglang.srt.eplb.expert_location_dispatch import (
        ExpertLocationDispatchInfo,
        topk_ids_logical_to_physical,
    )

    replicas = torch.arange(64).reshape(32, 2).to("cuda")
    ids = (torch.arange(96).reshape(32, 3) % 32).to(torch.int32).to("cuda")
    info = ExpertLocationDispatchInfo(
        ep_dispatch_algorithm="static",
        partial_logical_to_rank_dispatch_physical_map=replicas[:, 1].contiguous(),
        partial_logical_to_all_physical_map=replicas,
        partial_logical_to_all_physical_map_num_valid=torch.full((32,), 2).to("cuda"),
        num_physical_experts=64,
    )
    found = topk_ids_logical_to_physical(ids, info)
    return Found({"all are the second replica": bool((found % 2 == 1).all())}, {"ids": found.tolist()})


@part("placement")
def placement() -> Found:
    """Expert-parallel load balancing: which expert is replicated, and where replicas go."""
    from sglang.srt.eplb import eplb_algorithms

    load = (_draw(4, 64, seed=5).abs() * 1000).to(torch.int64).cpu()
    found: dict[str, Any] = {}
    for algorithm in eplb_algorithms.EplbAlgorithm:
        try:
            places = eplb_algorithms.rebalance_experts(
                tokens_per_expert=load.unsqueeze(0), num_physical_experts=80, num_local_physical_experts=10,
                num_groups=8, num_nodes=2, algorithm=algorithm,
            )  # fmt: skip
        except Exception as error:
            found[algorithm.name] = f"{type(error).__name__}: {error}"[:200]
            continue
        found[algorithm.name] = [each.flatten().tolist() for each in places]
    return Found({"algorithms": len(found) > 0}, found)
