"""Batches of requests from the first token to the last, as the scheduler's loop makes them; no model runs."""

from __future__ import annotations

from typing import Any

import torch

from verification.parts.events import Events, clock, plain
from verification.parts.registry import Found, part
from verification.parts.requests import VOCABULARY, Server, drawn, model

_REQUESTS, _MOST_STEPS = 24, 400


class Loop:
    """Prefill, decode, retraction and the end of requests; tokens are drawn where a model would give them."""

    def __init__(self, size: int, page: int, seed: int) -> None:
        from sglang.srt.server_args import get_global_server_args

        self.events = Events(seed)
        self.server = Server(size, page, rows=8)
        self._args = get_global_server_args()
        self._waiting = [drawn(self.events, index) for index in range(_REQUESTS)]
        self._running: Any = None
        self.retracted = 0
        self._steps = 0

    def run(self) -> None:
        for self._steps in range(_MOST_STEPS):
            room = self.server.rows.available_size()
            if self._waiting and room and self.events.draw.random() < 0.5:
                self._prefill(room)
            elif self._running is not None and self._running.reqs:
                self._decode()
            elif not self._waiting:
                break
            self.events.add("sizes", self.server.sizes())
        free = self.server.sizes()
        self.events.add("end", free)

    @property
    def nothing_is_lost(self) -> bool:
        free, evictable, locked, rows = self.server.sizes()
        return free + evictable == self.server.size and locked == 0 and rows == 8

    def _new(self, requests: list[Any]) -> Any:
        from sglang.srt.managers.schedule_batch import ScheduleBatch
        from sglang.srt.speculative.spec_info import SpeculativeAlgorithm

        none = SpeculativeAlgorithm.from_string(None)
        server = self.server
        return ScheduleBatch.init_new(
            requests, server.rows, server.slots, server.cache, model(), enable_overlap=False,
            spec_algorithm=none,
        )  # fmt: skip

    def _prefill(self, room: int) -> None:
        # what is cached and gets locked is no room any more; a page may be begun
        free, evictable, *_ = self.server.sizes()
        left = free + evictable
        chosen = []
        for request in self._waiting[: min(room, self.events.draw.randint(1, 3))]:
            request.init_next_round_input(self.server.cache)
            left -= request.extend_input_len + self.server.page + len(request.prefix_indices)
            if left < 0:
                break
            self.server.cache.inc_lock_ref(request.last_node)
            chosen.append(request)
        if not chosen:
            if self._running is not None and self._running.reqs:
                self._decode()
            return
        self._waiting = self._waiting[len(chosen) :]
        batch = self._new(chosen)
        batch.prepare_for_extend()
        self._seen("prefill", batch)
        self._answer(batch)
        for request in batch.reqs:
            if not request.finished():
                self.server.cache.cache_unfinished_req(request)
                self.events.add("kept", request.rid, request.prefix_indices, request.cache_protected_len)
        batch.filter_batch()
        if self._running is None or not self._running.reqs:
            self._running = batch
        elif batch.reqs:
            self._running.merge_batch(batch)
        self._state("merged", self._running)

    def _decode(self) -> None:
        batch = self._running
        if not batch.check_decode_mem():
            gone, ratio, *_ = batch.retract_decode(self._args)
            self.retracted += len(gone)
            self._waiting = [*gone, *self._waiting]
            self.events.add("retract", [each.rid for each in gone], ratio, self.server.sizes())
            for request in gone:
                self.events.add("reset", request.rid, _fields(request))
        batch.prepare_for_decode()
        self._seen("decode", batch)
        self._answer(batch)
        batch.filter_batch()
        self._state("left", batch)

    def _answer(self, batch: Any) -> None:
        """A token for each request; those that end give back what they hold."""
        from sglang.srt.mem_cache.common import release_kv_cache

        tokens = [self.events.draw.randint(2, VOCABULARY - 1) for _ in batch.reqs]
        batch.output_ids = torch.tensor(tokens)
        for request, token in zip(batch.reqs, tokens, strict=True):
            request.output_ids.append(token)
            request.check_finished()
            stops = request.check_match_stop_str_prefix()
            why = request.finished_reason.to_json() if request.finished() else None
            self.events.add("token", request.rid, token, stops, why, request.output_ids_through_stop)
            if request.finished():
                release_kv_cache(request, self.server.cache)

    def _seen(self, name: str, batch: Any) -> None:
        """Everything that a model would be given."""
        given = batch.get_model_worker_batch()
        info = batch.sampling_info
        logits = torch.zeros(len(batch.reqs), VOCABULARY)
        info.update_penalties()
        info.apply_logits_bias(logits)
        info.acc_linear_penalties = None
        self.events.add(
            name, [each.rid for each in batch.reqs], given.input_ids, given.seq_lens, given.seq_lens_cpu,
            given.orig_seq_lens, given.out_cache_loc, given.req_pool_indices, given.seq_lens_sum,
            given.extend_num_tokens, given.extend_seq_lens, given.extend_prefix_lens,
            given.extend_logprob_start_lens, given.extend_input_logprob_token_ids, given.top_logprobs_nums,
            given.token_ids_logprobs, given.return_logprob, str(given.forward_mode),
        )  # fmt: skip
        # penalties are added in the order of a set, which is another each time
        self.events.add("sampling", *_sampling(info), logits.round(decimals=4))
        for request in batch.reqs:
            row = self.server.rows.req_to_token[request.req_pool_idx, : request.seqlen]
            self.events.add("row", request.rid, request.cached_tokens, request.kv_committed_len, row)

    def _state(self, name: str, batch: Any) -> None:
        told = [[each.rid, each.seqlen, each.decode_batch_idx, each.is_retracted] for each in batch.reqs]
        self.events.add(name, told, batch.return_logprob, batch.has_stream, str(batch))
        if batch.reqs:
            self.events.add(
                "lists", batch.seq_lens, batch.top_logprobs_nums, batch.token_ids_logprobs,
                *_sampling(batch.sampling_info),
            )  # fmt: skip


def _fields(request: Any) -> dict[str, Any]:
    """What a request knows of itself, without times and the objects that it refers to."""
    return {
        name: plain(value)
        for name, value in sorted(vars(request).items())
        if value is None or isinstance(value, (bool, int, str, list))
    }


def _sampling(info: Any) -> list[Any]:
    return [
        info.temperatures, info.top_ps, info.top_ks, info.min_ps, info.is_all_greedy,
        info.need_top_p_sampling, info.need_top_k_sampling, info.need_min_p_sampling,
        info.logit_bias, len(info), info.penalizer_orchestrator.is_required,
    ]  # fmt: skip


def _loops(size: int, page: int) -> Found:
    from sglang.srt.server_args import get_global_server_args

    facts: dict[str, Any] = {}
    values: dict[str, Any] = {}
    args = get_global_server_args()
    before = args.page_size
    args.page_size = page
    retracted = 0
    try:
        for seed in range(3):
            with clock():
                loop = Loop(size, page, seed)
                loop.run()
            retracted += loop.retracted
            facts[f"nothing is lost, seed {seed}"] = loop.nothing_is_lost
            values[f"events, seed {seed}"] = loop.events.all
    finally:
        args.page_size = before
    return Found({**facts, "some had to wait": retracted > 0}, values)


@part("batches")
def batches() -> Found:
    return _loops(150, 1)


@part("batches-pages")
def batches_pages() -> Found:
    return _loops(136, 4)
