"""ModelRunner with batches made here: one prefill, then decode, through the real KV pool."""

from __future__ import annotations

import types
from collections import Counter
from types import ModuleType
from typing import Any


def run(args: Any, ports: Any, lengths: list[int], steps: int, numbers: bool) -> dict[str, Any]:
    """Requests of random tokens of the given lengths, `steps` forward passes. Results of each pass."""
    import torch

    from verification.probes import one_batch

    draws = torch.Generator().manual_seed(0)
    prompts = [torch.randint(0, 500, (length,), generator=draws).tolist() for length in lengths]
    module = one_batch.benchmark()
    if module is not None:
        return _benchmarked(module, args, ports, prompts, steps, numbers)
    return _driven(args, ports, prompts, steps, numbers)


def _benchmarked(
    module: ModuleType, args: Any, ports: Any, prompts: list[list[int]], steps: int, numbers: bool
) -> dict[str, Any]:
    """With the tree's own benchmark between requests and logits."""
    from verification.machine.trace import TRACE
    from verification.probes import one_batch

    runner = one_batch.start(module, args, ports)
    started = len(TRACE.events)
    tokens, logits, batch = runner.extend(one_batch.requests(module, prompts, steps + 4))
    passes = [_outcome(logits, tokens, numbers)]
    for _ in range(steps - 1):
        tokens, logits = runner.decode(tokens, batch)
        passes.append(_outcome(logits, tokens, numbers))
    model = runner.torch_runner
    return {"started": started, "outcome": _summary(model, passes, numbers)}


def _driven(args: Any, ports: Any, prompts: list[list[int]], steps: int, numbers: bool) -> dict[str, Any]:
    """Step by step, for trees whose benchmark has no runner."""
    from sglang.srt.configs.model_config import ModelConfig
    from sglang.srt.layers.moe import initialize_moe_config
    from sglang.srt.layers.quantization.fp8_utils import initialize_fp8_gemm_config
    from sglang.srt.managers.schedule_batch import Req, ScheduleBatch
    from sglang.srt.model_executor.forward_batch_info import ForwardBatch
    from sglang.srt.model_executor.model_runner import ModelRunner
    from sglang.srt.sampling.sampling_params import SamplingParams

    from verification.machine.trace import TRACE
    from verification.parts.versions import no_drafts

    initialize_moe_config(args)
    initialize_fp8_gemm_config(args)
    runner = ModelRunner(
        model_config=ModelConfig.from_server_args(args),
        mem_fraction_static=args.mem_fraction_static,
        gpu_id=0, tp_rank=0, tp_size=args.tp_size, moe_ep_rank=0, moe_ep_size=args.ep_size,
        pp_rank=0, pp_size=1, nccl_port=ports.nccl_port, server_args=args,
    )  # fmt: skip
    started = len(TRACE.events)
    requests = []
    for index, tokens in enumerate(prompts):
        sampling = SamplingParams(temperature=0, max_new_tokens=steps + 4)
        request = Req(rid=str(index), origin_input_text="", origin_input_ids=tokens, sampling_params=sampling)
        request.fill_ids = request.origin_input_ids
        request.logprob_start_len = -1
        request.set_extend_input_len(len(request.fill_ids))
        requests.append(request)
    cache = types.SimpleNamespace(
        page_size=args.page_size,
        device=runner.device,
        token_to_kv_pool_allocator=runner.token_to_kv_pool_allocator,
    )
    batch = ScheduleBatch.init_new(
        reqs=requests, req_to_token_pool=runner.req_to_token_pool,
        token_to_kv_pool_allocator=runner.token_to_kv_pool_allocator, tree_cache=cache,
        model_config=runner.model_config, enable_overlap=False, spec_algorithm=no_drafts(),
    )  # fmt: skip
    batch.prepare_for_extend()
    passes = []
    for step in range(steps):
        _synchronize(batch, runner)
        forward = ForwardBatch.init_new(batch.get_model_worker_batch(), runner)
        logits = runner.forward(forward).logits_output
        tokens = runner.sample(logits, forward)
        passes.append(_outcome(logits.next_token_logits, tokens, numbers))
        if step + 1 < steps:
            batch.output_ids = tokens
            batch.prepare_for_decode()
    return {"started": started, "outcome": _summary(runner, passes, numbers)}


def _summary(runner: Any, passes: list[dict[str, Any]], numbers: bool) -> dict[str, Any]:
    return {"passes": passes, "cache": _cache(runner, numbers), "layers": _layers(runner.model)}


def _layers(model: Any) -> dict[str, int]:
    """How many layers have which kind of feed-forward part."""
    return dict(Counter(type(layer.mlp).__name__ for layer in model.model.layers))


def _synchronize(batch: Any, runner: Any) -> None:
    """Data-parallel attention needs every rank's number of tokens: upstream's benchmark has this step."""
    try:
        from sglang import bench_one_batch
    except ImportError:  # a tree may have no benchmarks
        return
    if hasattr(bench_one_batch, "_maybe_prepare_mlp_sync_batch"):
        bench_one_batch._maybe_prepare_mlp_sync_batch(batch, runner)


def _outcome(logits: Any, tokens: Any, numbers: bool) -> dict[str, Any]:
    from verification.machine.trace import digest_of

    if not numbers:
        return {"logits": list(logits.shape), "tokens": list(tokens.shape)}
    return {
        "logits": digest_of(logits),
        "tokens": tokens.tolist(),
        "mean": float(logits.float().abs().mean()),
        "finite": bool(logits.isfinite().all()),
    }


def _cache(runner: Any, numbers: bool) -> list[Any]:
    """The KV cache of every layer: digests of its numbers, or its shape."""
    from verification.machine.trace import digest_of

    pool = runner.token_to_kv_pool
    buffers = getattr(pool, "kv_buffer", None) or [*pool.k_buffer, *pool.v_buffer]
    return [digest_of(each) if numbers else list(each.shape) for each in buffers]
