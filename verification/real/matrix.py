"""The configurations in which both trees serve with real kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

V1, V2, V3, V32 = (f"Deepseek{version}ForCausalLM" for version in ("", "V2", "V3", "V32"))
_NEXTN = {
    "speculative_algorithm": "EAGLE", "speculative_num_steps": 2, "speculative_eagle_topk": 1,
    "speculative_num_draft_tokens": 3,
}  # fmt: skip
_TILELANG = {"nsa_prefill_backend": "tilelang", "nsa_decode_backend": "tilelang"}
#: The variable's name before 0.5.13, and since: versions that know both overwrite the first at their start.
SPARSE = {f"SGLANG_{name}_PREFILL_DENSE_ATTN_KV_LEN_THRESHOLD": "0" for name in ("NSA", "DSA")}
#: Without them ours has what upstream chooses by default on Hopper: FlashAttention 3, and FlashMLA for V3.2.
_REPLACED, _REPLACED_SPARSE = frozenset({"fa3-fa4"}), frozenset({"fa3-fa4", "flashmla"})
_DRAFTED, _ADAPTED = frozenset({"speculative-decoding"}), frozenset({"lora"})
_DENSE = "upstream computes short prefills densely with FlashAttention 3, ours sparsely"
_LORA = {"max_loras_per_batch": 2, "lora_backend": "triton", "trust_remote_code": True}
_NO_OVERLAP = {"disable_overlap_schedule": True}
_NO_GRAPH = {"disable_cuda_graph": True}
#: The default of later versions, which the other configurations turn off.
_PREFILL_GRAPHS = {"disable_piecewise_cuda_graph": False}
#: Tokens before a chunk are computed densely, 128 at a time, however few there are.
_PREFIX_CHUNKS = {"SGLANG_CHUNKED_PREFIX_CACHE_THRESHOLD": "0", "SGLANG_MAX_KV_CHUNK_CAPACITY": "128"}
#: The GPU holds fewer tokens than the prompts have: what is asked for again comes back from the host.
_HOST = {
    "enable_hierarchical_cache": True, "hicache_size": 1, "hicache_io_backend": "kernel",
    "hicache_write_policy": "write_through", "page_size": 16, "max_total_tokens": 4096,
}  # fmt: skip
#: Later versions choose flashinfer's fused sum on Hopper by themselves. It maps memory of other processes,
#: which not every container lets through: the engine waits there forever.
_TWO = {"tp_size": 2, "enforce_disable_flashinfer_allreduce_fusion": True}
_NCCL = {"disable_custom_all_reduce": True}
_TRITON, _FLASHINFER = {"attention_backend": "triton"}, {"attention_backend": "flashinfer"}


@dataclass(frozen=True, slots=True)
class Configuration:
    """`arguments` are ServerArgs' fields; `upstream` are those that only upstream needs, to do the same."""

    name: str
    architecture: str = V3
    quantization: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    upstream: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    gpus: int = 1
    structured: bool = True
    experts: int = 0  # of a layer; 0 for as few as the models of the trials have
    long: int = 0  # prompts longer than what sparse attention selects
    again: bool = False  # prompts that are alone are asked twice, without emptying the cache between
    other_kernels: str = ""  # which of upstream's kernels ours does not have, whatever the arguments are
    adapter: bool = False  # every other prompt goes through an adapter of LoRA
    takes: frozenset[str] = frozenset()  # batches of which one is on, or it is another configuration's
    loses: frozenset[str] = frozenset()  # batches with which it leaves

    def fits(self, batches: frozenset[str]) -> bool:
        """Whether it says something of an output with these batches."""
        return not self.loses & batches and (not self.takes or bool(self.takes & batches))


