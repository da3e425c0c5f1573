"""Ordinary questions about the real seed and june: the first line that `why` answers with."""

from __future__ import annotations

import pytest
from pins import NEEDS_MIRROR, ROOT, upstream

from benchmarks.transcripts import left
from builder.manifest.load import load_default
from builder.manifest.model import Manifest
from builder.pipeline.answers import readings
from builder.pipeline.answers.answer import sentences
from builder.pipeline.answers.context import Context
from builder.pipeline.cut import cut
from builder.pipeline.model import Cut
from builder.pipeline.outcome import outcome_of
from builder.pipeline.ranges import about
from builder.upstream.model import snapshot

DEEPSEEK = "python/sglang/srt/models/deepseek_v2.py is kept and edited"
#: question -> what the first line begins with
QUESTIONS = {
    "python/sglang/srt/models/deepseek_v2.py": DEEPSEEK,
    "./python/sglang/srt/models/deepseek_v2.py": DEEPSEEK,
    "dist/tree/python/sglang/srt/models/deepseek_v2.py": DEEPSEEK,
    "/home/me/out/tree/python/sglang/srt/models/deepseek_v2.py": DEEPSEEK,
    "deepseek_v2.py": DEEPSEEK,
    "deepseek_v2": DEEPSEEK,
    "models/registry.py": "python/sglang/srt/models/registry.py is kept and edited",
    "python/sglang/srt/models": "python/sglang/srt/models/ is kept in part",
    "python/sglang/srt/models/": "python/sglang/srt/models/ is kept in part",
    "python/sglang/multimodal_gen": "python/sglang/multimodal_gen/ is removed",
    "python/sglang/srt/models/qwen3.py": "python/sglang/srt/models/qwen3.py is removed",
    "qwen3_moe": "python/sglang/srt/models/qwen3_moe.py is removed",
    "docs/platforms": "docs/platforms/ is removed",
    "README.md": "README.md is kept as upstream has it",
    "sglang.srt.models.llama": "python/sglang/srt/models/llama.py is removed",
    "sglang.srt.managers.scheduler.Scheduler": "sglang.srt.managers.scheduler.Scheduler is kept",
    "python/sglang/srt/managers/scheduler.py:Scheduler.event_loop_normal": (
        "sglang.srt.managers.scheduler.Scheduler.event_loop_normal is kept"
    ),
    "FlashAttentionBackend": (
        "sglang.srt.layers.attention.flashattention_backend.FlashAttentionBackend is removed"
    ),
    "TRTLLMMLABackend": "sglang.srt.layers.attention.trtllm_mla_backend.TRTLLMMLABackend is kept",
    "Scheduler.event_loop_normal": "sglang.srt.managers.scheduler.Scheduler.event_loop_normal is kept",
    "ServerArgs.enable_multimodal": "sglang.srt.server_args.ServerArgs.enable_multimodal is removed",
    "ServerArgs.enable_mamba": "did you mean ServerArgs.enable_lora",
    "is_npu": "sglang.srt.utils.common.is_npu is removed: nothing refers to it any more",
    "is_cuda": "sglang.srt.utils.common.is_cuda is kept",
    "AWQConfig": "sglang.srt.layers.quantization.awq.AWQConfig is removed",
    "LlamaForCausalLM": "architecture LlamaForCausalLM is removed",
    "DeepseekV3ForCausalLM": "architecture DeepseekV3ForCausalLM is kept",
    "DeepseekV4ForCausalLM": "did you mean DeepseekV3ForCausalLM",
    "Qwen3MoeForCausalLM": "architecture Qwen3MoeForCausalLM is removed",
    "--enable-multimodal": "--enable-multimodal of sglang.srt.server_args is removed",
    "enable_multimodal": "--enable-multimodal of sglang.srt.server_args is removed",
    "--mem-fraction-static": "--mem-fraction-static of sglang.srt.server_args is kept",
    "--grpc-mode": "--grpc-mode of sglang.srt.server_args is removed",
    "--attention-backend": "--attention-backend of sglang.srt.server_args is kept",
    "--tp": "did you mean --tp-size",
    "SGLANG_USE_AITER": "environment variable SGLANG_USE_AITER is removed",
    "SGLANG_TORCH_PROFILER_DIR": "environment variable SGLANG_TORCH_PROFILER_DIR is kept",
    "SGLANG_NOTHING": "did you mean SGLANG_PORT",
    "/v1/chat/completions": "route POST /v1/chat/completions of sglang_router.mini_lb is kept",
    "POST /generate": "route POST /generate of sglang_router.mini_lb is kept",
    "/health": "route GET /health of sglang_router.mini_lb is kept",
    "fa3": "`fa3` is removed: no flag takes it any more",
    "fa4": "`fa4` is removed: no flag takes it any more",
    "trtllm_mla": "`trtllm_mla` is kept: a value of --attention-backend, --decode-attention-backend",
    "flashmla": "flashmla is a batch that",
    "awq": "awq is a batch that",
    "ascend": "entry 'ascend' of sglang.srt.disaggregation.utils.TransferBackend is removed",
    "fp8": "`fp8` is kept: a value of --quantization, --speculative-draft-model-quantization",
    "rocm": "rocm is a batch that",
    "fa3-fa4": "fa3-fa4 is a batch that",
    "multimodal": "multimodal is a batch that",
    "flash-attn-4": "did you mean flash_attn_func",
    "flashinfer_python": "requirement flashinfer_python",
    "torch": "torch is a module of another package",
    "transformers": "transformers is a module of another package",
    "grpcio": "requirement grpcio==1.75.1 is removed",
    "torch_npu": "torch_npu is a module of another package",
    "deep_gemm": "deep_gemm is a module of another package",
    "sgl_kernel.flash_attn": "sgl-kernel/python/sgl_kernel/flash_attn.py is removed",
    "sgl-kernel/csrc/attention": "sgl-kernel/csrc/attention/ is kept in part",
    "--attention-backend fa3": "`--attention-backend fa3` is removed",
    "--attention-backend=flashinfer": "`--attention-backend flashinfer` is kept",
    "python/sglang/srt/models/deepseek_v2.py:1795": DEEPSEEK,
    "https://host.example/sglang/blob/main/python/sglang/srt/models/deepseek_v2.py#L9": DEEPSEEK,
    "--attention-bakend": "did you mean --attention-backend",
    "sglang.srt.modles.llama": "did you mean sglang.srt.models.llama",
    "flsah_attn": "did you mean flash_attn_func",
    "sglang.launch_server": "python/sglang/launch_server.py is kept and edited",
    "sgl-kernel/CMakeLists.txt": "sgl-kernel/CMakeLists.txt is kept and edited",
    "--enable-lora": "--enable-lora of sglang.srt.server_args is kept",
    "--disable-cuda-graph": "--disable-cuda-graph of sglang.srt.server_args is kept",
    "DeepseekV32ForCausalLM": "architecture DeepseekV32ForCausalLM is kept",
    "modelopt_fp4": (
        "`modelopt_fp4` is kept: a value of --quantization, --speculative-draft-model-quantization"
    ),
    "NPUGraphRunner": (
        "sglang.srt.hardware_backend.npu.graph_runner.npu_graph_runner.NPUGraphRunner is removed"
    ),
    "CommunicateContext": "sglang.srt.layers.communicator.CommunicateContext is kept",
}
#: where it is another one at june
AT_JUNE = {
    "ServerArgs.enable_mamba": "did you mean ServerArgs.enable_mis",
    "is_npu": "is_npu is defined in",
    "AWQConfig": "sglang.srt.layers.quantization.awq.awq.AWQConfig is removed",
    "DeepseekV4ForCausalLM": "architecture DeepseekV4ForCausalLM is removed",
    "fp8": "fp8 is defined in",
    "flash-attn-4": "requirement flash-attn-4>=4.0.0b9 is removed",
    "grpcio": "did you mean grpc",
}


