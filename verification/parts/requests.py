"""Requests, and what they wait for: pools of slots and a prefix cache."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from verification.parts.events import Events
from verification.parts.prefixes import kept, nodes
from verification.parts.versions import accepted

VOCABULARY = 40


class Letters:
    """A tokenizer: each token is one letter."""

    eos_token_id = 2
    additional_stop_token_ids = frozenset([3])

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        return [ord(letter) - 97 for letter in text]

    def decode(self, tokens: Any) -> str:
        return "".join(chr(97 + int(token) % 26) for token in tokens)


class Server:
    """Pools of `size` slots, and the prefix cache over them. A cache that is off keeps nothing."""

    def __init__(self, size: int, page: int, rows: int = 16, policy: str = "lru", off: bool = False) -> None:
        from sglang.srt.mem_cache import allocator
        from sglang.srt.mem_cache.cache_init_params import CacheInitParams
        from sglang.srt.mem_cache.memory_pool import ReqToTokenPool
        from sglang.srt.mem_cache.radix_cache import RadixCache

        self.page, self.size = page, size
        self.rows = ReqToTokenPool(size=rows, max_context_len=256, device="cuda", enable_memory_saver=False)
        common: dict[str, Any] = {
            "dtype": torch.int64, "device": "cuda", "kvcache": None, "need_sort": False
        }  # fmt: skip
        self.slots = (
            allocator.TokenToKVPoolAllocator(size, **common)
            if page == 1
            else allocator.PagedTokenToKVPoolAllocator(size, page, **common)
        )
        self.cache = RadixCache(
            CacheInitParams(
                disable=off, req_to_token_pool=self.rows, token_to_kv_pool_allocator=self.slots,
                page_size=page, eviction_policy=policy,
            )
        )  # fmt: skip

    def sizes(self) -> list[int]:
        return [
            self.slots.available_size(), self.cache.evictable_size(), self.cache.protected_size(),
            self.rows.available_size(),
        ]  # fmt: skip

    def nodes(self) -> list[list[int]]:
        """Depth, priority and locks of each node of the cache."""
        return [[depth, node.priority, node.lock_ref] for depth, node in nodes(self.cache)]


def drawn(events: Events, index: int, **given: Any) -> Any:
    """A request with tokens that others share, and settings of every kind now and then."""
    from sglang.srt.managers.schedule_batch import Req
    from sglang.srt.sampling.sampling_params import SamplingParams

    draw = events.draw
    head = [5 + draw.randint(0, 1)] * draw.choice((0, 8, 40))
    tokens = head + [draw.randint(4, 7) for _ in range(draw.randint(1, 20))]
    settings: dict[str, Any] = {
        "max_new_tokens": draw.choice((1, 3, 6, 12, 5000)) if given.get("long") else draw.randint(1, 12),
        "temperature": draw.choice((0.0, 0.7, 1.3)), "top_p": draw.choice((1.0, 0.9)),
        "top_k": draw.choice((-1, 5)), "min_p": draw.choice((0.0, 0.1)),
        "frequency_penalty": draw.choice((0.0, 0.5)), "presence_penalty": draw.choice((0.0, -0.3)),
        "min_new_tokens": draw.choice((0, 0, 2)), "ignore_eos": draw.random() < 0.3,
        "stop_token_ids": draw.choice((None, [9, 10])), "stop": draw.choice((None, ["lm", "a"])),
        "logit_bias": draw.choice((None, {"4": 1.5, "11": -2.0})),
    }  # fmt: skip
    settings["min_new_tokens"] = min(settings["min_new_tokens"], settings["max_new_tokens"])
    sampling = SamplingParams(**settings)
    tokenizer = Letters()
    sampling.normalize(tokenizer)
    request = Req(
        f"r{index}", "", kept(Req, "origin_input_ids", tokens), sampling, vocab_size=VOCABULARY,
        priority=draw.randint(0, 3),
        routing_key=draw.choice((None, "a", "b", "c")), extra_key=draw.choice((None, None, "salt")),
        return_logprob=draw.random() < 0.3, top_logprobs_num=draw.choice((0, 2)),
        token_ids_logprob=draw.choice((None, [4, 5])), stream=draw.random() < 0.5,
        eos_token_ids=draw.choice((None, {12})),
    )  # fmt: skip
    request.tokenizer = tokenizer
    request.logprob_start_len = draw.choice((-1, 0, 3)) if request.return_logprob else -1
    request.time_stats.wait_queue_entry_time = float(draw.randint(1, 9))
    return request


def uncached(request: Any) -> int:
    """How many tokens of a request have to be computed."""
    if hasattr(request, "extend_input_len"):
        return int(request.extend_input_len)
    return len(request.full_untruncated_fill_ids) - cached(request)


def cached(request: Any) -> int:
    """How many tokens of a request were found in the cache."""
    return len(request.prefix_indices) if hasattr(request, "prefix_indices") else int(request.prefix_len)


def held(request: Any, name: str) -> Any:
    """What a request knows of its share of the KV cache: later versions keep it in an object of its own."""
    return getattr(request if hasattr(request, name) else request.kv, name)


def compute_all(request: Any) -> None:
    """All that is not cached is to be computed next: later versions have to be told."""
    if hasattr(request, "set_extend_range"):
        request.set_extend_range(cached(request), len(request.full_untruncated_fill_ids))
    elif hasattr(request, "extend_end"):
        request.extend_end = len(request.full_untruncated_fill_ids)


def lock(server: Server, request: Any) -> None:
    """What a request found in the cache may not be evicted any more."""
    if hasattr(server.cache, "lock"):
        request.lock = server.cache.lock(request.last_node)
    else:
        server.cache.inc_lock_ref(request.last_node)


def keep(server: Server, request: Any) -> None:
    """What a request has computed is kept in the cache; it goes on."""
    if hasattr(server.cache, "cache_unfinished_req"):
        server.cache.cache_unfinished_req(request)
    else:
        from sglang.srt.mem_cache.common import checkpoint_kv_cache

        checkpoint_kv_cache(request, server.cache)


def look_whether_it_ends(request: Any) -> None:
    if hasattr(request, "check_finished"):
        request.check_finished()
    else:
        request.update_finish_state()


def give_back(server: Server, request: Any) -> None:
    """A request has ended: the cache keeps what it computed, and its row is free."""
    from sglang.srt.mem_cache.common import release_kv_cache

    release_kv_cache(request, server.cache, **accepted(release_kv_cache, checkpoint=True))


def model() -> Any:
    """What a batch asks of the configuration of a model."""
    return SimpleNamespace(
        is_encoder_decoder=False,
        vocab_size=VOCABULARY,
        is_matryoshka=False,
        hidden_size=8,
        is_multimodal=False,
    )
