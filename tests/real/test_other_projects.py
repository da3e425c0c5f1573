"""Three projects that this builder was not made for: their manifests in docs/examples build green, and init
writes a first one. Their sdists come from the package index, and stay in the cache."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pins import ROOT, builder

PAGE = (ROOT / "docs/other-projects.md").read_text("utf-8")


def built(folder: Path, example: str) -> tuple[dict[str, Any], str]:
    """build.json of an example, and what the build said."""
    shutil.copyfile(ROOT / "docs/examples" / example, folder / "manifest.yaml")
    done = builder(folder, "dist")
    return json.loads((folder / "dist/build.json").read_bytes()), done.stderr


@pytest.mark.parametrize("name", ["httpx", "rich", "vllm"])
def test_an_example_builds_green_and_its_figures_are_those_of_the_page(name: str, tmp_path: Path) -> None:
    record, said = built(tmp_path, f"{name}.yaml")
    tree, lines = re.findall(r"^(?:tree|lines) .*$", said, re.M)
    assert tree in PAGE and lines in PAGE, f"{tree}\n{lines}"
    assert record["wheel"] is None
    done = subprocess.run([sys.executable, "-m", "compileall", "-q", str(tmp_path / "dist/tree")])
    assert done.returncode == 0


def test_the_registry_of_vllm_has_the_architectures_that_stay(tmp_path: Path) -> None:
    built(tmp_path, "vllm.yaml")
    models = tmp_path / "dist/tree/vllm/model_executor/models"
    rows = re.findall(r'^    "\w+": \(\s*"([\w.]+)",\s', (models / "registry.py").read_text("utf-8"), re.M)
    kept = {"deepseek_v2", "deepseek_mtp", "deepseek_eagle", "deepseek_eagle3"}
    assert {row for row in rows if row.startswith("deepseek")} == kept
    assert {path.stem for path in models.glob("deepseek*.py")} == kept
    beside = {f"vllm.models.{name}" for name in ("deepseek_v32", "deepseek_v4", "deepseek_v41")}
    speculative = {"extract_hidden_states", "qwen2", "qwen3", "qwen3_dflash", "qwen3_dspark"}
    assert set(rows) == kept | beside | speculative


def test_init_of_a_release_keeps_everything_and_builds_green(tmp_path: Path) -> None:
    done = builder(tmp_path, "init", "pypi:httpx==0.28.1", "--format", "json")
    assert json.loads(done.stdout)["same"] is True
    builder(tmp_path, "dist")
    assert (tmp_path / "dist/upstream.diff").read_bytes() == b""
    theirs = (ROOT / "docs/examples/httpx.yaml").read_text("utf-8")
    ours = (tmp_path / "manifest.yaml").read_text("utf-8")
    assert ours.split("name: ", 1)[1].split("keep:", 1)[0] in theirs
