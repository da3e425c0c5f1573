"""Scope is one edit away: each variant of the manifest passes every gate."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pins import NEEDS_MIRROR, PIN_PARAMS, edited, upstream

from builder.cli.cache_file import recalled
from builder.errors import BuildError, Problem
from builder.manifest.model import Manifest
from builder.manifest.switches import choose, switch_off
from builder.pipeline.cut import cut
from builder.pipeline.model import Cut
from builder.pipeline.ranges import About, about
from builder.pipeline.verify import verify
from builder.upstream.model import snapshot

#: Those whose tables of architectures are written in different ways.
SCOPE_PARAMS = [pytest.param(pin, marks=NEEDS_MIRROR) for pin in ("seed", "june")]


def manifest(*changes: tuple[str, str]) -> Manifest:
    """The manifest in the default scope, with pieces of its text replaced by others."""
    return choose(edited(*changes), "default")


def built(pin: str, wanted: Manifest, memory: Path) -> Cut:
    before = upstream(pin, wanted)
    known = about(before, wanted) if pin.startswith("pypi:") else About(kind=before.kind)
    with recalled(memory) as recall:
        done = cut(snapshot(before), wanted, recall=recall, about=known)
    verify(done)
    return done


@pytest.mark.parametrize("version", ["0.5.7", "0.5.9", "0.5.10", "0.5.10.post1", "0.5.12.post1", "0.5.13"])
def test_one_manifest_builds_the_releases_around_it(version: str, memory: Path) -> None:
    done = built(f"pypi:{version}", manifest(), memory)
    assert len(done.output) < len(done.upstream) * 0.6


@pytest.mark.parametrize("pin", PIN_PARAMS)
@pytest.mark.parametrize(
    ("batch", "back"),
    [
        ("awq", "python/sglang/srt/layers/quantization/awq.py"),
        ("grpc", "python/sglang/srt/entrypoints/grpc_server.py"),
        ("parser", "python/sglang/srt/parser/conversation.py"),
    ],
)
def test_a_batch_that_is_switched_off_gives_its_feature_back(
    pin: str, batch: str, back: str, memory: Path
) -> None:
    done = built(pin, switch_off(manifest(), (batch,)), memory)
    assert done.output.tree[back].mode == "100644"
    if batch == "parser":
        assert done.output.tree[back] == done.upstream.tree[back]


@pytest.mark.parametrize("pin", PIN_PARAMS)
def test_another_model_brings_its_files_back(pin: str, memory: Path) -> None:
    kept = "keep: [deepseek, deepseek_v2"
    done = built(pin, manifest((kept, f"{kept}, qwen3, qwen3_moe")), memory)
    for name in ("qwen2", "qwen2_moe", "qwen3", "qwen3_moe"):  # the first two are what the others import
        assert f"python/sglang/srt/models/{name}.py" in done.output.tree
    assert "python/sglang/srt/models/llama4.py" not in done.output.tree
    assert b"Qwen3MoeForCausalLM" in done.output["python/sglang/srt/server_args.py"]


def cut_with(pin: str, model: str, memory: Path) -> tuple[Cut, list[Problem]]:
    """The cut with one more model, and what is wrong with it: the gates are not asked."""
    kept = "keep: [deepseek, deepseek_v2"
    wanted = manifest((kept, f"{kept}, {model}"))
    found: list[Problem] = []
    with recalled(memory) as recall:
        return cut(snapshot(upstream(pin, wanted)), wanted, found.extend, recall), found


ARMS = re.compile(rb"^ *(?:if|elif) .*(?:\"Llama4\" in|LLAMA4_MODEL_ARCHS).*$", re.MULTILINE)


@pytest.mark.parametrize("pin", SCOPE_PARAMS)
def test_keeping_llama4_keeps_its_arms(pin: str, memory: Path) -> None:
    done, _ = cut_with(pin, "llama4", memory)
    path = "python/sglang/srt/server_args.py"
    assert "python/sglang/srt/models/llama4.py" in done.output.tree
    arms = ARMS.findall(done.upstream[path])
    assert arms
    for arm in arms:
        condition = arm.strip().removeprefix(b"el").split(b" and ")[0]
        assert condition in done.output[path]
    assert b'"Llama4ForCausalLM"' in done.output[path] or b'"Llama4" in' in done.output[path]


@pytest.mark.parametrize("pin", SCOPE_PARAMS)
def test_keeping_qwen3_next_withdraws_what_is_said_of_its_configuration(pin: str, memory: Path) -> None:
    done, found = cut_with(pin, "qwen3_next", memory)
    assert "mamba" not in [batch.id for batch in done.manifest.batches]
    runner = done.output["python/sglang/srt/model_executor/model_runner.py"]
    for name in (b"qwen3_next_config", b"hybrid_gdn_config", b"mambaish_config"):
        assert b"def " + name in runner
    assert b"isinstance(config, Qwen3NextConfig)" in runner
    assert b"self.hybrid_gdn_config" in runner
    # that is said aloud where a part of it is gone for another reason
    assert {p.code for p in found} <= {"R008"}


@pytest.mark.parametrize("pin", SCOPE_PARAMS)
def test_keeping_a_model_that_sees_keeps_what_it_sees_with(pin: str, memory: Path) -> None:
    done, _ = cut_with(pin, "qwen2_5_vl", memory)
    assert "multimodal" not in [batch.id for batch in done.manifest.batches]
    assert b"self.is_multimodal = " in done.output["python/sglang/srt/configs/model_config.py"]
    assert "python/sglang/srt/multimodal/processors/qwen_vl.py" in done.output.tree


#: Models of other families; those that see need what the batch multimodal removes, and gpt_oss has windows.
FAMILIES = [
    ("release", "llama4, gpt_oss, qwen3, qwen3_moe"),
    ("release", "deepseek_vl2"),
    ("seed", "llama, llama4, gpt_oss, qwen3, qwen3_moe"),
    ("seed", "deepseek_vl2, deepseek_ocr"),
    ("june", "llama, llama4, gpt_oss, qwen3, qwen3_moe"),
    ("june", "deepseek_vl2, deepseek_ocr, kimi_k25"),
]


def needs_mirror(pin: str) -> list[pytest.MarkDecorator]:
    return [] if pin == "release" else [NEEDS_MIRROR]


@pytest.mark.parametrize(
    ("pin", "models"), [pytest.param(*row, marks=needs_mirror(row[0])) for row in FAMILIES]
)
def test_models_of_other_families_come_back_by_their_names(pin: str, models: str, memory: Path) -> None:
    kept = "keep: [deepseek, deepseek_v2"
    done = built(pin, manifest((kept, f"{kept}, {models}")), memory)
    for name in models.split(", "):
        assert f"python/sglang/srt/models/{name}.py" in done.output.tree
    sees = "deepseek_vl2" in models
    assert ("multimodal" in done.withdrawn) is sees
    assert ("sliding-window" in done.withdrawn) is ("gpt_oss" in models)
    processor = "python/sglang/srt/multimodal/processors/deepseek_vl_v2.py"
    assert (processor in done.output.tree) is sees
    assert "python/sglang/srt/multimodal/processors/llava.py" not in done.output.tree


def scopes_and_pins() -> list[object]:
    """Of those that change the distribution; the others are the default one."""
    stated = [scope for scope in manifest().scopes.values() if scope.changes_distribution]
    return [pytest.param(s.name, pin, marks=needs_mirror(pin)) for s in stated for pin in s.pins]


@pytest.mark.parametrize(("name", "pin"), scopes_and_pins())
def test_a_named_scope_passes_every_gate_at_its_pins(name: str, pin: str, memory: Path) -> None:
    wanted = choose(edited(), name)
    done = built(pin, wanted, memory)
    scope = wanted.named_scope
    assert scope is not None
    for model in scope.models:
        assert f"python/sglang/srt/models/{model}.py" in done.output.tree
    if name == "hopper":
        home = ("python/sglang/srt/server_args.py", "python/sglang/srt/arg_groups/")
        ours, theirs = (
            b"".join(files[path] for path in files if path.startswith(home))
            for files in (done.output, done.upstream)
        )
        for chosen in (b'"fa3"', b'"flashmla_kv"'):
            assert ours.count(chosen) > 1 and chosen in theirs


@pytest.mark.parametrize("pin", PIN_PARAMS)
def test_cuda_can_be_folded_as_well(pin: str, memory: Path) -> None:
    predicates = ", ".join(f"sglang.srt.utils.common.{name}: truthy" for name in ("is_cuda", "is_cuda_alike"))
    readers = "  environment_readers: ["
    done = built(pin, manifest((readers, f"  predicates: {{{predicates}}}\n{readers}")), memory)
    text = done.output["python/sglang/srt/layers/moe/topk.py"]
    assert b"_is_cuda" in done.upstream["python/sglang/srt/layers/moe/topk.py"]
    assert b"if _is_cuda" not in text
    assert b"if is_cuda()" not in text


def test_a_fact_that_upstream_never_mentions_is_an_error(memory: Path) -> None:
    with pytest.raises(BuildError) as caught:
        built("release", manifest(("utils.get_is_diffusion_model:", "utils.never_heard_of:")), memory)
    assert [p.code for p in caught.value.problems] == ["R009"]
    assert caught.value.problems[0].mark is not None
