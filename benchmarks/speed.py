"""Makes docs/speed.md from docs/speed.json, which `python benchmarks/run.py --json` prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1] / "docs"
_HEAD = """\
# How long a build takes

<!-- Made by benchmarks/speed.py from docs/speed.json: run it again, do not edit. -->

Measured by `python benchmarks/run.py --runs {runs} --stages --json > docs/speed.json` on upstream {commit}:
medians of {runs} runs on an idle machine with {cores} cores. "x parse" is processor time as a multiple of the
case that only reads upstream and parses the Python that may stay. Cold means an empty cache; the cases after
it start from what the cold build left there.

| | wall, s | processor time, s | memory, MB | x parse |
| --- | --- | --- | --- | --- |
"""
_ROW = "| {name} | {wall_s:.1f} | {cpu_s:.1f} | {peak_mb:.0f} | {ratio:.1f} |"


def page(measured: dict[str, Any]) -> str:
    """The page of one measurement."""
    rows = [_ROW.format(name=name.replace("|", "\\|"), **case) for name, case in measured["cases"].items()]
    head = _HEAD.format(runs=measured["runs"], commit=measured["commit"][:12], cores=measured["cores"])
    stages = measured["stages_cpu_s"]
    table = ["", "## Stages of a cold cut", "", "| stage | processor time, s |", "| --- | --- |"]
    table += [f"| {name} | {seconds:.1f} |" for name, seconds in stages.items()]
    return head + "\n".join([*rows, *(table if stages else ())]) + "\n"


if __name__ == "__main__":
    (DOCS / "speed.md").write_text(page(json.loads((DOCS / "speed.json").read_text())))
