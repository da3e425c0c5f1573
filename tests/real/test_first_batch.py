"""The batch of LoRA, which is off by default, builds green at the seed."""

from __future__ import annotations

from pathlib import Path

from pins import NEEDS_MIRROR, ROOT, builder


@NEEDS_MIRROR
def test_lora_leaves_where_its_batch_is_switched_on(tmp_path: Path) -> None:
    out = tmp_path / "out"
    builder(ROOT, "dist", "seed", "--with", "lora", "--out", str(out))
    (wheel,) = out.glob("*.whl")
    assert "+deepseek.with.lora.g" in wheel.name
    tree = out / "tree/python/sglang"
    assert not (tree / "srt/lora").exists()
    # the benchmark and DeepSeek's low-rank projections are as upstream has them
    assert (tree / "bench_serving.py").read_text("utf-8").count("lora_zipf_alpha") > 2
    assert "q_lora_rank" in (tree / "srt/models/deepseek_v2.py").read_text("utf-8")
    # a batch is made and split without the ids of adapters
    for path in ("model_executor/forward_batch_info.py", "batch_overlap/two_batch_overlap.py"):
        assert "lora_ids" not in (tree / "srt" / path).read_text("utf-8")
