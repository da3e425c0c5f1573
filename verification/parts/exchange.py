"""What the ranks of a group say to each other; they run here one after another."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch
import torch.distributed as dist

from verification.parts.registry import Found, part, refused

_RANKS = 2
_TOLD = {"number": 7, "list": [1, 2], "nothing": None}


class _Wire:
    """Stands between ranks that run one after another: what one sends waits until another takes it."""

    def __init__(self) -> None:
        self.waiting: deque[Any] = deque()
        self.rank = 0  # that runs now
        self.groups: list[Any] = []  # through which each message goes

    def wait(self) -> None:
        """Whatever was sent is there already."""

    def send(self, tensor: torch.Tensor, dst: int, group: Any = None, tag: int = 0) -> _Wire:
        self.waiting.append(tensor.clone())
        self.groups.append(group)
        return self

    def take(self, tensor: torch.Tensor, src: int, group: Any = None, tag: int = 0) -> _Wire:
        tensor.copy_(self.waiting.popleft())
        self.groups.append(group)
        return self

    def object_list(self, objects: list[Any], src: int, group: Any = None) -> None:
        if self.rank == src:
            self.waiting.append(objects[0])
        else:
            objects[0] = self.waiting.popleft()
        self.groups.append(group)

    def broadcast(self, tensor: torch.Tensor, src: int, group: Any = None, async_op: bool = False) -> _Wire:
        return (self.send if self.rank == src else self.take)(tensor, src, group)

    def gather(self, tensor: torch.Tensor, into: Any, dst: int, group: Any = None) -> None:
        """The rank that gathers is the last to run, and the first in the list."""
        if into is None:
            self.waiting.append(tensor.clone())
            return
        for place, each in zip(into, [tensor, *self.waiting], strict=True):
            place.copy_(each)

    @contextlib.contextmanager
    def between(self) -> Iterator[_Wire]:
        """Inside, what goes through torch goes through this."""
        stand_ins = {
            "is_initialized": lambda: True, "send": self.send, "isend": self.send, "recv": self.take,
            "irecv": self.take, "broadcast_object_list": self.object_list, "broadcast": self.broadcast,
            "gather": self.gather,
        }  # fmt: skip
        with mock.patch.multiple(dist, **stand_ins):
            yield self


def _nothing(*args: Any, **named: Any) -> contextlib.AbstractContextManager[None]:
    return contextlib.nullcontext()


def _coordinator(rank: int, **more: Any) -> Any:
    """A rank of a group that nobody made."""
    from sglang.srt.distributed.parallel_state import GroupCoordinator

    made = GroupCoordinator.__new__(GroupCoordinator)
    known = {
        "rank": rank, "rank_in_group": rank, "ranks": list(range(_RANKS)), "world_size": _RANKS,
        "device_group": "device", "cpu_group": "cpu", "mq_broadcaster": None, "pynccl_comm": None,
        "device": torch.device("cpu"), "use_symmetric_memory": _nothing,
        "hpu_communicator": None, "xpu_communicator": None, "npu_communicator": None,
    }  # fmt: skip
    for name, value in {**known, **more}.items():
        setattr(made, name, value)
    return made


def _tensors() -> dict[str, Any]:
    draw = torch.Generator().manual_seed(1)
    return {
        "a": torch.randn(3, 4, generator=draw),
        "none of it": torch.empty(0, 2),
        "b": torch.arange(6),
    } | _TOLD


def _same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return list(a) == list(b) and all(
        torch.equal(one, b[name]) if isinstance(one, torch.Tensor) else one == b[name]
        for name, one in a.items()
    )


@part("groups-objects")
def objects() -> Found:
    """An object, a list, a tensor and a dictionary of tensors, from one rank to the others."""
    given, tensor = _tensors(), torch.arange(4.0)
    listed: list[Any] = [None]
    with _Wire().between() as wire:
        one, two = _coordinator(0), _coordinator(1)
        one.broadcast_object(_TOLD)
        one.broadcast_object_list([_TOLD])
        one.broadcast_tensor_dict(given)
        one.broadcast(tensor)
        messages = len(wire.waiting)
        wire.rank = 1
        said = two.broadcast_object()
        two.broadcast_object_list(listed)
        got = two.broadcast_tensor_dict()
        taken = two.broadcast(torch.zeros(4))
    return Found(
        {
            "an object": said == _TOLD, "a list": listed == [_TOLD], "a dictionary": _same(got, given),
            "a tensor": torch.equal(taken, tensor), "nothing is left": not wire.waiting,
        },
        {"messages": messages, "groups": wire.groups},
    )  # fmt: skip


@part("groups-pairs")
def pairs() -> Found:
    """An object, a tensor and a dictionary from one rank to the next, at once or in the background."""
    given = _tensors()
    facts: dict[str, bool] = {}
    with _Wire().between() as wire:
        one, two = _coordinator(0), _coordinator(1)
        for later in (False, True):
            one.send_object(_TOLD, 1, async_send=later)
            facts[f"an object, {later=}"] = two.recv_object(0) == _TOLD
            works = one.send_tensor_dict(given, async_send=later)
            facts[f"a dictionary, {later=}"] = _same(two.recv_tensor_dict(), given)
            facts[f"work in the background, {later=}"] = bool(works) is later
        one.send(given["b"])
        facts["a tensor"] = torch.equal(two.recv(given["b"].shape, given["b"].dtype), given["b"])
        facts["nothing is left"] = not wire.waiting
        facts["to itself"] = refused(lambda: one.send_object(1, 0), AssertionError)
        facts["nobody"] = refused(lambda: one.recv_object(2), AssertionError)
    return Found(facts, {"groups": wire.groups})


class _Halves:
    """All gather of one rank's share of a dictionary: the others' shares are told."""

    world_size, rank_in_group = _RANKS, 0

    def __init__(self) -> None:
        self.rest: deque[torch.Tensor] = deque()

    def all_gather(self, tensor: torch.Tensor, dim: int) -> torch.Tensor:
        return torch.cat([tensor, self.rest.popleft()], dim)


@part("groups-shares")
def shares() -> Found:
    """Of a tensor that several ranks have, each sends its share; those who take it gather the whole."""
    given = {name: value for name, value in _tensors().items() if name != "none of it"}
    halves = _Halves()
    halves.rest.extend(given[name].reshape(_RANKS, -1)[1] for name in ("a", "b"))
    with _Wire().between() as wire:
        _coordinator(0).send_tensor_dict(given, all_gather_group=halves)
        sizes = [each.numel() for each in wire.waiting if each.dtype not in (torch.uint8,)]
        got = _coordinator(1).recv_tensor_dict(all_gather_group=halves)
    return Found({"the whole": _same(got, given), "only shares are sent": sizes[-2:] == [6, 3]})


@part("groups-gather")
def gather() -> Found:
    """The tensors of all ranks, side by side along any dimension, at one rank."""
    given = [torch.arange(6.0).reshape(2, 3), torch.arange(6.0).reshape(2, 3) * 10]
    facts = {}
    for dim in (-1, 0, 1):
        with _Wire().between():
            others = _coordinator(1).gather(given[1], 0, dim)
            whole = _coordinator(0).gather(given[0], 0, dim)
        facts[f"along {dim}"] = others is None and torch.equal(whole, torch.cat(given, dim))
    return Found(facts)


class _Collective:
    """NCCL of one rank: the inputs of all ranks are told before."""

    def __init__(self, rank: int, inputs: list[list[torch.Tensor]]) -> None:
        self.rank, self.inputs, self.disabled, self.calls = rank, deque(inputs), False, []  # type: ignore[var-annotated]

    @contextlib.contextmanager
    def change_state(self, **asked: Any) -> Iterator[None]:
        yield

    def group_start(self) -> None:
        self.calls.append("start")

    def group_end(self) -> None:
        self.calls.append("end")

    def all_gather(self, output: torch.Tensor, given: torch.Tensor, sizes: Any = None) -> None:
        self.calls.append(sizes)
        output.copy_(torch.cat(self.inputs.popleft()))

    def reduce_scatter(self, output: torch.Tensor, given: torch.Tensor, sizes: Any = None) -> None:
        self.calls.append(sizes)
        total = sum(self.inputs.popleft())
        output.copy_(total.split(sizes or len(total) // _RANKS)[self.rank])


@part("groups-sizes")
def sizes() -> Found:
    """Ranks with as many rows as they like gather them all, and share the rows of a sum."""
    draw = torch.Generator().manual_seed(2)
    facts: dict[str, bool] = {}
    calls = []
    for shares in ([1, 3], [2, 2], None):
        rows = shares or [2, 2]
        mine = [[torch.randn(size, width, generator=draw) for size in rows] for width in (3, 5)]
        whole = [torch.randn(sum(rows), 3, generator=draw) for _ in rows]
        for rank in range(_RANKS):
            nccl = _Collective(rank, mine)
            made = _coordinator(rank, pynccl_comm=nccl)
            found = made.all_gatherv([each[rank] for each in mine], sizes=shares)
            right = [torch.cat(each) for each in mine]
            facts[f"all of {shares} at {rank}"] = all(map(torch.equal, found, right))
            nccl.inputs.extend([whole, whole, mine[0]])
            share = sum(whole).split(rows)[rank]
            facts[f"a share of {shares} at {rank}"] = torch.equal(
                made.reduce_scatterv(whole[rank], sizes=shares), share
            )
            into = torch.empty_like(share)
            made.reduce_scatterv(whole[rank], into, shares)
            facts[f"into memory of {shares} at {rank}"] = torch.equal(into, share)
            made.all_gatherv(mine[0][rank], sizes=shares)
            calls.append(nccl.calls)
    return Found(facts, {"calls": calls})
