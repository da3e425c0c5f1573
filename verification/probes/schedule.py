"""The real Scheduler with requests: radix cache, chunked prefill, sampling, messages to the detokenizer."""

from __future__ import annotations

import functools
import inspect
import types
from array import array
from typing import Any

_MOST_BATCHES = 200
_SHARED_PREFIX = 5  # tokens
#: The first rank of each kind, by the names that versions give it; later ones publish them instead.
_RANKS: dict[str, int | None] = {
    "gpu_id": 0, "tp_rank": 0, "moe_ep_rank": 0, "pp_rank": 0, "attn_cp_rank": 0, "moe_dp_rank": 0,
    "dp_rank": None,
}  # fmt: skip


def run(
    args: Any, ports: Any, lengths: list[int], steps: int, numbers: bool, logprobs: bool = True
) -> dict[str, Any]:
    """Two requests at once, then the others, which share a prefix with the first. What came of each."""
    from verification.machine.trace import TRACE

    sent: list[Any] = []
    scheduler = _scheduler(args, ports, sent)
    started = len(TRACE.events)
    requests = _requests(lengths, steps, numbers and bool(args.speculative_algorithm), logprobs)
    seen: dict[str, Any] = {}
    batches: list[Any] = []
    for wave in (requests[:2], requests[2:]):
        scheduler.process_input_requests(wave)
        for _ in range(_MOST_BATCHES):
            batch = _next_batch(scheduler)
            if not batch:
                break
            extend = int(batch.extend_num_tokens or 0) if batch.forward_mode.is_extend() else 0
            batches.append([str(batch.forward_mode).rpartition(".")[2], batch.batch_size(), extend])
            seen.update({request.rid: request for request in batch.reqs})
            scheduler.process_batch_result(batch, scheduler.run_batch(batch))
            scheduler.last_batch = batch
        scheduler.last_batch = None
    outcome = {
        "tokens": {name: list(request.output_ids) for name, request in sorted(seen.items())},
        "cached": {name: request.cached_tokens for name, request in sorted(seen.items())},
        "batches": batches,
        "messages": [type(each).__name__ for each in sent],
    }
    return {"started": started, "outcome": outcome}


def _scheduler(args: Any, ports: Any, sent: list[Any]) -> Any:
    """The Scheduler of one rank; what it sends goes into `sent`."""
    from sglang.srt.managers import scheduler as module

    from verification.probes import server_args

    def send(channel: object, output: Any, *rest: Any, **named: Any) -> None:
        sent.append(output)

    asked = inspect.signature(module.Scheduler).parameters
    ranks = {name: rank for name, rank in _RANKS.items() if name in asked}  # later versions: none
    if not hasattr(module, "SenderWrapper"):  # its channels are made elsewhere, and hold the sockets
        from sglang.srt.managers.scheduler_components import ipc_channels

        ipc_channels.SenderWrapper.send_output = send
        server_args.publish(args)
        scheduler = module.Scheduler(args, ports, **ranks)
        if not hasattr(scheduler, "schedule_stream"):  # made by the loop, which does not run here
            scheduler.schedule_stream = scheduler.device_module.Stream(priority=0)
        return scheduler
    scheduler = module.Scheduler(args, ports, **ranks)
    channel = types.SimpleNamespace(send_output=functools.partial(send, None))
    scheduler.send_to_detokenizer = scheduler.send_to_tokenizer = channel
    return scheduler


def _next_batch(scheduler: Any) -> Any:
    """The batch that the scheduler's loop would run next."""
    if not inspect.signature(scheduler.get_next_batch_to_run).parameters:
        scheduler.cur_batch = scheduler.get_next_batch_to_run()
        return scheduler.cur_batch
    plan = scheduler.get_next_batch_to_run(
        running_batch=scheduler.running_batch, last_batch=scheduler.last_batch
    )
    scheduler.running_batch = plan.running_batch
    return plan.batch_to_run


def _requests(lengths: list[int], steps: int, greedy: bool, logprobs: bool) -> list[Any]:
    import torch
    from sglang.srt.managers.io_struct import TokenizedGenerateReqInput
    from sglang.srt.sampling.sampling_params import SamplingParams

    parameters = inspect.signature(TokenizedGenerateReqInput).parameters
    empty = {"input_embeds": None, "token_type_ids": None} if "token_type_ids" in parameters else {}
    # later versions keep tokens in arrays
    kind = functools.partial(array, "q") if "array" in str(parameters["input_ids"].annotation) else list
    draws = torch.Generator().manual_seed(0)
    first: list[int] = []
    requests = []
    for index, length in enumerate(lengths):
        tokens = torch.randint(2, 500, (length,), generator=draws).tolist()
        if index >= 2:
            tokens = first[:_SHARED_PREFIX] + tokens
        first = first or tokens
        sampled = index == 1 and not greedy
        sampling = SamplingParams(
            temperature=0.8 if sampled else 0, top_p=0.9 if index == 1 else 1.0, max_new_tokens=steps,
            ignore_eos=True,
        )  # fmt: skip
        sampling.normalize(None)
        given = {
            "rid": f"r{index}", "input_text": "", "input_ids": kind(tokens), "mm_inputs": None,
            "sampling_params": sampling, "return_logprob": logprobs and index == 0, "logprob_start_len": -1,
            "top_logprobs_num": 0, "token_ids_logprob": None, "stream": False,
        }  # fmt: skip
        requests.append(TokenizedGenerateReqInput(**{**empty, **given}))
    return requests
