"""flashinfer: attention wrappers, fused operations and communication, by the shapes that they give."""

from __future__ import annotations

import contextlib
import importlib
from typing import Any

import torch
from torch import Tensor

from verification.kernels import routing, speculation
from verification.machine.absent import implement
from verification.machine.trace import TRACE

VERSION = "0.5.3"
_WRAPPERS = (
    "flashinfer.BatchPrefillWithRaggedKVCacheWrapper",
    "flashinfer.BatchPrefillWithPagedKVCacheWrapper",
    "flashinfer.BatchDecodeWithPagedKVCacheWrapper",
    "flashinfer.BatchMLAPagedAttentionWrapper",
    "flashinfer.mla.BatchMLAPagedAttentionWrapper",
)
_BUFFERS = ("qo_indptr", "kv_indptr", "kv_indices", "kv_len_arr")
_RUNS = ("run", "forward", "forward_return_lse", "run_return_lse")


class _Wrapper:
    """One of flashinfer's attention wrappers: every method call is an event."""

    def __init__(self, name: str, given: dict[str, Any] | None = None) -> None:
        self._name = name
        # where graphs are captured, the wrapper keeps these, and upstream writes to them itself
        self.__dict__.update({f"_{key}_buf": it for key, it in (given or {}).items() if key in _BUFFERS})

    def __getattr__(self, method: str) -> Any:
        if method.startswith("__"):
            raise AttributeError(method)
        if method == "_cached_module":  # what upstream plans with itself
            return _Wrapper(f"{self._name}.{method}")

        def call(*args: Any, **kwargs: Any) -> Any:
            TRACE.add("absent", f"{self._name}.{method}", args, kwargs)
            runs = method in _RUNS and not self._name.endswith("_cached_module")
            return self._run(method, args, kwargs) if runs else None

        return call

    def _run(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        query: Tensor = args[0]
        latent = "MLA" in self._name or len(args) < 3
        width = query.shape[-1] if latent else args[2].shape[-1]
        out = kwargs.get("out")
        if out is None:
            out = query.new_empty((*query.shape[:-1], width), dtype=torch.bfloat16)
        if "return_lse" in method or kwargs.get("return_lse"):
            return out, query.new_empty(query.shape[:2], dtype=torch.float32)
        return out


def _wrapper(name: str) -> Any:
    return lambda *args, **kwargs: _Wrapper(name, kwargs)


def _like_the_query(*, query: Tensor, **named: Any) -> Tensor:
    return query.new_empty(query.shape, dtype=named.get("out_dtype", query.dtype))


def _merged(one: Tensor, weights: Tensor, *others: Any) -> tuple[Tensor, Tensor]:
    return torch.empty_like(one), torch.empty_like(weights)


def _layernorm(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    return torch.nn.functional.layer_norm(x.float(), (x.shape[-1],), weight, bias, eps).to(x.dtype)


def _decode(**named: Any) -> Tensor:
    query: Tensor = named["query"]
    return query.new_empty((*query.shape[:-1], named["kv_lora_rank"]), dtype=torch.bfloat16)


def _ragged(**named: Any) -> Any:
    query: Tensor = named["query"]
    out = query.new_empty((*query.shape[:-1], named["value"].shape[-1]), dtype=torch.bfloat16)
    return (out, out.new_empty(out.shape[:2], dtype=torch.float32)) if named.get("return_lse") else out


def _mm_fp4(a: Tensor, b: Tensor, *rest: Any, **named: Any) -> Tensor:
    out: Tensor | None = named.get("out")
    return out if out is not None else a.new_empty((a.shape[0], b.shape[1]), dtype=torch.bfloat16)


def _fp4_quantize(
    input: Tensor, global_scale: Any = None, sf_vec_size: int = 16, sf_use_ue8m0: bool = False,
    is_sf_swizzled_layout: bool = True, **rest: Any,
) -> Any:  # fmt: skip
    width, rows = input.shape[-1], input.numel() // input.shape[-1]
    scales = (rows, width // sf_vec_size)
    if is_sf_swizzled_layout:
        scales = (-(-rows // 128) * 128, -(-scales[1] // 4) * 4)
    packed = input.new_empty((*input.shape[:-1], width // 2), dtype=torch.uint8)
    return packed, input.new_empty(scales, dtype=torch.uint8)


def _fp4_of_experts(x: Tensor, *rest: Any) -> tuple[Tensor, Tensor]:
    experts, rows, width = x.shape
    scales = (32, 4, -(-rows // 128), 4, -(-width // 64), experts)
    return x.new_empty((rows, width // 2, experts), dtype=torch.uint8), x.new_empty(
        scales, dtype=torch.float8_e4m3fn
    )


def _fp4_of_gated_experts(x: Tensor, *rest: Any) -> tuple[Tensor, Tensor]:
    return _fp4_of_experts(x[..., : x.shape[-1] // 2])


def _fp4_experts(
    *, hidden_states: Tensor, top_k: int, output: Tensor | None = None, **rest: Any
) -> tuple[Tensor, ...]:
    if output is not None:
        return (output,)
    rows, width = hidden_states.shape[0], 2 * hidden_states.shape[-1]
    return (
        hidden_states.new_empty((rows * top_k, width), dtype=torch.bfloat16),
        hidden_states.new_empty((rows, top_k), dtype=torch.bfloat16),
        hidden_states.new_empty(rows * top_k, dtype=torch.int32),
    )


def _activation(number: Any) -> Any:
    """The activation whose number is given: the number may be a name, below that of the activation."""
    if isinstance(number, int):
        return number
    activations = importlib.import_module("flashinfer.fused_moe.core").ActivationType
    return getattr(activations, number._stands_for.split(".")[-2])


def _rows(cache: Any, weight: Tensor, *rest: Any, **named: Any) -> Tensor:
    """An order of the rows of a weight."""
    return torch.arange(weight.shape[0], device=weight.device)


def _gate(
    logits: Tensor, bias: Tensor, groups: int, kept_groups: int, count: int, scale: float, weights: Tensor,
    ids: Tensor, *rest: Any,
) -> None:  # fmt: skip
    made = routing.moe_fused_gate(logits, bias, groups, kept_groups, count, 0, scale, True)
    for target, values in zip((weights, ids), made, strict=True):
        target.copy_(values)


def _sample(probabilities: Tensor, ks: Any, ps: Any, *rest: Any, **named: Any) -> Tensor:
    out = torch.empty(probabilities.shape[0], dtype=torch.int32, device=probabilities.device)
    many, shares = isinstance(ks, Tensor), isinstance(ps, Tensor)
    speculation.sample(
        probabilities, out, named.get("indices"), ks if many else None, 0 if many else ks,
        ps if shares else None, 0 if shares else ps, True, None,
    )  # fmt: skip
    return out


def install(numbers: bool) -> None:
    """Implement what DeepSeek's paths call; with `numbers`, the gate and the sampler calculate."""
    implement(
        "flashinfer.sampling.top_k_top_p_sampling_from_probs",
        lambda probabilities, *rest, **named: probabilities.new_empty(len(probabilities), dtype=torch.int32),
    )
    if numbers:
        implement("flashinfer.sampling.top_k_top_p_sampling_from_probs", _sample)
        implement("flashinfer.fused_moe.fused_topk_deepseek", _gate)
    implement("flashinfer.jit.core.logger.setLevel", lambda level: None)
    implement("flashinfer.utils.get_device_sm_count", lambda device: 132)
    implement("flashinfer.utils.get_compute_capability", lambda device: torch.cuda.get_device_capability())
    implement("flashinfer.utils.get_trtllm_gen_multi_ctas_kv_counter_bytes", lambda *sizes: 1024)
    for name in _WRAPPERS:
        implement(name, _wrapper(name))
    implement("flashinfer.norm.layernorm", _layernorm)
    implement("flashinfer.decode.trtllm_batch_decode_with_kv_cache_mla", _decode)
    implement("flashinfer.prefill.trtllm_ragged_attention_deepseek", _ragged)
    implement("flashinfer.decode.trtllm_batch_decode_with_kv_cache", _like_the_query)
    implement("flashinfer.prefill.trtllm_batch_context_with_kv_cache", _like_the_query)
    implement("flashinfer.cascade.merge_state", _merged)
    implement("flashinfer.decode._grouped_size_compiled_for_decode_kernels", lambda *sizes: True)
    implement("flashinfer.nvfp4_block_scale_interleave", lambda scales: scales.new_empty(scales.numel()))
    implement("flashinfer.fp4_quantize", _fp4_quantize)
    implement("flashinfer.scaled_fp4_grouped_quantize", _fp4_of_experts)
    implement("flashinfer.silu_and_mul_scaled_nvfp4_experts_quantize", _fp4_of_gated_experts)
    for name in ("_maybe_get_cached_w3_w1_permute_indices", "get_w2_permute_indices_with_cache"):
        implement(f"flashinfer.fused_moe.core.{name}", _rows)
    implement("flashinfer.fused_moe.core.ActivationType", _activation)
    implement("flashinfer.fused_moe.trtllm_fp4_block_scale_moe", _fp4_experts)
    implement("flashinfer.mm_fp4", _mm_fp4)
    implement("flashinfer.gemm.mm_fp4", _mm_fp4)
    for name in ("flashinfer.cutlass_fused_moe", "flashinfer.fused_moe.cutlass_fused_moe"):
        implement(name, lambda *args, **named: [named["output"]])
    implement("flashinfer.autotuner.autotune", lambda *args, **kwargs: contextlib.nullcontext())
    implement(
        "flashinfer.comm.trtllm_create_ipc_workspace_for_all_reduce_fusion",
        lambda *args, **kwargs: ([], torch.empty(1024, device="cuda", dtype=torch.int64)),
    )
    implement("flashinfer.comm.trtllm_allreduce_fusion", lambda *args, **kwargs: None)
