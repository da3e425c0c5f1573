"""The radix cache: random prefixes are inserted, looked up, locked and evicted."""

from __future__ import annotations

import importlib.util
import inspect
from array import array
from collections.abc import Callable, Iterator
from typing import Any

import torch

from verification.parts.events import Events, clock, plain
from verification.parts.registry import Found, part

POLICIES = ("lru", "lfu", "fifo", "mru", "filo", "priority")
_TOKENS = 3  # different ones: prefixes are shared often
_OPERATIONS = 160


def nodes(cache: Any) -> Iterator[tuple[int, Any]]:
    """Every node of a cache from the root on, each with its depth; children come in their order."""
    stack = [(0, cache.root_node)]
    while stack:
        depth, node = stack.pop()
        yield depth, node
        stack += [(depth + 1, child) for child in reversed(node.children.values())]


class Slots:
    """Stands for the allocator: it keeps which slots are given back, in which order."""

    device = torch.device("cpu")

    def __init__(self, events: Events) -> None:
        self._events = events

    def free(self, slots: torch.Tensor) -> None:
        self._events.add("free", slots)

    def free_segment(self, slots: torch.Tensor, *, start_pos: int) -> None:
        """So later versions say it."""
        self._events.add("free", slots, start_pos)


def called(cache: Any, method: str, form: str, **given: Any) -> Any:
    """Call a method of a cache of upstream: later versions take one object of parameters, a `form`."""
    from sglang.srt.mem_cache import base_prefix_cache

    kind: Callable[..., Any] | None = getattr(base_prefix_cache, form, None)
    function = getattr(cache, method)
    if kind is None or "params" not in inspect.signature(function).parameters:
        return function(**given)
    return function(kind(**given))


def key(tokens: list[int], extra: str | None) -> Any:
    """What a cache finds a prefix by."""
    from sglang.srt.mem_cache.radix_cache import RadixKey

    return RadixKey(token_ids=kept(RadixKey, "token_ids", tokens), extra_key=extra)


def kept(function: Any, name: str, tokens: list[int]) -> Any:
    """Tokens as a parameter wants them: later versions keep them in arrays."""
    annotation = inspect.signature(function).parameters[name].annotation
    return array("q", tokens) if "array" in str(annotation) else list(tokens)


class Cache:
    """A radix cache of either form of its methods: later versions take one object of parameters."""

    def __init__(self, page: int, policy: str, eagle: bool, events: Events) -> None:
        from sglang.srt.mem_cache import radix_cache
        from sglang.srt.mem_cache.cache_init_params import CacheInitParams

        self.made = radix_cache.RadixCache(
            CacheInitParams(
                disable=False, req_to_token_pool=None, token_to_kv_pool_allocator=Slots(events),
                page_size=page, is_eagle=eagle, eviction_policy=policy,
                enable_kv_cache_events=not _compiled(),
            )
        )  # fmt: skip

    def key(self, tokens: list[int], extra: str | None) -> Any:
        return key(tokens, extra)

    def insert(self, key: Any, value: torch.Tensor, priority: int) -> Any:
        return self._call("insert", "InsertParams", key=key, value=value, priority=priority)

    def match(self, key: Any) -> Any:
        return self._call("match_prefix", "MatchPrefixParams", key=key)

    def evict(self, count: int) -> Any:
        return self._call("evict", "EvictParams", num_tokens=count)

    def _call(self, method: str, form: str, **given: Any) -> Any:
        return called(self.made, method, form, **given)

    def nodes(self) -> list[Any]:
        """Every node from the root on, with its children in their order."""
        return [
            [
                depth, list(node.key.token_ids), plain(node.value), node.lock_ref, node.priority,
                node.last_access_time, node.creation_time, plain(getattr(node, "hash_value", None)),
            ]
            for depth, node in nodes(self.made)
        ]  # fmt: skip

    def slots(self, said: Any) -> Any:
        """The slots of what was found; later versions leave them to the node."""
        if hasattr(said, "device_indices"):
            return said.device_indices
        return self.made.path_device_indices(said.last_device_node)

    def sizes(self) -> list[int]:
        made = self.made
        return [made.evictable_size(), made.protected_size(), made.total_size()]


def _compiled() -> bool:
    """Return whether the names of pages come from a native extension, which is not compiled here."""
    try:
        return importlib.util.find_spec("sglang.srt.mem_cache.cpp_utils.native_hash") is not None
    except ModuleNotFoundError:
        return False


