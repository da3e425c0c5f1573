"""Slots of the KV cache and of requests: they are taken and given back at random, and never twice."""

from __future__ import annotations

from typing import Any

import torch

from verification.parts.events import Events
from verification.parts.registry import Found, part
from verification.parts.versions import takes

_SIZE = 64
_OPERATIONS = 120


class Taken:
    """An allocator, and the slots that are taken from it."""

    def __init__(self, made: Any, page: int, events: Events) -> None:
        self.made, self.events, self._page = made, events, page
        self.held: list[torch.Tensor] = []
        self.double = False

    def run(self) -> None:
        draw = self.events.draw
        for _ in range(_OPERATIONS):
            kinds = ("take", "give", "group", "restore", "extend", "decode")
            kind = draw.choices(kinds, (6, 4, 2, 1, 4, 2))[0]
            getattr(self, f"_{kind}")()
            self.events.add("left", self.made.available_size(), self.made.free_pages, self.made.release_pages)
        for slots in self.held:
            self.made.free(slots)
        self.events.add("all given back", self.made.available_size())
        self.made.clear()
        self.events.add("cleared", self.made.available_size(), self.made.free_pages)

    def _keep(self, name: str, asked: Any, slots: torch.Tensor | None) -> None:
        self.events.add(name, asked, slots)
        if slots is not None and slots.numel():
            others = torch.cat([*self.held, slots]).tolist()
            self.double = self.double or len(set(others)) < len(others)
            self.held.append(slots)

    def _take(self) -> None:
        count = self.events.draw.randint(0, 5) * self._page
        self._keep("take", count, self.made.alloc(count))

    def _give(self) -> None:
        if self.held:
            self.made.free(self.held.pop(self.events.draw.randrange(len(self.held))))
        self.made.free(torch.empty(0, dtype=torch.int64))

    def _group(self) -> None:
        """Given back together, at the end."""
        self.made.free_group_begin()
        self._give()
        self.events.add("in a group", self.made.available_size())
        self._give()
        self.made.free_group_end()

    def _restore(self) -> None:
        if not hasattr(self.made, "backup_state"):  # not in later versions
            return
        state = self.made.backup_state()
        self.made.alloc(self._page)
        self.made.restore_state(state)

    def _extend(self) -> None:
        """Requests grow by some tokens: those that have tokens fill their last page first."""
        if self._page == 1:
            return
        draw = self.events.draw
        before = [draw.choice((0, 0, self._page)) for _ in range(draw.randint(1, 3))]
        after = [one + draw.randint(1, 2 * self._page) for one in before]
        last = torch.tensor([-1 if one == 0 else 4 * self._page - 1 for one in before])
        told = torch.tensor(before), torch.tensor(after)
        grown = sum(after) - sum(before)
        if self._enough(sum(-(-one // self._page) for one in after)):
            slots = self.made.alloc_extend(told[0], told[0], told[1], told[1], last, grown)
            self._keep("extend", [before, after], self._whole(slots))

    def _decode(self) -> None:
        """Each request grows by one token that begins a page."""
        if self._page == 1:
            return
        lengths = torch.tensor([self._page * self.events.draw.randint(1, 3) + 1 for _ in range(2)])
        if self._enough(len(lengths)):
            slots = self.made.alloc_decode(lengths, lengths, torch.tensor([self._page - 1] * 2))
            self._keep("decode", lengths, self._whole(slots))

    def _enough(self, pages: int) -> bool:
        """Upstream asks before it takes: the kernel reads past the end otherwise."""
        if len(self.made.free_pages) < pages:
            self.made.merge_and_sort_free()
        return len(self.made.free_pages) >= pages

    def _whole(self, slots: torch.Tensor | None) -> torch.Tensor | None:
        """Whole pages are given back: one slot of each stands for it."""
        if slots is None:
            return None
        self.events.add("slots", slots)
        return torch.unique(slots // self._page) * self._page


@part("slots")
def slots() -> Found:
    from sglang.srt.mem_cache.allocator import TokenToKVPoolAllocator

    return _slots(lambda sort: TokenToKVPoolAllocator(_SIZE, torch.int64, "cuda", None, sort), 1)


@part("slots-pages")
def slots_pages() -> Found:
    from sglang.srt.mem_cache.allocator import PagedTokenToKVPoolAllocator

    def make(sort: bool) -> Any:
        return PagedTokenToKVPoolAllocator(_SIZE * 4, 4, torch.int64, "cuda", None, sort)

    return _slots(make, 4)


def _slots(make: Any, page: int) -> Found:
    facts: dict[str, Any] = {}
    values: dict[str, Any] = {}
    for sort in (False, True):
        taken = Taken(make(sort), page, Events(int(sort)))
        taken.run()
        facts[f"no slot twice, sorted={sort}"] = not taken.double
        facts[f"all come back, sorted={sort}"] = taken.events.all[-2][1] == taken.events.all[-1][1]
        values[f"events, sorted={sort}"] = taken.events.all
    return Found(facts, values)


@part("rows")
def rows() -> Found:
    """The rows of requests, and the tokens that are written into them."""
    from sglang.srt.mem_cache.memory_pool import ReqToTokenPool

    events = Events(7)
    pool = ReqToTokenPool(size=6, max_context_len=8, device="cuda", enable_memory_saver=False)
    held: list[Holder] = []
    for _ in range(60):
        kind = events.draw.choice(("take", "give", "one", "write"))
        if kind == "take":
            held += _rows_of(pool, events.draw.randint(1, 3))
            events.add("take", [each.req_pool_idx for each in held])
        elif kind == "give" and len(held) > 1:
            _give_rows(pool, [held.pop(0), held.pop()])
        elif kind == "one" and held:
            _give_rows(pool, [held.pop()])
        elif kind == "write" and held:
            pool.write(
                (held[0].req_pool_idx, slice(1, 4)),
                torch.arange(3, dtype=torch.int32) + events.draw.randint(1, 9),
            )
        events.add("left", pool.available_size(), pool.free_slots, pool.req_to_token)
    pool.clear()
    events.add("cleared", pool.free_slots)
    return Found({"all come back": pool.available_size() == 6}, {"events": events.all})


class Holder:
    """A request, as far as a pool of rows asks: it knows its row, and is its own share of the KV cache."""

    inflight_middle_chunks = kv_committed_len = is_chunked = 0

    def __init__(self, row: int | None = None) -> None:
        self.req_pool_idx = row

    @property
    def kv(self) -> Holder:
        return self

    @property
    def holds_kv(self) -> bool:
        return self.req_pool_idx is not None


def _rows_of(pool: Any, count: int) -> list[Holder]:
    """Requests with a row each; none where there are too few. Later versions want the requests themselves."""
    if not takes(pool.alloc, "reqs"):
        return [Holder(row) for row in pool.alloc(count) or []]
    asking = [Holder() for _ in range(count)]
    return asking if pool.alloc(asking) is not None else []


def _give_rows(pool: Any, holders: list[Holder]) -> None:
    if takes(pool.free, "req"):
        for holder in holders:
            pool.free(holder)
    else:
        rows = [holder.req_pool_idx for holder in holders]
        pool.free(rows if len(rows) > 1 else rows[0])


@part("cache-latent")
def cache_latent() -> Found:
    """The KV cache of latent attention: what is stored is read, and goes to the CPU and back."""
    from sglang.srt.mem_cache.memory_pool import MLATokenToKVPool

    pool = MLATokenToKVPool(
        size=32, page_size=1, dtype=torch.bfloat16, kv_lora_rank=128, qk_rope_head_dim=64, layer_num=3,
        device="cuda", enable_memory_saver=False,
    )  # fmt: skip
    events = Events(8)
    draws = torch.Generator().manual_seed(8)
    same = []
    for number in range(6):
        layer = type("Layer", (), {"layer_id": number % 3})()
        where = torch.randperm(32, generator=draws)[:4] + 1
        latent, rotary = (torch.randn(4, 1, n, generator=draws).to(torch.bfloat16) for n in (128, 64))
        pool.set_mla_kv_buffer(layer, where, latent, rotary)
        key, value = pool.get_key_buffer(layer.layer_id), pool.get_value_buffer(layer.layer_id)
        same.append(torch.equal(key[where], torch.cat([latent, rotary], -1)))
        pool.set_kv_buffer(layer, where.flip(0), torch.cat([latent, rotary], -1), None)
        events.add("stored", number, where, key, value, list(value.shape))
        wide = torch.randn(4, 1, 192, generator=draws)  # of another type: it is cast
        pool.set_kv_buffer(layer, where, wide, None)
        events.add("cast", pool.get_key_buffer(layer.layer_id))
        pool.set_mla_kv_buffer(layer, where, wide[..., :128], wide[..., 128:])
        parts = pool.get_mla_kv_buffer(layer, where, torch.float32)
        events.add("cast in parts", pool.get_key_buffer(layer.layer_id), *parts)
    kept = pool.get_cpu_copy(torch.arange(1, 9))
    before = [one.clone() for one in pool.kv_buffer]
    for one in pool.kv_buffer:
        one.zero_()
    pool.load_cpu_copy(kept, torch.arange(1, 9))
    events.add("back", pool.kv_buffer)
    back = all(torch.equal(a[1:9], b[1:9]) for a, b in zip(before, pool.kv_buffer, strict=True))
    events.add("described", pool.get_kv_size_bytes(), [len(one) for one in pool.get_contiguous_buf_infos()])
    events.add("sizes", pool.get_contiguous_buf_infos()[1:])
    told = [one.data_ptr() for one in pool.kv_buffer] == pool.data_ptrs.tolist()
    return Found(
        {"what is stored is read": all(same), "and comes back": back, "addresses are of the buffers": told},
        {"events": events.all},
    )
