"""Batches of requests from the first token to the last, as the scheduler's loop makes them; no model runs."""

from __future__ import annotations

from typing import Any

import torch

from verification.parts.events import Events, clock, plain
from verification.parts.registry import Found, part
from verification.parts.requests import (
    VOCABULARY,
    Server,
    cached,
    compute_all,
    drawn,
    give_back,
    held,
    keep,
    lock,
    look_whether_it_ends,
    model,
    uncached,
)
from verification.parts.versions import accepted, arguments, configured, no_drafts

_REQUESTS, _MOST_STEPS = 24, 400


#: What a model is given, each with the names that it has had; later versions hand it the batch itself.
_GIVEN = (
    ("prefill_input_ids_cpu", "input_ids"), ("seq_lens",), ("seq_lens_cpu",), ("orig_seq_lens",),
    ("out_cache_loc",), ("req_pool_indices",), ("seq_lens_sum",), ("extend_num_tokens",),
    ("extend_seq_lens", "extend_lens"), ("extend_prefix_lens", "prefix_lens"),
    ("extend_logprob_start_lens",), ("extend_input_logprob_token_ids",), ("top_logprobs_nums",),
    ("token_ids_logprobs",), ("return_logprob",),
)  # fmt: skip


def _said(given: Any, *names: str) -> Any:
    """The first of some fields that is there and filled."""
    return next((found for name in names if (found := getattr(given, name, None)) is not None), None)


class Loop:
    """Prefill, decode, retraction and the end of requests; tokens are drawn where a model would give them."""

    def __init__(self, size: int, page: int, seed: int) -> None:
        self.events = Events(seed)
        self.server = Server(size, page, rows=8)
        self._args = arguments()
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
            self.events.add("sizes", self.server.sizes(), self.server.nodes())
        free = self.server.sizes()
        self.events.add("end", free)

    @property
    def nothing_is_lost(self) -> bool:
        free, evictable, locked, rows = self.server.sizes()
        return free + evictable == self.server.size and locked == 0 and rows == 8

    def _new(self, requests: list[Any]) -> Any:
        from sglang.srt.managers.schedule_batch import ScheduleBatch

        server = self.server
        return ScheduleBatch.init_new(
            requests, server.rows, server.slots, server.cache, model(), enable_overlap=False,
            spec_algorithm=no_drafts(),
        )  # fmt: skip

    def _prefill(self, room: int) -> None:
        # what is cached and gets locked is no room any more; a page may be begun
        free, evictable, *_ = self.server.sizes()
        left = free + evictable
        chosen = []
        for request in self._waiting[: min(room, self.events.draw.randint(1, 3))]:
            request.init_next_round_input(self.server.cache)
            left -= uncached(request) + self.server.page + cached(request)
            if left < 0:
                break
            lock(self.server, request)
            compute_all(request)
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
                keep(self.server, request)
                kept = _said(request, "prefix_indices", "prefix_len")
                self.events.add("kept", request.rid, kept, held(request, "cache_protected_len"))
        batch.filter_batch()
        if self._running is None or not self._running.reqs:
            self._running = batch
        elif batch.reqs:
            self._running.merge_batch(batch)
        self._state("merged", self._running)

    def _decode(self) -> None:
        batch = self._running
        if not batch.check_decode_mem():
            gone, ratio, *_ = batch.retract_decode(**accepted(batch.retract_decode, server_args=self._args))
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
        tokens = [self.events.draw.randint(2, VOCABULARY - 1) for _ in batch.reqs]
        # later versions embed these next, and keep no others
        setattr(batch, "output_ids" if hasattr(batch, "output_ids") else "input_ids", torch.tensor(tokens))
        for request, token in zip(batch.reqs, tokens, strict=True):
            request.output_ids.append(token)
            look_whether_it_ends(request)
            stops = request.check_match_stop_str_prefix()
            why = request.finished_reason.to_json() if request.finished() else None
            self.events.add("token", request.rid, token, stops, why, request.output_ids_through_stop)
            if request.finished():
                give_back(self.server, request)

    def _seen(self, name: str, batch: Any) -> None:
        """Everything that a model would be given."""
        given = batch.get_model_worker_batch() if hasattr(batch, "get_model_worker_batch") else batch
        info = batch.sampling_info
        logits = torch.zeros(len(batch.reqs), VOCABULARY)
        info.update_penalties()
        info.apply_logits_bias(logits)
        info.acc_linear_penalties = None
        said = [_said(given, *names) for names in _GIVEN]
        self.events.add(name, [each.rid for each in batch.reqs], *said, str(given.forward_mode))
        # penalties are added in the order of a set, which is another each time
        self.events.add("sampling", *_sampling(info), logits.round(decimals=4))
        for request in batch.reqs:
            row = self.server.rows.req_to_token[held(request, "req_pool_idx"), : request.seqlen]
            self.events.add("row", request.rid, request.cached_tokens, held(request, "kv_committed_len"), row)

    def _state(self, name: str, batch: Any) -> None:
        told = [[each.rid, each.seqlen, each.decode_batch_idx, each.is_retracted] for each in batch.reqs]
        self.events.add(name, told, batch.return_logprob, _said(batch, "has_stream"), str(batch))
        if batch.reqs:
            self.events.add(
                "lists", batch.seq_lens, batch.top_logprobs_nums, batch.token_ids_logprobs,
                *_sampling(batch.sampling_info),
            )  # fmt: skip


def _fields(request: Any) -> dict[str, Any]:
    """What a request knows of itself, without times and the objects that it refers to.

    What is empty is left out: a tree may lack the fields of features that left, and nothing fills them.
    """
    return {
        name: plain(value)
        for name, value in sorted(vars(request).items())
        if isinstance(value, (bool, int, str, list)) and value
    }


def _sampling(info: Any) -> list[Any]:
    return [
        info.temperatures, info.top_ps, info.top_ks, info.min_ps, info.is_all_greedy,
        info.need_top_p_sampling, info.need_top_k_sampling, info.need_min_p_sampling,
        info.logit_bias, len(info), info.penalizer_orchestrator.is_required,
    ]  # fmt: skip


def _loops(size: int, page: int) -> Found:
    facts: dict[str, Any] = {}
    values: dict[str, Any] = {}
    retracted = 0
    with configured(page_size=page):
        for seed in range(3):
            with clock():
                loop = Loop(size, page, seed)
                loop.run()
            retracted += loop.retracted
            facts[f"nothing is lost, seed {seed}"] = loop.nothing_is_lost
            values[f"events, seed {seed}"] = loop.events.all
    return Found({**facts, "some had to wait": retracted > 0}, values)


@part("batches")
def batches() -> Found:
    return _loops(150, 1)


@part("batches-pages")
def batches_pages() -> Found:
    return _loops(136, 4)
