"""The kernel project of the output: CMake reads it to the end, and every source that it lists is there."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from pins import NEEDS_MIRROR, ROOT, upstream

from builder.manifest.load import load_default
from builder.native.layout import libraries, units
from builder.pipeline.cut import cut
from builder.upstream.model import snapshot

PROBE = Path(__file__).parent / "cmake"
CMAKE = shutil.which("cmake")
pytestmark = [
    NEEDS_MIRROR,  # a release has no kernel tree
    pytest.mark.skipif(not CMAKE, reason="cmake is not installed"),
    pytest.mark.skipif(
        not (shutil.which("c++") and shutil.which("make")), reason="no C++ compiler, or no make"
    ),
]


@dataclass(frozen=True)
class Trees:
    """The files of sgl-kernel/ upstream and in the output."""

    upstream: Mapping[str, bytes]
    output: Mapping[str, bytes]


@pytest.fixture(scope="module")
def trees() -> Trees:
    manifest = load_default(ROOT / "manifest.yaml")
    done = cut(snapshot(upstream("seed", manifest, offline=True)), manifest)
    both = (
        {path: tree[path] for path in tree if path.startswith("sgl-kernel/")}
        for tree in (done.upstream, done.output)
    )
    return Trees(*both)


def configure(
    files: Mapping[str, bytes], folder: Path
) -> tuple[subprocess.CompletedProcess[str], Counter[str]]:
    """What CMake says about the project, and how many sources each library has."""
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    build = folder / "build"
    command = [str(CMAKE), "-S", str(PROBE), "-B", str(build), f"-DKERNEL={folder / 'sgl-kernel'}"]
    env = {**os.environ, "LC_ALL": "C", "CMAKE_GENERATOR": "Unix Makefiles"}
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=300)
    report = build / "libraries.txt"
    lines = report.read_text().splitlines() if report.exists() else []
    return done, Counter(line.partition("\t")[0] for line in lines)


def test_cmake_configures_the_output_and_finds_every_source(
    trees: Trees, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    counts = {}
    for name, files in (("upstream", trees.upstream), ("output", trees.output)):
        done, counts[name] = configure(files, tmp_path / name)
        assert done.returncode == 0, done.stdout[-1500:] + done.stderr[-3000:]
        assert "Generating done" in done.stdout
        # what is reported without CMake is what CMake itself reads
        assert counts[name] == {one.name: len(one.sources) for one in libraries(files)}
    before, after = units(trees.upstream), units(trees.output)
    assert set(counts["output"]) < set(counts["upstream"])
    assert after["own"] < before["own"] and after["fetched"] < before["fetched"] and not after["patterns"]
    with capsys.disabled():
        print(f"\ntranslation units: upstream {before}\ntranslation units: output {after}")


def test_a_source_that_is_listed_and_missing_is_noticed(trees: Trees, tmp_path: Path) -> None:
    own = next(s for one in libraries(trees.output) for s in one.own)
    done, _ = configure({p: d for p, d in trees.output.items() if p != own}, tmp_path)
    assert done.returncode != 0
    assert own.removeprefix("sgl-kernel/") in done.stderr


def test_text_that_cmake_cannot_read_is_noticed(trees: Trees, tmp_path: Path) -> None:
    top = "sgl-kernel/CMakeLists.txt"
    done, _ = configure({**trees.output, top: trees.output[top].replace(b"endif()", b"", 1)}, tmp_path)
    assert done.returncode != 0
