"""deep_ep: exchange of tokens between experts' ranks, by the shapes that it gives."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from verification.machine.trace import TRACE

_TOKENS_OF_AN_EXPERT = 128
_BUFFER_BYTES = 1 << 20


class Config:
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def get_nvl_buffer_size_hint(self, *args: Any) -> int:
        return _BUFFER_BYTES

    def get_rdma_buffer_size_hint(self, *args: Any) -> int:
        return _BUFFER_BYTES


class EventOverlap:
    def current_stream_wait(self) -> None:
        pass


def _no_hook() -> None:
    pass


class Buffer:
    """Every exchange is an event."""

    num_sms = 20

    @staticmethod
    def get_dispatch_config(ranks: int) -> Config:
        return Config()

    @staticmethod
    def get_combine_config(ranks: int) -> Config:
        return Config()

    @staticmethod
    def get_low_latency_rdma_size_hint(*args: Any) -> int:
        return _BUFFER_BYTES

    @staticmethod
    def capture() -> EventOverlap:
        return EventOverlap()

    @staticmethod
    def set_num_sms(count: int) -> None:
        pass

    def __init__(self, group: Any, *args: Any, **kwargs: Any) -> None:
        self.group_size: int = group.size()
        self.low_latency_mode = kwargs.get("low_latency_mode", False)

    def clean_low_latency_buffer(self, *args: Any) -> None:
        pass

    def get_dispatch_layout(self, ids: Tensor, experts: int, **named: Any) -> Any:
        TRACE.add("absent", "deep_ep.get_dispatch_layout", (ids, experts), named)
        of_rank = ids.new_empty((self.group_size,), dtype=torch.int32)
        of_expert = ids.new_empty((experts,), dtype=torch.int32)
        in_rank = ids.new_empty((ids.shape[0], self.group_size), dtype=torch.bool)
        return of_rank, None, of_expert, in_rank, EventOverlap()

    def dispatch(self, x: Any, topk_idx: Any = None, topk_weights: Any = None, **named: Any) -> Any:
        TRACE.add("absent", "deep_ep.dispatch", (x, topk_idx, topk_weights), named)
        tokens = (x[0] if isinstance(x, tuple) else x).shape[0] * self.group_size

        def received(tensor: Tensor | None) -> Tensor | None:
            return None if tensor is None else tensor.new_empty((tokens, *tensor.shape[1:]))

        local = named["num_tokens_per_expert"].shape[0] // self.group_size
        states = tuple(received(each) for each in x) if isinstance(x, tuple) else received(x)
        counts = [_TOKENS_OF_AN_EXPERT] * local
        return states, received(topk_idx), received(topk_weights), counts, ("handle",), EventOverlap()

    def combine(self, x: Tensor, handle: Any, **named: Any) -> Any:
        TRACE.add("absent", "deep_ep.combine", (x,), named)
        tokens = max(1, x.shape[0] // self.group_size)
        return x.new_empty((tokens, *x.shape[1:])), None, EventOverlap()

    def low_latency_dispatch(
        self, x: Tensor, ids: Tensor, most: int, experts: int, *args: Any, **named: Any
    ) -> Any:
        TRACE.add("absent", "deep_ep.low_latency_dispatch", (x, ids, most, experts, *args), named)
        local, tokens, width = experts // self.group_size, most * self.group_size, x.shape[1]
        states: Any = x.new_empty((local, tokens, width))
        if named.get("use_nvfp4"):
            scales = x.new_empty((32, 4, -(-tokens // 128), 4, -(-width // 64), local), dtype=torch.uint8)
            states = (x.new_empty((tokens, width // 2, local), dtype=torch.uint8), scales)
        elif named.get("use_fp8", True):
            scales = x.new_empty((local, tokens, width // 128), dtype=torch.float32)
            states = (x.new_empty((local, tokens, width), dtype=torch.float8_e4m3fn), scales)
        counts = x.new_empty((local,), dtype=torch.int32)
        return states, counts, ("handle", x.shape[0]), EventOverlap(), _no_hook

    def low_latency_combine(
        self, x: Tensor, topk_idx: Tensor, topk_weights: Tensor, handle: Any, **named: Any
    ) -> Any:
        TRACE.add("absent", "deep_ep.low_latency_combine", (x, topk_idx, topk_weights), named)
        out = x.new_empty((topk_idx.shape[0], x.shape[-1]), dtype=torch.bfloat16)
        return out, EventOverlap(), _no_hook


def install() -> None:
    """Put the buffer in place of the absent package's."""
    import deep_ep

    deep_ep.Buffer, deep_ep.Config = Buffer, Config
