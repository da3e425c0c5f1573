"""The configurations in which both trees run a model: production ones by shapes, small ones by numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

SHAPES, NUMBERS, DEVICE = "shapes", "numbers", "device"
RUNNER, SCHEDULER = "runner", "scheduler"


@dataclass(frozen=True, slots=True)
class Configuration:
    """One run of one model. `arguments` are ServerArgs' fields; `upstream` are those for upstream only."""

    name: str
    mode: str = SHAPES
    driver: str = RUNNER
    capability: tuple[int, int] = (9, 0)
    devices: int = 8
    architecture: str = "DeepseekV3ForCausalLM"
    layers: int = 2
    dense: int = 1
    quantization: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    upstream: Mapping[str, Any] = field(default_factory=dict)
    lengths: tuple[int, ...] = (7, 12)
    steps: int = 2
    logprobs: bool = True  # of the scheduler's first request
    quick: bool = False  # also part of the small set
    full: bool | None = None  # at the real width; None: in shapes only
    environment: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)  # of the model, instead of its usual

    def question(self, for_upstream: bool) -> dict[str, Any]:
        """What the probe `forward` is asked."""
        asked = asdict(self)
        for name in ("name", "upstream", "quick"):
            del asked[name]
        numbers = self.mode != SHAPES
        asked["full"] = not numbers if self.full is None else self.full
        asked["checkpoint"] = not asked["full"]
        arguments = {**({} if numbers else {"tp_size": 8}), **self.arguments}
        asked["arguments"] = {**arguments, **(self.upstream if for_upstream else {})}
        return asked


