"""The page of gains: made from its figures, with the ratios computed from both sides."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from small_world import ROOT, small_world

from benchmarks import gains
from builder import json_xz
from builder.manifest.load import load
from builder.upstream.model import Sources, snapshot
from builder.upstream.resolve import resolve


def sides(before: Any, after: Any) -> dict[str, Any]:
    return {"upstream": before, "output": after}


FOUND = {
    "runs": 3,
    "machine": {"python": "3.12.1", "system": "Linux x86_64", "cores": 2},
    "notes": ["Without an operator."],
    "pins": [
        {
            "pin": "seed",
            "version": "1.0",
            "output_tree": "0" * 40,
            "lines": sides(1000, 380),
            "files": sides(40, 10),
            "wheel": sides({"bytes": 5000, "files": 30}, {"bytes": 2000, "files": 9}),
            "import": sides(
                {"seconds": 8.0, "mb": 400.4, "modules": 3000, "own": 200},
                {"seconds": 4.0, "mb": 300.0, "modules": 2500, "own": 150, "largest": {"torch": 1.5}},
            ),
            "start": sides({"seconds": 9.0, "mb": 500.0}, {"seconds": 6.0, "mb": 400.0}),
        }
    ],
    "kernels": [
        {
            "from": {"name": "k-1.whl", "bytes": 500, "sha256": "0"},
            "wheel": {"name": "k-1+x.whl", "bytes": 125, "sha256": "1", "content_sha256": "2"},
            "members": {"before": 20, "after": 5},
            "unpacked_bytes": {"before": 900, "after": 300},
        }
    ],
}


def test_every_ratio_is_that_of_its_row() -> None:
    page = gains.page(FOUND)
    assert "| lines of code | 1,000 | 380 | 0.38 |" in page
    assert "| bytes of the wheel | 5,000 | 2,000 | 0.40 |" in page
    assert "| `import sglang.srt.server_args`, seconds | 8.00 | 4.00 | 0.50 |" in page
    assert "| `k-1+x.whl` | 500 | 125 | 0.25 | 900 | 300 | 20 | 5 |" in page
    assert "| `sglang.launch_server --help`, seconds | 9.00 | 6.00 | 0.67 |" in page
    assert "The largest parts of the import, output: torch 1.50 s." in page
    assert "Without an operator." in page and "medians of 3" in page


def test_medians_are_taken_figure_by_figure() -> None:
    runs = [{"seconds": s, "mb": m} for s, m in ((1.0, 30.0), (9.0, 10.0), (2.0, 20.0))]
    assert gains.medians(runs) == {"seconds": 2.0, "mb": 20.0}


def package(folder: Path, text: str) -> Path:
    home = folder / "sglang/srt"
    home.mkdir(parents=True)
    (home / "server_args.py").write_text(text)
    return folder


def test_an_import_is_timed_in_a_process_of_its_own(tmp_path: Path) -> None:
    tree = package(tmp_path / "tree", "import time\ntime.sleep(0.2)\n")
    found, said = gains.ran(sys.executable, "import", [tree], tmp_path, "-X", "importtime")
    assert found["seconds"] >= 0.2 and found["own"] == 3 and 1 < found["mb"] < 200
    assert next(iter(gains.largest(said))) == "sglang" and gains.largest(said)["sglang"] >= 0.2
    assert len(gains.largest(said)) == gains.LARGEST


def test_a_start_is_timed_up_to_its_help(tmp_path: Path) -> None:
    tree = package(tmp_path / "tree", "")
    (tree / "sglang/launch_server.py").write_text(
        "import sys, time\ntime.sleep(0.2)\nsys.exit(sys.argv[1])\n"
    )
    found, _ = gains.ran(sys.executable, "start", [tree], tmp_path)
    assert found["seconds"] >= 0.2


def test_figures_of_other_upstreams_stay() -> None:
    before = [{"pin": "b", "version": "2", "n": 1}, {"pin": "a", "version": "1", "n": 1}]
    found = gains.pins(before, ["b"], lambda pin: {"pin": pin, "version": "2", "n": 2})
    assert [(one["pin"], one["n"]) for one in found] == [("b", 2), ("a", 1)]


def test_the_wheels_of_both_sides_are_made_as_the_distribution_makes_its_own(tmp_path: Path) -> None:
    world = small_world(tmp_path)
    manifest = load(world.manifest)
    where = Sources.of(manifest, world.repository.path, tmp_path / "cache", True)
    upstream = resolve("seed", where)
    world.good("dist")
    (ours,) = (world.home / "dist").glob("*.whl")
    found = gains.wheel(snapshot(upstream), "1.2.3", upstream.commit, manifest)
    with zipfile.ZipFile(ours) as archive:
        assert found["files"] > len(archive.namelist()) > 10
    assert found["bytes"] > 1000


def test_a_tree_that_cannot_be_imported_stops_it_with_the_reason(tmp_path: Path) -> None:
    tree = package(tmp_path / "tree", "import not_there_at_all\n")
    with pytest.raises(SystemExit, match="not_there_at_all"):
        gains.ran(sys.executable, "import", [tree], tmp_path)


def test_the_page_in_docs_is_that_of_its_figures() -> None:
    figures = json_xz.read(ROOT / "docs/gains.json.xz")
    assert (ROOT / "docs/gains.md").read_text() == gains.page(figures)


def test_an_upstream_may_have_a_python_of_its_own() -> None:
    given = ["/all/python", "b=/other/python"]
    assert gains.python_of("a", given) == "/all/python"
    assert gains.python_of("b", given) == "/other/python"
    assert gains.python_of("a", []) == sys.executable
