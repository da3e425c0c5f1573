"""The pure half of benchmarks/closure.py: reports of pip read, compared and told."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarks import closure
from builder import json_xz


def report(packages: Mapping[str, tuple[str, list[str]]]) -> dict[str, Any]:
    install = [
        {"metadata": {"name": name, "version": version, "requires_dist": requires}}
        for name, (version, requires) in packages.items()
    ]
    return {"install": install, "environment": {"python_version": "3.12", "sys_platform": "linux"}}


OLD = closure.read(
    report(
        {
            "Blob_File": ("3.0", ["lxml>=4", "filelock", "pywin32; sys_platform == 'win32'"]),
            "lxml": ("6.1", []),
            "filelock": ("4.0", []),
            "torch": ("2.9", ["filelock", "triton; python_version < '3.13'", "opt; extra == 'more'"]),
            "triton": ("3.5", []),
        }
    )
)
NEW = closure.read(report({"torch": ("2.9", ["filelock"]), "filelock": ("4.1", []), "ours": ("1", [])}))
BEFORE = ("blob.file==3.0", "torch")
ABOUT = {"pin": "seed", "upstream": "0123abc", "pip": "26", "markers": "3.12.1"}


def test_a_report_is_read_with_normal_names_and_the_requirements_that_hold_here() -> None:
    assert OLD.packages["blob-file"] == "3.0"
    assert OLD.requires["blob-file"] == ("filelock", "lxml")
    assert OLD.requires["torch"] == ("filelock", "triton")


def test_what_leaves_is_blamed_on_the_requirement_that_brought_it() -> None:
    assert OLD.behind("lxml", {"blob-file", "torch"}) == "blob-file"
    assert OLD.behind("triton", {"blob-file", "torch"}) == "torch"
    assert OLD.behind("blob-file", {"blob-file"}) == "blob-file"


def test_the_section_holds_counts_sizes_and_everything_that_differs() -> None:
    sides = closure.Sides(OLD, NEW, {"st-attn": "no wheel at https://index.example/simple"})
    text = closure.render(sides, BEFORE, {"lxml": 5_000_000, "blob-file": 250_000}, ["lxml.etree"], ABOUT)
    assert "| upstream | 5 | |" in text and "| the distribution | 3 | |" in text
    assert "| leave | 3 | 5.2 MB |" in text
    rows = [line for line in text.splitlines() if line.startswith("| ")][8:]
    assert rows == [
        "| lxml | 6.1 | 5,000,000 | blob-file |",
        "| blob-file | 3.0 | 250,000 | sglang |",
        "| triton | 3.5 | not known | torch |",
    ]
    assert "- What comes: ours 1." in text
    assert "- What is at another version: filelock 4.0 -> 4.1." in text
    assert "- What is imported, and its package leaves: lxml.etree." in text
    assert "index.example" not in text and "st-attn (no wheel at (address))" in text


def test_a_module_is_lost_when_only_the_old_closure_has_its_package() -> None:
    sides = closure.Sides(OLD, NEW, {})
    imports = {
        "lxml.etree": ("lxml",),
        "filelock": ("filelock",),
        "x": ("never-there",),
        "t": ("triton", "torch"),
    }
    assert closure.lost(sides, imports) == ["lxml.etree"]


def pip(tmp_path: Path, script: str) -> str:
    """A Python that is asked to be pip and does what the script says."""
    path = tmp_path / "python"
    path.write_text(f"#!{sys.executable}\nimport json, sys, pathlib\nwords = sys.argv[1:]\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_a_requirement_without_a_wheel_leaves_both_sides_and_is_told(tmp_path: Path) -> None:
    packages = report({"torch": ("2.9", [])})
    fake = pip(
        tmp_path,
        "wanted = pathlib.Path(words[words.index('--requirement') + 1]).read_text()\n"
        "if 'st_attn' in wanted:\n"
        "    print('ERROR: No matching distribution found for helper==9 (from st-attn)', file=sys.stderr)\n"
        "    sys.exit(1)\n"
        f"pathlib.Path(words[words.index('--report') + 1]).write_text({json.dumps(json.dumps(packages))})",
    )
    sides = closure.both(fake, ["torch", "st_attn ==0.0.7"], ["torch"], tmp_path)
    assert list(sides.left_out) == ["st-attn"] and "helper==9" in sides.left_out["st-attn"]
    assert sides.before.packages == {"torch": "2.9"}


@pytest.mark.parametrize(
    ("output", "requirement"),
    [
        ("ERROR: No matching distribution found for x==1\n", "x"),
        ("ERROR: ResolutionImpossible: for help visit https://pip.example\n", ""),
        ("", ""),
    ],
)
def test_what_pip_cannot_do_is_said_in_its_words(output: str, requirement: str) -> None:
    found = closure.failure(output)
    assert found.requirement == requirement and str(found)


def test_a_conflict_stops_it(tmp_path: Path) -> None:
    fake = pip(tmp_path, "print('ERROR: Cannot install a and b', file=sys.stderr); sys.exit(1)")
    with pytest.raises(closure.Unresolved, match="Cannot install a and b"):
        closure.both(fake, ["a", "b"], ["a"], tmp_path)


def test_its_help_needs_no_builder_and_no_network() -> None:
    done = subprocess.run(
        [sys.executable, closure.__file__, "--help"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0 and "seed release" in done.stdout


def test_the_page_in_docs_is_that_of_its_figures() -> None:
    docs = Path(closure.__file__).parents[1] / "docs"
    figures = json_xz.read(docs / "closure.json.xz")
    assert (docs / "closure.md").read_text() == closure.from_figures(figures)
