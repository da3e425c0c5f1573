"""The batch that docs/first-batch.md comes to builds green at the seed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from pins import NEEDS_MIRROR, ROOT

BATCH = ROOT / "docs/examples/lora.batch.yaml"
KEPT = " sglang.srt.lora.lora_manager,"


@NEEDS_MIRROR
def test_lora_leaves_by_the_batch_of_the_page(tmp_path: Path) -> None:
    for folder in ("overlays", "schema"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    (tmp_path / "docs").mkdir()
    scope = (ROOT / "docs/scope.yaml").read_text("utf-8")
    assert scope.count(KEPT) == 1
    (tmp_path / "docs/scope.yaml").write_text(scope.replace(KEPT, ""), "utf-8")
    manifest = (ROOT / "manifest.yaml").read_text("utf-8")
    before = re.split(r"\n(?=(?:#[^\n]*\n)*scopes:\n)", manifest, maxsplit=1)
    assert len(before) == 2
    text = f"{before[0]}\n{BATCH.read_text('utf-8')}\n{before[1]}"
    (tmp_path / "manifest.yaml").write_text(text, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "builder", "dist", "seed"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    tree = tmp_path / "dist/tree/python/sglang"
    assert not (tree / "srt/lora").exists()
    # the benchmark and DeepSeek's low-rank projections are as upstream has them
    assert (tree / "bench_serving.py").read_text("utf-8").count("lora_zipf_alpha") > 2
    assert "q_lora_rank" in (tree / "srt/models/deepseek_v2.py").read_text("utf-8")
