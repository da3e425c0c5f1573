"""Scope is one edit away: each variant of the manifest passes every gate."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from builder.errors import BuildError
from builder.manifest.load import parse, read_overlays, read_schema, switch_off
from builder.manifest.model import Manifest
from builder.pipeline.cut import Cut, cut
from builder.pipeline.verify import verify
from builder.upstream.cache import default_cache
from builder.upstream.model import Sources, snapshot
from builder.upstream.resolve import resolve

ROOT = Path(__file__).parents[2]
MIRROR = os.environ.get("SGLANG_MIRROR")
NO_MIRROR = "SGLANG_MIRROR is not set: the seed pin needs upstream's git history"
PIN_PARAMS = [
    "release",
    pytest.param("seed", marks=pytest.mark.skipif(not MIRROR, reason=NO_MIRROR)),
]


def manifest(*changes: tuple[str, str]) -> Manifest:
    """The manifest with one piece of its text replaced by another."""
    text = (ROOT / "manifest.yaml").read_text()
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    overlays, others = read_overlays(ROOT)
    return parse(text.encode(), "manifest.yaml", overlays, read_schema(ROOT), others)


def built(pin: str, wanted: Manifest) -> Cut:
    mirror = Path(MIRROR) if MIRROR else None
    where = Sources(mirror, default_cache(), wanted.upstream.repository, False, wanted.upstream.pins)
    done = cut(snapshot(resolve(pin, where)), wanted)
    verify(done, wanted)
    return done


@pytest.mark.parametrize("version", ["0.5.7", "0.5.9", "0.5.10", "0.5.10.post1"])
def test_one_manifest_builds_the_releases_around_it(version: str) -> None:
    done = built(f"pypi:{version}", manifest())
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
def test_a_batch_that_is_switched_off_gives_its_feature_back(pin: str, batch: str, back: str) -> None:
    done = built(pin, switch_off(manifest(), (batch,)))
    assert done.output.tree[back].mode == "100644"
    if batch == "parser":
        assert done.output.tree[back] == done.upstream.tree[back]


@pytest.mark.parametrize("pin", PIN_PARAMS)
def test_another_model_brings_its_files_back(pin: str) -> None:
    kept = "keep: [deepseek, deepseek_v2, deepseek_nextn"
    done = built(pin, manifest((kept, f"{kept}, qwen3, qwen3_moe")))
    for name in ("qwen2", "qwen2_moe", "qwen3", "qwen3_moe"):  # the first two are what the others import
        assert f"python/sglang/srt/models/{name}.py" in done.output.tree
    assert "python/sglang/srt/models/llama4.py" not in done.output.tree
    assert b"Qwen3MoeForCausalLM" in done.output["python/sglang/srt/server_args.py"]


@pytest.mark.parametrize("pin", PIN_PARAMS)
def test_cuda_can_be_folded_as_well(pin: str) -> None:
    predicates = ", ".join(f"sglang.srt.utils.common.{name}: truthy" for name in ("is_cuda", "is_cuda_alike"))
    done = built(pin, manifest(("\nfacts:\n", f"\nfacts:\n  predicates: {{{predicates}}}\n")))
    text = done.output["python/sglang/srt/layers/moe/topk.py"]
    assert b"_is_cuda" in done.upstream["python/sglang/srt/layers/moe/topk.py"]
    assert b"if _is_cuda" not in text
    assert b"if is_cuda()" not in text


def test_a_fact_that_upstream_never_mentions_is_an_error() -> None:
    with pytest.raises(BuildError) as caught:
        built("release", manifest(("is_habana_available: false", "is_habana_absent_here: false")))
    assert [p.code for p in caught.value.problems] == ["R009"]
    assert caught.value.problems[0].mark is not None
