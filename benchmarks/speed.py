"""Makes docs/speed.md from docs/speed.json.xz.

`python benchmarks/run.py --json | python benchmarks/speed.py -` keeps a new measurement there first."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from builder import json_xz  # noqa: E402

DOCS = ROOT / "docs"
_HEAD = """\
# How long a build takes

<!-- Made by benchmarks/speed.py from docs/speed.json.xz: run it again, do not edit. -->

Measured by `python benchmarks/run.py --runs {runs} --stages --tests --json | python benchmarks/speed.py -` on
a machine with {cores} cores: medians of the runs. "x parse" is processor time as a multiple of the case that
only reads upstream and parses the Python that may stay. "Proven" means that the record is applied, "cold"
that nothing is remembered of earlier builds. The cases after the cold cut start from what it left.
"""
_TABLE = """
## {pin}

| | wall, s | processor time, s | memory, MB | x parse |
| --- | --- | --- | --- | --- |
"""
_ROW = "| {name} | {wall_s:.1f} | {cpu_s:.1f} | {peak_mb:.0f} | {ratio:.1f} |"


def page(measured: dict[str, Any]) -> str:
    """The page of one measurement."""
    parts = [_HEAD.format(runs=measured["runs"], cores=measured["cores"])]
    for one in measured["pins"]:
        rows = [_ROW.format(**case) for case in one["cases"]]
        parts += [_TABLE.format(pin=one["pin"]), "\n".join(rows), "\n"]
        if one["stages_cpu_s"]:
            stages = [f"| {name} | {seconds:.1f} |" for name, seconds in one["stages_cpu_s"]]
            parts.append(
                "\n".join(["", "| stage of a cut | processor time, s |", "| --- | --- |", *stages, ""])
            )
    if tests := measured["tests"]:
        minutes = (
            f"{tests['cpu_s'] / 60:.1f} minutes of processor time, {tests['wall_s'] / 60:.1f} on the clock"
        )
        parts.append(f"\n## The tests\n\n`make test` takes {minutes}.\n")
    return "".join(parts)


if __name__ == "__main__":
    if sys.argv[1:] == ["-"]:
        json_xz.write(DOCS / "speed.json.xz", json.load(sys.stdin))
    (DOCS / "speed.md").write_text(page(json_xz.read(DOCS / "speed.json.xz")))
