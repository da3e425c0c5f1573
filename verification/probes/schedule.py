"""The real Scheduler with requests: radix cache, chunked prefill, sampling, messages to the detokenizer."""

from __future__ import annotations

import types
from typing import Any

_MOST_BATCHES = 200
_SHARED_PREFIX = 5  # tokens


def run(args: Any, ports: Any, lengths: list[int], steps: int, numbers: bool) -> dict[str, Any]:
    """Two requests at once, then the others, which share a prefix with the first. What came of each."""
    from sglang.srt.managers.scheduler import Scheduler

    from verification.machine.trace import TRACE

    scheduler = Scheduler(args, ports, 0, 0, 0, 0, None)
    started = len(TRACE.events)
    sent: list[Any] = []
    channel = types.SimpleNamespace(send_output=lambda output, *rest, **named: sent.append(output))
    scheduler.send_to_detokenizer = scheduler.send_to_tokenizer = channel
    requests = _requests(lengths, steps, greedy=numbers and bool(args.speculative_algorithm))
    seen: dict[str, Any] = {}
    batches: list[Any] = []
    for wave in (requests[:2], requests[2:]):
        scheduler.process_input_requests(wave)
        for _ in range(_MOST_BATCHES):
            batch = scheduler.get_next_batch_to_run()
            scheduler.cur_batch = batch
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


def _requests(lengths: list[int], steps: int, greedy: bool) -> list[Any]:
    import torch
    from sglang.srt.managers.io_struct import TokenizedGenerateReqInput
    from sglang.srt.sampling.sampling_params import SamplingParams

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
        requests.append(
            TokenizedGenerateReqInput(
                rid=f"r{index}", input_text="", input_ids=tokens, mm_inputs=None, sampling_params=sampling,
                return_logprob=index == 0, logprob_start_len=-1, top_logprobs_num=0,
                token_ids_logprob=None, stream=False,
            )
        )  # fmt: skip
    return requests