class Walk:
    """One sequence of operations on one cache."""

    def __init__(self, page: int, policy: str, eagle: bool, seed: int) -> None:
        self.events = Events(seed)
        self._page = page
        self._cache = Cache(page, policy, eagle, self.events)
        self._slots = 1
        self._locked: list[Any] = []

    def run(self) -> Found:
        draw = self.events.draw
        kinds = ("insert", "match", "lock", "unlock", "evict", "look")
        for _ in range(_OPERATIONS):
            kind = draw.choices(kinds, (30, 20, 12, 12, 10, 6))[0]
            getattr(self, f"_{kind}")()
            self.events.add("sizes", self._cache.sizes())
        while self._locked:
            self._unlock()
        self._look()
        free = self._cache.sizes()
        # one at a time, so that the order is seen
        while self._cache.made.evictable_size():
            self._cache.evict(1)
            self.events.add("evicted", self._cache.sizes(), self._news())
        self._cache.made.reset()
        self._look()
        return Found(
            {"all done": {"free", "match", "lock", "unlock"} <= self.events.names(),
             "nothing stays locked": free[1] == 0, "all is evicted": self._cache.sizes()[2] == 0},
            {"events": self.events.all},
        )  # fmt: skip

    def _drawn(self) -> tuple[list[int], str | None]:
        draw = self.events.draw
        length = draw.randint(0, 6) * self._page + draw.choice((0, 0, 1))
        # tokens of a page are alike, so that pages are shared too
        tokens = [draw.randint(1, _TOKENS) for _ in range(-(-length // self._page))]
        spread = [token for token in tokens for _ in range(self._page)][:length]
        return spread, draw.choice((None, None, "other"))

    def _insert(self) -> None:
        tokens, extra = self._drawn()
        tokens = tokens[: len(tokens) // self._page * self._page]
        slots = torch.arange(self._slots, self._slots + len(tokens))
        self._slots += len(tokens)
        priority = self.events.draw.randint(0, 3)
        said = self._cache.insert(self._cache.key(tokens, extra), slots, priority)
        self.events.add("insert", tokens, extra, priority, getattr(said, "prefix_len", said))

    def _found(self, name: str) -> Any:
        tokens, extra = self._drawn()
        said = self._cache.match(self._cache.key(tokens, extra))
        last = said.last_device_node
        slots = self._cache.slots(said)
        self.events.add(name, tokens, extra, slots, list(last.key.token_ids), last.lock_ref)
        return last

    def _match(self) -> None:
        self._found("match")

    def _lock(self) -> None:
        self._locked.append(self._found("lock"))
        self.events.add("by", _told(self._cache.made.inc_lock_ref(self._locked[-1])))

    def _unlock(self) -> None:
        if self._locked:
            node = self._locked.pop(self.events.draw.randrange(len(self._locked)))
            self.events.add("unlock", _told(self._cache.made.dec_lock_ref(node)))

    def _evict(self) -> None:
        count = self.events.draw.randint(1, 4 * self._page)
        self._cache.evict(count)
        self.events.add("evict", count, self._news())

    def _look(self) -> None:
        self.events.add("look", self._cache.nodes(), self._news())

    def _news(self) -> list[Any]:
        """What was said to those who follow what is cached."""
        return [[type(each).__name__, _fields(each)] for each in self._cache.made.take_events()]


def _fields(event: Any) -> Any:
    return {name: plain(getattr(event, name)) for name in event.__struct_fields__}


def _told(said: Any) -> Any:
    return getattr(said, "delta", said)


def _walks(page: int, eagle: bool = False) -> Found:
    facts: dict[str, Any] = {}
    values: dict[str, Any] = {}
    for seed, policy in enumerate(POLICIES):
        with clock():
            one = Walk(page, policy, eagle, seed).run()
        facts |= {f"{policy}: {name}": value for name, value in one.facts.items()}
        values |= {f"{policy}: {name}": value for name, value in one.values.items()}
    return Found(facts, values)


@part("prefixes")
def prefixes() -> Found:
    """Pages of one token, with every order of eviction."""
    return _walks(1)


@part("prefixes-pages")
def prefixes_pages() -> Found:
    return _walks(4)


@part("prefixes-draft")
def prefixes_draft() -> Found:
    """With a draft model, keys are pairs of tokens."""
    return _walks(1, eagle=True)
