"""Speculative decoding: trees of draft tokens, their verification, and sampling."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from verification.kernels.registry import reference

#: Sampling draws from here, so that every process draws the same.
_draws = torch.Generator().manual_seed(7)


@reference("top_k_top_p_sampling_from_probs")
def sample(
    probabilities: Tensor, out: Tensor, rows: Tensor | None, ks: Tensor | None, k: float, ps: Tensor | None,
    p: float, deterministic: bool, generator: Any,
) -> None:  # fmt: skip
    for index in range(probabilities.shape[0]):
        row = probabilities[int(rows[index]) if rows is not None else index].float()
        most = int(ks[index]) if ks is not None else int(k)
        mass = float(ps[index]) if ps is not None else float(p)
        values, order = row.sort(descending=True, stable=True)
        values = values[: min(most, values.numel()) if most > 0 else values.numel()]
        values = values * ((values.cumsum(0) - values) < mass)
        drawn = torch.rand((), generator=_draws).to(values.device) * values.sum()
        out[index] = order[int((values.cumsum(0) > drawn).float().argmax())]


@reference("build_tree_kernel_efficient")
def build_tree(
    parents: Tensor, selected: Tensor, lengths: Tensor, mask: Tensor, positions: Tensor, retrieve: Tensor,
    next_token: Tensor, next_sibling: Tensor, topk: int, depth: int, count: int, mode: int,
) -> None:  # fmt: skip
    if mode not in (0, 1):
        raise NotImplementedError(f"tree masks of mode {mode}")
    parent_rows, chosen, prefixes = parents.tolist(), selected.tolist(), lengths.tolist()
    offset = 0
    for batch in range(parents.shape[0]):
        prefix = prefixes[batch] if mode == 0 else 0
        parent = [0] * count
        for node in range(1, count):
            above = chosen[batch][node - 1] // topk
            parent[node] = 0 if above == 0 else chosen[batch].index(parent_rows[batch][above]) + 1
        for node in range(count):
            row = offset + node * (prefix + count) + prefix
            mask[row : row + count] = False
            mask[row] = True
            level, current = 0, node
            while current:
                mask[row + current] = True
                current, level = parent[current], level + 1
            positions[batch * count + node] = prefixes[batch] + level
            retrieve[batch, node] = batch * count + node
        for node in range(count - 1, 0, -1):
            sibling = int(next_token[batch, parent[node]])
            next_token[batch, parent[node]] = node
            if sibling != -1:
                next_sibling[batch, node] = sibling
        offset += count * (prefix + count)


@reference("verify_tree_greedy")
def verify_tree_greedy(
    predicted: Tensor, accepted: Tensor, counts: Tensor, candidates: Tensor, retrieve: Tensor,
    next_token: Tensor, next_sibling: Tensor, target: Tensor,
) -> None:  # fmt: skip
    wanted = target.flatten()
    for batch in range(candidates.shape[0]):
        last = int(retrieve[batch, 0])
        accepted[batch, 0] = last
        count = current = 0
        for _ in range(1, accepted.shape[1]):
            current = int(next_token[batch, current])
            while current != -1:
                if int(candidates[batch, current]) == int(wanted[last]):
                    predicted[last] = wanted[last]
                    count += 1
                    last = int(retrieve[batch, current])
                    accepted[batch, count] = last
                    break
                current = int(next_sibling[batch, current])
            if current == -1:
                break
        counts[batch] = count
        predicted[last] = wanted[last]


@reference("tree_speculative_sampling_target_only")
def draw_from_tree(
    predicted: Tensor, accepted: Tensor, counts: Tensor, candidates: Tensor, retrieve: Tensor,
    next_token: Tensor, next_sibling: Tensor, coins: Tensor, last_coins: Tensor, target: Tensor,
    draft: Tensor, enough_alone: float, enough_together: float, deterministic: bool,
) -> None:  # fmt: skip
    """A draft token is taken by its probability; what follows the last one is drawn from the rest."""
    most = accepted.shape[1] - 1
    for batch in range(candidates.shape[0]):
        last = int(retrieve[batch, 0])
        accepted[batch, 0] = last
        count = current = node = 0
        for _ in range(most):
            current, mass = int(next_token[batch, current]), 0.0
            while current != -1:
                token = int(candidates[batch, current])
                share = float(target[batch, node, token])
                mass += share
                if float(coins[batch, node]) <= mass / enough_together or share >= enough_alone:
                    predicted[last] = token
                    count, node, last = count + 1, current, int(retrieve[batch, current])
                    accepted[batch, count] = last
                    break
                draft[batch, node, token] = share
                current = int(next_sibling[batch, current])
            if current == -1:
                break
        counts[batch] = count
        rest = (
            target[batch, node] if count == most else (target[batch, node] - draft[batch, node]).clamp_min(0)
        )
        sums = rest.cumsum(0)
        over = sums > float(last_coins[batch]) * sums[-1]
        predicted[last] = int(over.float().argmax()) if bool(over.any()) else len(sums) - 1


@reference("top_k_renorm_probs")
def keep_most_likely(probabilities: Tensor, out: Tensor, ks: Tensor | None, k: int) -> None:
    for index, row in enumerate(probabilities):
        count = min(int(ks[index]) if ks is not None else k, len(row))
        kept = torch.where(row >= row.topk(count)[0][-1], row, torch.zeros_like(row))
        out[index] = kept / kept.sum()


@reference("top_p_renorm_probs")
def keep_mass(probabilities: Tensor, out: Tensor, ps: Tensor | None, p: float) -> None:
    for index, row in enumerate(probabilities):
        values, order = row.sort(descending=True, stable=True)
        values = values * ((values.cumsum(0) - values) < (float(ps[index]) if ps is not None else p))
        out[index] = torch.zeros_like(row).scatter_(0, order, values / values.sum())


def accept_one(device: Any, predicted: Tensor, accepted: Tensor, counts: Tensor, *rest: Tensor) -> None:
    """Where only shapes exist: every request accepts its root and one draft token."""
    candidates = rest[0]
    batch, width = accepted.shape
    places = torch.full((batch, width), -1, dtype=accepted.dtype)
    places[:, 0] = torch.arange(batch) * candidates.shape[1]
    places[:, 1] = places[:, 0] + 1
    device.shadows[accepted] = places
    device.shadows[counts] = torch.ones(counts.shape, dtype=counts.dtype)
    device.shadows[predicted] = torch.zeros(predicted.shape, dtype=predicted.dtype)


@reference("reconstruct_indices_from_tree_mask")
def tree_of_mask(
    mask: Tensor, lengths: Tensor, positions: Tensor, retrieve: Tensor, next_token: Tensor,
    next_sibling: Tensor, batches: int, count: int,
) -> None:  # fmt: skip
    """The tree in which each node sees its ancestors: the nearest of these, before it, is its parent."""
    for batch, seen in enumerate(mask.view(batches, count, count).tolist()):
        above = [[other for other in range(node) if seen[node][other]] for node in range(count)]
        for node in range(count):
            later = range(node + 1, count)
            child = next((other for other in later if node in above[other]), -1)
            brothers = (other for other in later if above[node] and above[other][-1:] == above[node][-1:])
            place = batch * count + node
            positions.view(-1)[place] = len(above[node]) + int(lengths[batch])
            retrieve.view(-1)[place] = place
            next_token.view(-1)[place] = child
            next_sibling.view(-1)[place] = next(brothers, -1)
