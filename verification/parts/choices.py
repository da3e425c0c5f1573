"""The choice of experts: groups, bias, shared experts, scaling, replicas, tokens that only pad."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch

from verification.parts.drawn import draw
from verification.parts.events import plain
from verification.parts.registry import Found, part
from verification.parts.versions import accepted, alone, configured

_TOKENS, _EXPERTS, _HIDDEN = 7, 24, 8
_PADDED = 5  # the tokens from here on only pad


_draw = partial(draw, dtype=torch.float32)


def _given(experts: int = _EXPERTS, seed: int = 1) -> dict[str, torch.Tensor]:
    return {
        "hidden_states": _draw(_TOKENS, _HIDDEN, seed=seed),
        "gating_output": _draw(_TOKENS, experts, seed=seed + 1),
    }


def _replicas(algorithm: str, experts: int = _EXPERTS, extra: int = 0) -> Any:
    """Two replicas of each expert; of `extra` shared ones too."""
    from sglang.srt.eplb.expert_location_dispatch import ExpertLocationDispatchInfo

    count = experts + extra
    replicas = torch.arange(2 * count).reshape(count, 2).flip(0).contiguous().to("cuda")
    return ExpertLocationDispatchInfo(
        ep_dispatch_algorithm=algorithm,
        partial_logical_to_rank_dispatch_physical_map=replicas[:, 1].contiguous(),
        partial_logical_to_all_physical_map=replicas,
        partial_logical_to_all_physical_map_num_valid=(torch.arange(count) % 2 + 1).to("cuda"),
        num_physical_experts=2 * count,
    )


def _forms() -> Iterator[tuple[str, dict[str, Any]]]:
    """The settings, by name: each alone, and several together."""
    padded = torch.tensor(_PADDED).to("cuda")
    yield "plain", {}
    yield "renormalized", {"renormalize": True}
    yield "padded", {"num_token_non_padded": padded}
    for algorithm in ("static", "dynamic"):
        yield algorithm, {"expert_location_dispatch_info": _replicas(algorithm)}
        yield (
            f"{algorithm}, padded",
            {"expert_location_dispatch_info": _replicas(algorithm), "num_token_non_padded": padded},
        )


def _grouped() -> Iterator[tuple[str, dict[str, Any]]]:
    yield from _forms()
    yield "scaled", {
        "renormalize": True, "routed_scaling_factor": 2.5, "apply_routed_scaling_factor_on_output": True
    }  # fmt: skip
    yield "factor without output", {"renormalize": True, "routed_scaling_factor": 2.5}
    for renormalize in (False, True):
        for factor in (None, 2.5):
            yield (
                f"shared, {renormalize=}, {factor=}",
                {"num_fused_shared_experts": 2, "renormalize": renormalize, "routed_scaling_factor": factor,
                 "expert_location_dispatch_info": _replicas("static", extra=2)},
            )  # fmt: skip


def _call(function: Any, **given: Any) -> list[Any]:
    if not set(given) <= set(inspect.signature(function).parameters):
        return ["this release has no such form"]
    torch.manual_seed(5)  # which shared expert, which replica
    weights, ids = function(**given)
    return [plain(weights), plain(ids)]


@part("choice-groups")
def choice_groups() -> Found:
    """V2: softmax, the best groups by their best expert."""
    from sglang.srt.layers.moe import topk

    values = {}
    for groups, chosen, count in ((4, 2, 3), (6, 1, 2), (4, 4, 5)):
        for name, form in _grouped():
            values[f"{groups}/{chosen}/{count}, {name}"] = _call(
                topk.grouped_topk_gpu, **_given(), topk=count,
                **{"renormalize": False, "num_expert_group": groups, "topk_group": chosen, **form},
            )  # fmt: skip
    return Found({"forms": len({str(one) for one in values.values()}) > 8}, values)


@part("choice-bias")
def choice_bias() -> Found:
    """V3: sigmoid and a bias, the best groups by their two best experts; one group as K2 has."""
    from sglang.srt.layers.moe import topk

    values = {}
    for groups, chosen, count in ((4, 2, 3), (6, 1, 2), (4, 4, 5)):
        for name, form in _grouped():
            given = {**_given(seed=3), "correction_bias": _draw(_EXPERTS, seed=9), "topk": count}
            settings = {"renormalize": False, "num_expert_group": groups, "topk_group": chosen, **form}
            for function in (topk.biased_grouped_topk_impl, topk.biased_grouped_topk_gpu):
                values[f"{function.__name__}, {groups}/{chosen}/{count}, {name}"] = _call(
                    function, **given, **settings
                )
    for name, form in _grouped():
        if not name.startswith("shared"):
            given = {**_given(seed=4), "correction_bias": _draw(_EXPERTS, seed=8), "topk": 3}
            values[f"one group, {name}"] = _call(
                topk.kimi_k2_biased_topk_impl, **given, **{"renormalize": False, **form}
            )
    return Found({"forms": len({str(one) for one in values.values()}) > 8}, values)


@part("choice-fused")
def choice_fused() -> Found:
    """The gate in one kernel: after it, experts become replicas and tokens that pad lose theirs."""
    from sglang.srt.layers.moe import topk

    values = {}
    for name, form in _forms():
        values[f"fused, {name}"] = _call(
            topk.biased_grouped_topk_gpu, **_given(256, seed=5), correction_bias=_draw(256, seed=6), topk=8,
            **{"renormalize": True, "num_expert_group": 8, "topk_group": 4, **_larger(form, 256)},
        )  # fmt: skip
        values[f"softmax, {name}"] = _call(
            topk.fused_topk, **_given(seed=6), topk=3, **{"renormalize": False, **form}
        )
    for biased in (False, True):
        for scoring in ("softmax", "sigmoid"):
            for renormalize in (False, True):
                values[f"torch, {biased=}, {scoring}, {renormalize=}"] = _call(
                    topk.fused_topk_torch_native, **_given(seed=7), topk=3, renormalize=renormalize,
                    scoring_func=scoring, correction_bias=_draw(_EXPERTS, seed=7) if biased else None,
                )  # fmt: skip
    values["powers of two"] = [topk.is_power_of_two(number) for number in range(-1, 18)]
    for function in (topk.fused_topk, topk.fused_topk_torch_native):
        with contextlib.suppress(ValueError):
            _call(function, **_given(), topk=3, renormalize=True, scoring_func="none")
            values[f"{function.__name__} takes any score"] = True
    return Found({"forms": len({str(one) for one in values.values()}) > 4}, values)


def _larger(form: dict[str, Any], experts: int) -> dict[str, Any]:
    """The same with so many experts."""
    info = form.get("expert_location_dispatch_info")
    if info is None:
        return form
    replicas = _replicas(info.ep_dispatch_algorithm, experts)
    return {**form, "expert_location_dispatch_info": replicas}


@part("choice-layer")
def choice_layer() -> Found:
    """The layer that chooses: which way it takes, and what it says of a batch without tokens."""
    from sglang.srt.layers.moe import topk

    # one rank: its memory is nobody else's
    memory = {"is_allocation_symmetric": lambda: False, "use_symmetric_memory": _nothing}
    with alone(topk, None), mock.patch.multiple(topk, **memory):
        return _layers(topk)


def _nothing(*args: Any, **named: Any) -> contextlib.AbstractContextManager[None]:
    return contextlib.nullcontext()


def _layers(topk: Any) -> Found:
    values: dict[str, Any] = {}
    common: dict[str, Any] = {"top_k": 3, "layer_id": 1}
    if hasattr(topk.TopK, "bind_runner_backend"):  # the experts decide then; there are none here
        common["output_format"] = topk.TopKOutputFormat.STANDARD
    groups = {"use_grouped_topk": True, "num_expert_group": 4, "topk_group": 2, "routed_scaling_factor": 2.5}
    bias = {"correction_bias": _draw(_EXPERTS, seed=11)}
    forms: dict[str, dict[str, Any]] = {
        "plain": {}, "kept": {"renormalize": False}, "normal": {"renormalize": True},
        "groups": groups, "bias": {**groups, **bias}, "shared": {**groups, "num_fused_shared_experts": 1},
        "scaled": {**groups, **bias, "apply_routed_scaling_factor_on_output": True},
        "own": {"custom_routing_function": _own},
    }  # fmt: skip
    for name, form in forms.items():
        for way in ("forward_native", "forward_cuda"):
            torch.manual_seed(6)
            layer = topk.TopK(**accepted(topk.TopK, **common, **form))
            given = _given(seed=12)
            said = getattr(layer, way)(given["hidden_states"], given["gating_output"])
            values[f"{name}, {way}"] = [
                plain(list(said)),
                said.format.name,
                getattr(layer.topk_config, "torch_native", None),
            ]
            checker = topk.TopKOutputChecker
            values[f"{name}, {way}, kind"] = [
                checker.format_is_standard(said), checker.format_is_triton_kernels(said),
                checker.format_is_bypassed(said),
            ]  # fmt: skip
        empty = layer.empty_topk_output(torch.device("cuda"))
        values[f"{name}, none"] = plain(list(empty))
    late = topk.TopK(**{**common, "output_format": topk.TopKOutputFormat.BYPASSED})
    said = late.forward_cuda(hidden_states=given["hidden_states"], router_logits=given["gating_output"])
    values["late"] = [plain(list(said)), said.format.name, topk.TopKOutputChecker.format_is_bypassed(said)]
    return Found({"ways": len(values) > 20}, values)


def _own(
    hidden_states: torch.Tensor, gating_output: torch.Tensor, topk: int, renormalize: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    weights, ids = gating_output.topk(topk, dim=-1)
    return weights * (2 if renormalize else 1), ids


@part("replicas")
def replicas() -> Found:
    """Where replicas of experts lie, and which of them a rank sends its tokens to."""
    values: dict[str, Any] = {}
    generator = torch.Generator().manual_seed(3)
    for ranks in (4, 8):
        with configured(nnodes=2, ep_size=ranks, moe_a2a_backend="deepep"):
            _placed(ranks, generator, values)
    return Found({"sent": len({str(one) for one in values.values()}) > 8}, values)


def _placed(ranks: int, generator: torch.Generator, values: dict[str, Any]) -> None:
    from sglang.srt.eplb import expert_location

    args = SimpleNamespace(device="cuda", nnodes=2, ep_size=ranks)
    all_of, sent_by = (
        partial(function, **accepted(function, server_args=args))
        for function in (
            expert_location._compute_logical_to_all_physical_map,
            expert_location.compute_logical_to_rank_dispatch_physical_map,
        )
    )
    spread = torch.stack([torch.randperm(16, generator=generator) for _ in range(3)])
    extra = torch.randint(0, 16, (3, 8), generator=generator)
    places = torch.cat([spread, extra], dim=1).to("cuda")
    for rank in (None, 0, ranks - 1):
        found = all_of(
            physical_to_logical_map=places, num_logical_experts=16, ep_size=ranks, moe_ep_rank=rank
        )
        values[f"{ranks} ranks, all, of {rank}"] = plain(found.flatten())
        values[f"{ranks} ranks, all, of {rank}, in order"] = found.tolist()
    for rank in range(ranks):
        sent = sent_by(
            logical_to_all_physical_map=found, ep_size=ranks, num_physical_experts=24, ep_rank=rank
        )
        values[f"{ranks} ranks, sent by {rank}"] = sent.tolist()
