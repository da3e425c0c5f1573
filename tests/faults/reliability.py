"""Runs the tests of the groups of faults and writes docs/reliability.md from what came of them.

    python tests/faults/reliability.py [--group GROUP] [PYTEST ARGUMENTS]
    python tests/faults/reliability.py --render

HYPOTHESIS_PROFILE=long tries hundreds of faults where the default tries a few. A run of some groups keeps
the figures of the others. Writes docs/reliability.json.xz, and the page from it; --render only the page.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

from groups import GROUPS, groups_of  # noqa: E402

from builder import json_xz  # noqa: E402

FIGURES = ROOT / "docs/reliability.json.xz"
PAGE = ROOT / "docs/reliability.md"
_RESULTS = ("passed", "failed", "skipped")
_HEAD = """\
# What the builder holds under

<!-- Made by tests/faults/reliability.py from docs/reliability.json.xz: run it again, do not edit. -->

Each group of faults is tried by tests; `tests/faults/groups.yaml` says by which. A case is one fault that was
tried, or one test: a random test counts once. A group was run with HYPOTHESIS_PROFILE `default` or, where it
tries hundreds of faults, `long`. Run with Python {python}, {system}.

| group | faults | what must come of them | tests | cases | profile | result |
| --- | --- | --- | ---: | ---: | --- | --- |
"""


def nodes(stated: Iterable[str]) -> Iterator[str]:
    """The arguments of pytest for the tests of a group. Raises ValueError for one that names none."""
    for test in stated:
        file, _, start = test.partition("::")
        path = ROOT / "tests" / file
        if not start:
            if not path.exists():
                raise ValueError(f"no tests are in {file}")
            yield f"tests/{file}"
            continue
        names = re.findall(rf"^def ({re.escape(start)}\w*)\(", path.read_text("utf-8"), re.M)
        if not names:
            raise ValueError(f"no test is {test}")
        yield from (f"tests/{file}::{name}" for name in names)


class Recorder:
    """A plugin of pytest that counts the tests, cases and results of each group."""

    def __init__(self) -> None:
        self.counts: dict[str, Counter[str]] = {}
        self.reasons: dict[str, set[str]] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when != "call" and report.passed:
            return  # a fixture; a failed or skipped one stands for its test
        cases = int(dict(report.user_properties).get("cases", 1))
        for group in groups_of(report.nodeid):
            counts = self.counts.setdefault(group, Counter())
            counts["tests"] += 1
            counts["cases"] += cases if report.passed else 0
            counts[report.outcome] += 1
            if report.skipped:
                self.reasons.setdefault(group, set()).add(str(report.longrepr[2]).removeprefix("Skipped: "))

    def groups(self, profile: str) -> dict[str, Any]:
        return {
            name: {key: counts[key] for key in ("tests", "cases", *_RESULTS)}
            | {"profile": profile, "reasons": sorted(self.reasons.get(name, ()))}
            for name, counts in self.counts.items()
        }


def page(figures: Mapping[str, Any]) -> str:
    """docs/reliability.md from docs/reliability.json.xz."""
    rows, total = [], Counter[str]()
    for name, group in GROUPS.items():
        counts = figures["groups"].get(name)
        if counts is None:
            rows.append(f"| {name} | {group.title} | {group.holds} | 0 | 0 | | not run |")
            continue
        total.update({key: counts[key] for key in ("tests", "cases", *_RESULTS)})
        tests, cases = f"{counts['tests']:,}", f"{counts['cases']:,}"
        run = f"{tests} | {cases} | {counts['profile']} | {_result(counts)}"
        rows.append(f"| {name} | {group.title} | {group.holds} | {run} |")
    rows.append(f"| | **all** | | {total['tests']:,} | {total['cases']:,} | | {_result(total)} |")
    parts = [_HEAD.format(**figures) + "\n".join(rows) + "\n"]
    skipped = [
        f"- {name}: {reason}"
        for name in GROUPS
        for reason in figures["groups"].get(name, {}).get("reasons", ())
    ]
    if skipped:
        parts.append("## What was skipped in this run\n\n" + "\n".join(skipped) + "\n")
    apart = [f"- {name}: {group.apart}." for name, group in GROUPS.items() if group.apart]
    parts.append("## What is not tried, and why\n\n" + "\n".join(apart) + "\n")
    return "\n".join(parts)


def _result(counts: Mapping[str, Any]) -> str:
    told = [f"{counts[key]:,} {key}" for key in _RESULTS[1:] if counts[key]]
    return ", ".join(told) if counts["failed"] else ", ".join(["holds", *told])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--render", action="store_true", help="only make the page again, from the figures")
    parser.add_argument("--group", action="append", choices=list(GROUPS), help="only this group")
    given, more = parser.parse_known_args()
    status = 0
    if not given.render:
        import pytest

        chosen = given.group or list(GROUPS)
        tests = sorted({node for name in chosen for node in nodes(GROUPS[name].tests)})
        recorder = Recorder()
        status = int(pytest.main(["--rootdir", str(ROOT), *more, *tests], plugins=[recorder]))
        before = json_xz.read(FIGURES)["groups"] if given.group and FIGURES.exists() else {}
        profile = os.environ.get("HYPOTHESIS_PROFILE", "default")
        fresh = {name: counts for name, counts in recorder.groups(profile).items() if name in chosen}
        record = {
            "python": platform.python_version(),
            "system": f"{platform.system()} {platform.machine()}",
            "groups": before | fresh,
        }
        json_xz.write(FIGURES, record)
    PAGE.write_text(page(json_xz.read(FIGURES)), "utf-8")
    print(PAGE)
    return status


if __name__ == "__main__":
    sys.exit(main())
