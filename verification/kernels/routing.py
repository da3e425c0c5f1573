"""Mixture of experts: gates, placement of tokens, sums."""

from __future__ import annotations

import torch
from torch import Tensor

from verification.kernels.registry import reference


@reference("moe_fused_gate")
def moe_fused_gate(
    logits: Tensor, bias: Tensor, groups: int, kept_groups: int, count: int, shared: int, scale: float,
    scale_output: bool,
) -> list[Tensor]:  # fmt: skip
    tokens, experts = logits.shape
    scores = logits.float().sigmoid()
    choice = scores + bias.float()
    best = choice.view(tokens, groups, -1).topk(2, -1)[0].sum(-1).topk(kept_groups, -1)[1]
    mask = torch.zeros(tokens, groups, device=logits.device).scatter_(1, best, 1).bool()
    mask = mask[..., None].expand(tokens, groups, experts // groups).reshape(tokens, experts)
    ids = choice.masked_fill(~mask, float("-inf")).topk(count - shared, -1)[1]
    weights = scores.gather(1, ids)
    total = weights.sum(-1, keepdim=True)
    if shared:
        extra = torch.arange(experts, experts + shared, device=logits.device)
        ids = torch.cat((ids, extra.expand(tokens, -1)), 1)
        weights = torch.cat((weights, (total / scale).expand(tokens, shared)), 1)
    weights = weights / total
    return [(weights * scale if scale_output else weights).float(), ids.int()]


@reference("topk_softmax")
def topk_softmax(
    weights: Tensor, ids: Tensor, logits: Tensor, normalize: bool, cap: float, bias: Tensor | None
) -> None:
    scores = logits.float().softmax(-1)
    chosen = (scores if bias is None else scores + bias).topk(weights.shape[1], -1)[1]
    values = scores.gather(1, chosen)
    weights.copy_(values / values.sum(-1, keepdim=True) if normalize else values)
    ids.copy_(chosen)


@reference("moe_align_block_size")
def moe_align_block_size(
    ids: Tensor, experts: int, block: int, sorted_ids: Tensor, expert_ids: Tensor, total: Tensor,
    sums: Tensor, pad: bool,
) -> None:  # fmt: skip
    flat = ids.flatten().tolist()
    of_expert: dict[int, list[int]] = {}
    for index, expert in enumerate(flat):
        of_expert.setdefault(expert, []).append(index)
    order: list[int] = []
    blocks: list[int] = []
    for expert in sorted(of_expert):
        tokens = of_expert[expert]
        tokens = tokens + [len(flat)] * (-len(tokens) % block)
        order += tokens
        blocks += [expert] * (len(tokens) // block)
    sorted_ids.fill_(len(flat))
    sorted_ids[: len(order)] = torch.tensor(order, dtype=torch.int32, device=ids.device)
    expert_ids.zero_()
    expert_ids[: len(blocks)] = torch.tensor(blocks, dtype=torch.int32, device=ids.device)
    total.fill_(len(order))


@reference("moe_sum_reduce")
def moe_sum_reduce(x: Tensor, out: Tensor, scale: float) -> None:
    out.copy_((x.float().sum(1) * scale).to(out.dtype))


@reference("moe_sum")
def moe_sum(x: Tensor, out: Tensor) -> None:
    out.copy_(x.float().sum(1).to(out.dtype))