CONFIGURATIONS = (
    Configuration("v3-flashinfer-default", upstream=_FLASHINFER, takes=_REPLACED),
    Configuration("v3-default", loses=_REPLACED),
    Configuration("v32-default", V32, loses=_REPLACED_SPARSE),
    Configuration("v32-default-long", V32, long=4, loses=_REPLACED_SPARSE),
    Configuration("v3-flashinfer-no-graph", arguments={**_FLASHINFER, **_NO_GRAPH}),
    Configuration("v3-flashinfer-no-overlap", arguments=_FLASHINFER | _NO_OVERLAP),
    Configuration("v3-triton", arguments=_TRITON),
    Configuration("v3-triton-no-graph", arguments={**_TRITON, **_NO_GRAPH}),
    Configuration("v3-fp8-flashinfer", quantization="fp8", arguments=_FLASHINFER),
    Configuration("v3-fp8-flashinfer-no-overlap", quantization="fp8", arguments=_FLASHINFER | _NO_OVERLAP),
    Configuration("v3-fp8-triton", quantization="fp8", arguments=_TRITON),
    # As many as the real model has, in as many groups: the shared expert is fused with them by default.
    Configuration("v3-256-experts", arguments=_TRITON, experts=256),
    Configuration("v3-prefill-graphs", arguments=_TRITON | _PREFILL_GRAPHS),
    Configuration("v3-prefix-chunks", arguments=_FLASHINFER, environment=_PREFIX_CHUNKS),
    Configuration("v3-no-radix", arguments={**_TRITON, "disable_radix_cache": True}),
    Configuration("v3-hicache", arguments={**_TRITON, **_HOST}, structured=False, again=True),
    Configuration("v2-flashinfer", V2, arguments=_FLASHINFER),
    Configuration("v2-flashinfer-no-overlap", V2, arguments=_FLASHINFER | _NO_OVERLAP),
    Configuration("v2-triton", V2, arguments=_TRITON),
    Configuration(
        "v3-nextn-flashinfer", arguments={**_FLASHINFER, **_NEXTN}, structured=False, loses=_DRAFTED
    ),
    Configuration("v3-nextn-triton", arguments={**_TRITON, **_NEXTN}, structured=False, loses=_DRAFTED),
    # Short prefills are computed densely by default. 0 has both trees compute all of them sparsely.
    Configuration("v32", V32, upstream=_TILELANG, long=4, other_kernels=_DENSE, takes=_REPLACED_SPARSE),
    Configuration("v32-sparse", V32, upstream=_TILELANG, environment=SPARSE, takes=_REPLACED_SPARSE),
    Configuration(
        "v32-sparse-long", V32, upstream=_TILELANG, environment=SPARSE, long=4, takes=_REPLACED_SPARSE
    ),
    Configuration(
        "v32-prefill-graphs", V32, arguments=_PREFILL_GRAPHS, upstream=_TILELANG, environment=SPARSE,
        takes=_REPLACED_SPARSE,
    ),
    Configuration(
        "v1-lora", V1, arguments={**_TRITON, **_LORA}, adapter=True, structured=False, loses=_ADAPTED
    ),
    Configuration("v3-two-gpus", arguments=_FLASHINFER | _TWO, gpus=2),
    Configuration("v3-two-gpus-no-overlap", arguments=_FLASHINFER | _NO_OVERLAP | _TWO, gpus=2),
    Configuration("v3-two-gpus-nccl", arguments=_FLASHINFER | _TWO | _NCCL, gpus=2),
    Configuration("v3-fused-sum", arguments={**_FLASHINFER, "tp_size": 2}, gpus=2),
    Configuration("v3-two-gpus-fp8", quantization="fp8", arguments=_TRITON | _TWO, gpus=2),
    Configuration(
        "v3-dp-attention",
        arguments={**_TRITON, "tp_size": 2, "dp_size": 2, "enable_dp_attention": True},
        gpus=2,
    ),
    Configuration("v3-expert-parallel", arguments={**_TRITON, **_TWO, "ep_size": 2}, gpus=2),
    Configuration(
        "v32-two-gpus", V32, arguments=_TWO, upstream=_TILELANG, environment=SPARSE, gpus=2,
        takes=_REPLACED_SPARSE,
    ),
)  # fmt: skip