@pytest.fixture(scope="session")
def manifest() -> Manifest:
    return load_default(ROOT / "manifest.yaml")


@pytest.fixture(scope="session", params=[pytest.param(pin, marks=NEEDS_MIRROR) for pin in ("seed", "june")])
def asked(request: pytest.FixtureRequest, manifest: Manifest) -> tuple[str, Cut]:
    here = upstream(request.param, manifest, offline=True)
    return request.param, cut(snapshot(here), manifest, about=about(here, manifest))


def test_ordinary_questions_get_their_answer_in_the_first_line(
    asked: tuple[str, Cut], manifest: Manifest
) -> None:
    pin, done = asked
    context = Context(outcome_of(done, manifest), manifest)
    wrong = {}
    for what, expected in {**QUESTIONS, **(AT_JUNE if pin == "june" else {})}.items():
        answers = readings.answers(context, what)
        if answers:
            first = sentences(answers[0])[0]
        else:
            first = f"did you mean {' '.join(readings.suggestions(context, what)[:1])}"
        if not first.startswith(expected):
            wrong[what] = first
    assert wrong == {}


def test_the_answer_that_the_readme_shows_is_the_one_that_is_given(
    asked: tuple[str, Cut], manifest: Manifest
) -> None:
    expected = left(manifest)
    done = asked[1]
    context = Context(outcome_of(done, manifest), manifest)
    (answer,) = readings.answers(context, expected.name)
    shown = sentences(expected)
    assert sentences(answer)[: len(shown)] == shown