_BLACKWELL: dict[str, Any] = {"capability": (10, 0)}
#: On Hopper, upstream reads prompts of up to 2,048 tokens with FlashAttention 3, which is not part of this:
#: prompts are longer.
_V32: dict[str, Any] = {
    "architecture": "DeepseekV32ForCausalLM", "quantization": "fp8", "lengths": (2300, 2200, 2100)
}  # fmt: skip
_V32_REQUEST: dict[str, Any] = {**_V32, "driver": SCHEDULER, "lengths": (2304,), "logprobs": False}
_LONG = {"max_total_tokens": 16384, "chunked_prefill_size": 16384}
_TILELANG = {"nsa_prefill_backend": "tilelang", "nsa_decode_backend": "tilelang"}
_NEXTN = {
    "speculative_algorithm": "NEXTN",
    "speculative_num_steps": 2,
    "speculative_eagle_topk": 1,
    "speculative_num_draft_tokens": 3,
}
#: The kernel that prepares NextN's input takes no fewer (releases from 0.5.23).
_WIDER = {"hidden_size": 512}
#: Each of the eight replicas gets its share of the requests.
_DP = {"dp_size": 8, "enable_dp_attention": True, "max_running_requests": 64}
_GRAPH = {"disable_cuda_graph": False}
_REQUESTS: dict[str, Any] = {"driver": SCHEDULER, "lengths": (7, 12, 9), "steps": 4}
_TRITON = {"attention_backend": "triton"}
_FLASHINFER = {"attention_backend": "flashinfer"}
_DEEPEP = {"moe_a2a_backend": "deepep", "deepep_mode": "auto"}
#: Tokens are sent to experts as they are, not in eight bits.
_SENT_WHOLE = {"SGLANG_DEEPEP_BF16_DISPATCH": "1"}
_CUTEDSL = {
    **_DP, **_DEEPEP, "deepep_mode": "low_latency", "quantization": "modelopt_fp4",
    "moe_runner_backend": "flashinfer_cutedsl",
}  # fmt: skip
_PIECES = {"enable_piecewise_cuda_graph": True, "piecewise_cuda_graph_compiler": "eager"}
_COMPILED = {"enable_torch_compile": True, "torch_compile_max_bs": 2}
_TREE = {"speculative_eagle_topk": 2, "speculative_num_draft_tokens": 4}
_TRTLLM = {"attention_backend": "trtllm_mha", "page_size": 64}
_STANDALONE = {
    **_NEXTN, "speculative_algorithm": "STANDALONE",
    "speculative_draft_model_path": "model-DeepseekForCausalLM",
}  # fmt: skip
_SPARSE = {
    **_TRITON, "tp_size": 1, "enable_double_sparsity": True, "ds_channel_config_path": "channels.json",
    "ds_heavy_channel_num": 16, "ds_heavy_token_num": 8, "ds_sparse_decode_threshold": 8,
}  # fmt: skip
_HEADS_OF_128 = {"num_attention_heads": 56, "num_key_value_heads": 56}
_HALVES = {"dtype": "float16"}
_YARN = {"rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}}
#: Prompts are read with what is cached of them, however short it is.
_ANY_PREFIX = {"SGLANG_CHUNKED_PREFIX_CACHE_THRESHOLD": "0"}
_V2 = "DeepseekV2ForCausalLM"
_V1 = "DeepseekForCausalLM"


def _small(name: str, **more: Any) -> Configuration:
    return Configuration(name, mode=NUMBERS, devices=1, **more)


CONFIGURATIONS: tuple[Configuration, ...] = (
    # full width, tensor parallel over eight GPUs
    Configuration("v3-sm90-default", upstream=_FLASHINFER, quick=True),
    Configuration("v3-sm90-triton", arguments=_TRITON),
    Configuration("v3-sm90-flashinfer", arguments=_FLASHINFER),
    Configuration("v1-sm90-torch-native", architecture=_V1, arguments={"attention_backend": "torch_native"}),
    Configuration("v3-sm90-fp8", quantization="fp8", arguments=_TRITON),
    Configuration("v3-sm90-fp8-graph", quantization="fp8", arguments={**_FLASHINFER, **_GRAPH}),
    Configuration("v3-sm90-ep", arguments={**_TRITON, "ep_size": 8}),
    Configuration("v3-sm90-dp-attention", arguments={**_TRITON, **_DP}),
    Configuration(
        "v3-sm90-deepep",
        quantization="fp8",
        arguments={**_TRITON, **_DP, "moe_a2a_backend": "deepep", "deepep_mode": "normal"},
    ),
    Configuration(
        "v3-sm90-deepep-low-latency",
        quantization="fp8",
        arguments={**_TRITON, **_DP, "moe_a2a_backend": "deepep", "deepep_mode": "low_latency"},
    ),
    Configuration(
        "v3-sm90-two-batches",
        quantization="fp8",
        arguments={**_TRITON, **_DP, **_GRAPH, **_DEEPEP, "enable_two_batch_overlap": True},
        logprobs=False,
        **_REQUESTS,
    ),
    Configuration(
        "v3-sm90-one-batch-overlapped",
        quantization="fp8",
        arguments={
            **_TRITON,
            **_DP,
            **_DEEPEP,
            "deepep_mode": "low_latency",
            "enable_single_batch_overlap": True,
            "moe_runner_backend": "deep_gemm",
        },
    ),
    Configuration(
        "v3-sm90-w4afp8-deepep",
        quantization="w4afp8",
        arguments={**_TRITON, **_DP, **_DEEPEP},
        environment=_SENT_WHOLE,
        **_REQUESTS,
    ),
    Configuration("v3-sm90-pieces", arguments={**_FLASHINFER, **_PIECES}, **_REQUESTS),
    Configuration("v3-sm90-compiled", arguments={**_TRITON, **_GRAPH, **_COMPILED}, **_REQUESTS),
    Configuration(
        "v3-sm90-two-streams",
        arguments={**_TRITON, **_GRAPH, "disable_shared_experts_fusion": True},
        **_REQUESTS,
    ),
    Configuration(
        "v3-sm90-two-attentions",
        arguments={
            "prefill_attention_backend": "flashinfer",
            "decode_attention_backend": "triton",
            **_GRAPH,
        },
        **_REQUESTS,
    ),
    Configuration(
        "v3-sm90-mixed",
        arguments={**_FLASHINFER, **_GRAPH, "enable_mixed_chunk": True, "chunked_prefill_size": 8},
        logprobs=False,
        **_REQUESTS,
    ),
    Configuration(
        "v3-sm90-prefixes",
        arguments={**_FLASHINFER, "chunked_prefill_size": 8},
        environment=_ANY_PREFIX,
        **_REQUESTS,
    ),
    Configuration("v3-sm90-nextn-tree", arguments={**_TRITON, **_NEXTN, **_TREE}, **_REQUESTS),
    Configuration(
        "v3-sm90-nextn-pretended",
        arguments={**_TRITON, **_NEXTN},
        environment={"SGLANG_SIMULATE_ACC_LEN": "2"},
        **_REQUESTS,
    ),
    Configuration(
        "v3-sm90-fp8-cutlass", quantization="fp8", arguments={**_TRITON, "moe_runner_backend": "cutlass"}
    ),
    Configuration(
        "v3-sm90-fp8-deep-gemm", quantization="fp8", arguments={**_TRITON, "moe_runner_backend": "deep_gemm"}
    ),
    Configuration("v1-sm90-flashinfer", architecture=_V1, arguments=_FLASHINFER),
    Configuration(
        "v1-sm90-flashinfer-graph", architecture=_V1, arguments={**_FLASHINFER, **_GRAPH}, **_REQUESTS
    ),
    Configuration(
        "v1-sm90-standalone",
        architecture=_V1,
        arguments={**_FLASHINFER, **_GRAPH, **_STANDALONE},
        **_REQUESTS,
    ),
    Configuration(
        "v1-sm90-standalone-tree",
        architecture=_V1,
        arguments={**_FLASHINFER, **_STANDALONE, **_TREE, "page_size": 16},
        **_REQUESTS,
    ),
    Configuration(
        "v1-sm90-fp8-kv", architecture=_V1, arguments={**_FLASHINFER, "kv_cache_dtype": "fp8_e4m3"}
    ),
    Configuration(
        "v1-sm100-trtllm-mha", architecture=_V1, arguments={**_TRTLLM, **_GRAPH}, **_BLACKWELL, **_REQUESTS
    ),
    Configuration(
        "v1-sm100-standalone",
        architecture=_V1,
        arguments={**_TRTLLM, **_GRAPH, **_STANDALONE},
        **_BLACKWELL,
        **_REQUESTS,
    ),
    Configuration(
        "v1-sm100-fp4-kv",
        architecture=_V1,
        arguments={**_TRTLLM, "kv_cache_dtype": "fp4_e2m1"},
        **_BLACKWELL,
    ),
    Configuration(
        "v1-sm100-fp8-kv",
        architecture=_V1,
        arguments={**_TRTLLM, "kv_cache_dtype": "fp8_e4m3"},
        **_BLACKWELL,
    ),
    Configuration("v1-sm90-sparse", architecture=_V1, arguments=_SPARSE, config=_HEADS_OF_128, steps=3),
    Configuration(
        "v1-sm90-sparse-later",
        architecture=_V1,
        arguments={**_SPARSE, "ds_sparse_decode_threshold": 4096},
        config=_HEADS_OF_128,
    ),
    Configuration("v1-sm90-yarn", architecture=_V1, arguments=_TRITON, config=_YARN),
    Configuration("v3-sm90-fp8-kv", arguments={**_FLASHINFER, "kv_cache_dtype": "fp8_e4m3"}),
    Configuration("v3-sm90-scheduler-graph", arguments={**_TRITON, **_GRAPH}, **_REQUESTS),
    Configuration("v3-sm90-scheduler-overlap", arguments={**_FLASHINFER, **_GRAPH}, **_REQUESTS),
    Configuration("v3-sm90-nextn", arguments={**_TRITON, **_NEXTN}, **_REQUESTS),
    Configuration("v3-sm90-nextn-graph", arguments={**_FLASHINFER, **_NEXTN, **_GRAPH}, **_REQUESTS),
    Configuration("v2-sm90-triton", architecture=_V2, arguments=_TRITON),
    Configuration("v2-sm90-flashinfer", architecture=_V2, arguments=_FLASHINFER),
    Configuration("v1-sm90-triton", architecture=_V1, arguments=_TRITON),
    Configuration("v3-sm90-all-layers", layers=61, dense=3, arguments=_TRITON, steps=1),
    Configuration("v3-sm90-deterministic", arguments={**_TRITON, "enable_deterministic_inference": True}),
    Configuration(
        "v3-sm90-replicas",
        quantization="fp8",
        arguments={
            **_TRITON,
            **_DP,
            "moe_a2a_backend": "deepep",
            "deepep_mode": "normal",
            "ep_num_redundant_experts": 32,
            "enable_eplb": True,
        },
    ),
    Configuration("v3-sm100-bf16", arguments={"moe_runner_backend": "triton"}, **_BLACKWELL),
    Configuration("v3-sm100-fp8", quantization="fp8", quick=True, **_BLACKWELL),
    Configuration("v3-sm100-nvfp4", quantization="nvfp4", **_BLACKWELL),
    Configuration(
        "v3-sm100-cutlass-mla",
        quantization="fp8",
        arguments={"attention_backend": "cutlass_mla"},
        **_BLACKWELL,
    ),
    Configuration(
        "v3-sm100-fp8-kv", quantization="fp8", arguments={"kv_cache_dtype": "fp8_e4m3"}, **_BLACKWELL
    ),
    Configuration(
        "v3-sm100-nvfp4-cutlass",
        quantization="nvfp4",
        arguments={"quantization": "modelopt_fp4", "moe_runner_backend": "flashinfer_cutlass", "ep_size": 8},
        **_BLACKWELL,
    ),
    Configuration("v3-sm100-nextn", quantization="fp8", arguments=_NEXTN, **_BLACKWELL, **_REQUESTS),
    Configuration("v3-sm100-graph", quantization="fp8", arguments=_GRAPH, **_BLACKWELL, **_REQUESTS),
    Configuration(
        "v3-sm100-nextn-graph", quantization="fp8", arguments={**_NEXTN, **_GRAPH}, **_BLACKWELL, **_REQUESTS
    ),
    Configuration(
        "v3-sm100-cutlass-mla-graph",
        quantization="fp8",
        arguments={"attention_backend": "cutlass_mla", **_GRAPH},
        **_BLACKWELL,
        **_REQUESTS,
    ),
    Configuration(
        "v3-sm100-fp8-tuned",
        quantization="fp8",
        arguments={"disable_flashinfer_autotune": False},
        **_BLACKWELL,
    ),
    Configuration(
        "v3-sm100-prefixes",
        quantization="fp8",
        arguments={"chunked_prefill_size": 64},
        environment=_ANY_PREFIX,
        driver=SCHEDULER,
        lengths=(150, 130, 90),
        steps=3,
        **_BLACKWELL,
    ),
    Configuration(
        "v3-sm100-fp4-kv",
        quantization="fp8",
        arguments={"kv_cache_dtype": "fp4_e2m1", "attention_backend": "cutlass_mla"},
        **_BLACKWELL,
    ),
    Configuration("v3-sm100-modelopt-fp8", quantization="modelopt-fp8", **_BLACKWELL),
    Configuration(
        "v3-sm100-modelopt-fp8-cutlass",
        quantization="modelopt-fp8",
        arguments={"quantization": "modelopt_fp8", "moe_runner_backend": "flashinfer_cutlass"},
        **_BLACKWELL,
    ),
    Configuration(
        "v3-sm100-fp8-tensors",
        quantization="fp8-tensors",
        arguments={"moe_runner_backend": "flashinfer_trtllm"},
        **_BLACKWELL,
    ),
    Configuration(
        "v3-sm100-nvfp4-gathered",
        quantization="nvfp4",
        arguments={
            **_DP,
            "quantization": "modelopt_fp4",
            "moe_runner_backend": "flashinfer_cutlass",
            "ep_size": 8,
        },
        **_BLACKWELL,
    ),
    Configuration(
        "v3-sm100-nvfp4-cutedsl",
        quantization="nvfp4",
        arguments=_CUTEDSL,
        environment=_SENT_WHOLE,
        **_BLACKWELL,
    ),
    Configuration(
        "v3-sm100-nvfp4-sent",
        quantization="nvfp4",
        arguments=_CUTEDSL,
        environment={"SGLANG_MOE_NVFP4_DISPATCH": "1"},
        **_BLACKWELL,
    ),
    Configuration("v3-sm100-compressed-nvfp4", quantization="compressed-nvfp4", **_BLACKWELL),
    Configuration(
        "v32-sm90-graph",
        driver=SCHEDULER,
        arguments={**_LONG, **_GRAPH},
        upstream=_TILELANG,
        steps=3,
        **_V32,
    ),
    Configuration(
        "v32-sm90-nextn-graph",
        driver=SCHEDULER,
        arguments={**_LONG, **_NEXTN, **_GRAPH},
        upstream=_TILELANG,
        steps=3,
        **_V32,
    ),
    Configuration(
        "v32-sm90-context-parallel",
        arguments={**_LONG, "enable_nsa_prefill_context_parallel": True},
        upstream=_TILELANG,
        **_V32_REQUEST,
    ),
    Configuration(
        "v32-sm90-context-parallel-by-turns",
        arguments={
            **_LONG,
            "enable_nsa_prefill_context_parallel": True,
            "nsa_prefill_cp_mode": "round-robin-split",
        },
        upstream=_TILELANG,
        **_V32_REQUEST,
    ),
    # each format of weights; attention is whole in most, because it multiplies weights at the start
    *(
        Configuration(f"v3-sm90-{form}", quantization=form, arguments={**_TRITON, **more})
        for form, more in (
            ("fp8-tensors", {}),
            ("modelopt-fp8", {}),
            ("w4afp8", {}),
            ("int8-blocks", {}),
            ("int8-channels", {}),
            ("gptq", _HALVES),
            ("compressed-fp8", {}),
            ("compressed-fp8-tensors", {}),
            ("compressed-int4", {}),
        )
    ),
    *(
        Configuration(
            f"v1-sm90-{form}", architecture=_V1, dense=2, quantization=form, arguments={**_TRITON, **more}
        )
        for form, more in (
            ("fp8-channels", {}),
            ("gptq", {}),
            ("gptq-in-order", {"quantization": "gptq", **_HALVES}),
            ("auto-round", {}),
            ("fbgemm-fp8", {}),
            ("qoq", _HALVES),
            ("compressed-fp8-weights", {}),
            ("compressed-int8", {}),
            ("compressed-int8-tensors", {}),
        )
    ),
    Configuration("v32-sm90-tilelang", arguments=_LONG, upstream=_TILELANG, **_V32),
    Configuration("v32-sm90-dp-attention", arguments={**_LONG, **_DP}, upstream=_TILELANG, **_V32),
    Configuration(
        "v32-sm90-nextn", driver=SCHEDULER, arguments={**_LONG, **_NEXTN}, upstream=_TILELANG, steps=4, **_V32
    ),
    # small, with numbers
    _small("v3-dense-numbers", layers=1, dense=1, arguments=_TRITON),
    _small("v3-moe-numbers", layers=1, dense=0, arguments=_TRITON),
    _small("v3-numbers", arguments=_TRITON, quick=True),
    _small("v3-numbers-requests", arguments=_TRITON, **_REQUESTS),
    _small("v3-numbers-fp8", quantization="fp8", arguments=_TRITON, **_REQUESTS),
    _small(
        "v3-numbers-fp8-triton",
        quantization="fp8",
        arguments={**_TRITON, "fp8_gemm_runner_backend": "triton", "moe_runner_backend": "triton"},
        environment={"SGLANG_ENABLE_JIT_DEEPGEMM": "0"},
    ),
    _small(
        "v3-numbers-chunked",
        arguments={**_TRITON, "chunked_prefill_size": 8},
        driver=SCHEDULER,
        lengths=(21, 12, 9),
        steps=3,
    ),
    _small("v3-numbers-nextn", arguments={**_TRITON, **_NEXTN}, config=_WIDER, **_REQUESTS),
    _small(
        "v3-numbers-experts-in-steps",
        arguments=_TRITON,
        environment={"SGLANG_CI_DISABLE_MOE_FUSED_FUNC": "1"},
    ),
    _small("v1-numbers-torch-native", architecture=_V1, arguments={"attention_backend": "torch_native"}),
    _small("v1-numbers", architecture=_V1, arguments=_TRITON),
    _small("v1-numbers-requests", architecture=_V1, arguments=_TRITON, **_REQUESTS),
    _small("v3-numbers-pages", arguments={**_TRITON, "page_size": 16}, **_REQUESTS),
    _small("v2-numbers", architecture=_V2, arguments=_TRITON),
    _small("v2-numbers-requests", architecture=_V2, arguments=_TRITON, **_REQUESTS),
)


def on_device() -> tuple[Configuration, ...]:
    """What runs on a GPU: all that has numbers, in longer batches, and a layer of each kind at full width."""
    small = [
        replace(each, name=each.name.replace("numbers", "device"), mode=DEVICE)
        for each in CONFIGURATIONS
        if each.mode == NUMBERS
    ]
    longer = [
        replace(each, lengths=(*each.lengths, 33, 70), steps=6) if each.driver == RUNNER else each
        for each in small
    ]
    wide: dict[str, Any] = {"mode": DEVICE, "devices": 1, "full": True, "arguments": _TRITON}
    return (
        *longer,
        Configuration("v3-device-full-width", lengths=(7, 130), steps=3, **wide),
        Configuration("v2-device-full-width", architecture=_V2, lengths=(7, 130), steps=3, **wide),
    )


def chosen(names: tuple[str, ...] = (), quick: bool = False) -> tuple[Configuration, ...]:
    """The configurations with these names, or with a name that starts so; all, or the small set."""
    if not names:
        return tuple(each for each in CONFIGURATIONS if each.quick or not quick)
    return tuple(each for each in CONFIGURATIONS if each.name.startswith(names))
