"""Process groups of ranks that are not there, or of this one process."""

from __future__ import annotations

import sys
from typing import Any

import torch.distributed as dist


def alone() -> None:
    """This process is its whole world: gloo stands for NCCL."""
    _backend("gloo", {})


def among_fakes() -> None:
    """This process is one of many ranks; the others answer with nothing, in the right shapes."""
    from torch.testing._internal.distributed.fake_pg import FakeStore

    _backend("fake", {"store": FakeStore()})
    dist.monitored_barrier = lambda *args, **kwargs: None


def _backend(name: str, more: dict[str, Any]) -> None:
    init, group = dist.init_process_group, dist.new_group

    def init_process_group(backend: object = None, **kwargs: Any) -> Any:
        if more:
            kwargs = {"rank": kwargs.get("rank", 0), "world_size": kwargs.get("world_size", 1), **more}
        return init(backend=name, **kwargs)

    def new_group(ranks: Any = None, *args: Any, **kwargs: Any) -> Any:
        return group(ranks, backend=name)

    dist.init_process_group, dist.new_group = init_process_group, new_group


def no_waiting() -> None:
    """Message queues between ranks have no reader here: nobody waits for one."""
    from sglang.srt.distributed.device_communicators import shm_broadcast

    shm_broadcast.MessageQueue.wait_until_ready = lambda self: None


def one_node() -> None:
    """All ranks are on this machine, whatever the others would answer."""

    def everybody(group: Any, source_rank: int = 0) -> list[bool]:
        return [True] * dist.get_world_size(group)

    for name, module in list(sys.modules.items()):
        if name.startswith("sglang.") and "in_the_same_node_as" in vars(module):
            module.in_the_same_node_as = everybody  # type: ignore[attr-defined]
