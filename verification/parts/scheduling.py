"""The policy of the scheduler: the order of the queue, and how many requests fit into the next batch."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

from verification.parts.events import Events, clock
from verification.parts.prefixes import called, key
from verification.parts.registry import Found, part
from verification.parts.requests import Server, cached, drawn, uncached
from verification.parts.versions import configured, ranked, takes

ORDERS = ("lpm", "dfs-weight", "fcfs", "lof", "random", "routing-key")
_BUDGETS = 60  # draws of a batch's limits


def _filled(events: Events, server: Server, count: int) -> None:
    """Requests of before: what they have computed is in the cache."""
    for index in range(count):
        tokens = drawn(events, index).origin_input_ids
        tokens = tokens[: len(tokens) // server.page * server.page]
        slots = server.slots.alloc(len(tokens))
        if slots is not None and len(tokens):
            said = called(server.cache, "insert", "InsertParams", key=key(list(tokens), None), value=slots)
            server.slots.free(slots[: getattr(said, "prefix_len", said)])


@part("queue")
def queue() -> Found:
    """Every order of the queue, with and without priorities."""
    from sglang.srt.managers.schedule_policy import SchedulePolicy

    values: dict[str, Any] = {}
    for order in ORDERS:
        for priorities, low in ((False, False), (True, False), (True, True)):
            for off, length in ((False, 30), (True, 12), (False, 140)):
                with clock():
                    events = Events(length)
                    server = Server(2048, 1, off=off)
                    if not off:
                        _filled(events, server, 12)
                    policy = SchedulePolicy(order, server.cache, False, priorities, low)
                    waiting = [drawn(events, index) for index in range(length)]
                    running = SimpleNamespace(reqs=[drawn(events, 1000 + index) for index in range(9)])
                    random.seed(length)
                    said = policy.calc_priority(waiting, running)
                    for request in waiting:
                        events.add(request.rid, cached(request))
                    events.add("computed", said, policy.policy)
                values[f"{order}, {priorities=}, {low=}, {off=}, {length}"] = events.all
    try:
        SchedulePolicy("none", Server(64, 1).cache, False, False, False)
    except ValueError as error:
        values["none"] = str(error)
    orders = {str([event[0] for event in one]) for name, one in values.items() if name.endswith("30")}
    return Found({"orders differ": len(orders) >= len(ORDERS) - 1}, values)


class Running:
    """The requests that run. Those that have to wait give back what they hold."""

    def __init__(self, requests: list[Any], events: Events) -> None:
        self.reqs, self._events = requests, events

    def release_req(self, index: int, left: int, args: Any = None) -> None:
        self._events.add("released", self.reqs[index].rid, left)

    def filter_batch(self, keep_indices: list[int]) -> None:
        self.reqs = [self.reqs[index] for index in keep_indices]
        self._events.add("go on", [each.rid for each in self.reqs])


def _state(adder: Any) -> list[Any]:
    return [
        adder.rem_total_tokens, adder.cur_rem_tokens, adder.rem_input_tokens, adder.rem_chunk_tokens,
        adder.log_hit_tokens, adder.log_input_tokens, [each.rid for each in adder.can_run_list],
        [each.rid for each in adder.preempt_list], getattr(adder.new_chunked_req, "rid", None),
        adder.req_states, adder.budget_state(),
    ]  # fmt: skip


def _request(request: Any) -> list[Any]:
    filled = request.fill_ids if hasattr(request, "fill_ids") else request.full_untruncated_fill_ids
    return [request.rid, uncached(request), len(filled), cached(request)]


def _batch(events: Events, off: bool) -> None:
    from sglang.srt.managers.schedule_policy import PrefillAdder

    draw = events.draw
    page = draw.choice((1, 1, 4))
    server = Server(draw.choice((96, 256, 1024)), page, off=off)
    if not off:
        _filled(events, server, draw.randint(0, 8))
    running = Running([drawn(events, 100 + index) for index in range(draw.randint(0, 4))], events)
    for request in running.reqs:
        request.output_ids = [4] * draw.randint(0, 3)
    chunk = draw.choice((None, 3, 16, 64))
    args = SimpleNamespace(schedule_low_priority_values_first=draw.random() < 0.5)
    adder = PrefillAdder(
        page, server.cache, server.slots, draw.choice((running, running, None)), draw.choice((0.1, 0.5, 1.0)),
        draw.choice((10, 60, 400)), chunk, draw.choice((0, 0, 2)), draw.choice((0, 1)),
        prefill_max_requests=draw.choice((None, None, 3)),
    )  # fmt: skip
    adder.nsa_prefill_cp_in_seq_split = draw.random() < 0.1
    events.add("limits", _state(adder))
    if chunk is not None and draw.random() < 0.4:
        begun = drawn(events, 50)
        begun.init_next_round_input(server.cache)
        if draw.random() < 0.4:  # its last chunk is as long as there is room
            adder.rem_chunk_tokens = uncached(begun)
        left = adder.add_chunked_req(begun)
        events.add("begun", _request(begun), getattr(left, "rid", None), _state(adder))
    align = draw.choice((None, None, 8))
    for index in range(draw.randint(1, 8)):
        request = drawn(events, index, long=True)
        request.init_next_round_input(server.cache)
        said = adder.add_one_req(request, False, align)
        events.add("add", _request(request), said, _state(adder), server.sizes())
        if said.name != "CONTINUE" and adder.running_batch is not None:
            events.add("preempt", _preempted(adder, request, args), _state(adder))


def _preempted(adder: Any, request: Any, args: Any) -> bool:
    """Later versions ask their context which priority goes first."""
    if takes(adder.preempt_to_schedule, "server_args"):
        return bool(adder.preempt_to_schedule(request, args))
    with configured(schedule_low_priority_values_first=args.schedule_low_priority_values_first):
        return bool(adder.preempt_to_schedule(request))


@part("budget")
def budget() -> Found:
    """What is added to the next batch under random limits, and who has to wait for it."""
    return _budget(False)


@part("budget-without-cache")
def budget_without_cache() -> Found:
    """Without a prefix cache, requests that never end early are added by another count."""
    return _budget(True)


def _budget(off: bool) -> Found:
    all_of_them = Events(3)
    for number in range(_BUDGETS):
        with clock(), ranked(attn_cp_size=1):
            events = Events(number)
            _batch(events, off)
        all_of_them.all += [[number, *event] for event in events.all]
    said = {str(event[3]) for event in all_of_them.all if event[1] == "add"}
    return Found({"every answer is given": len(said) == 3}, {"events": all_of_them.all})
