"""Upstream's own tests end the same against both trees, test by test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from verification.declared import Declared
from verification.probe_runner import ProbeRunner
from verification.results import FAILED, NOT_RUN, PASSED, Case, Check
from verification.subjects import Subject
from verification.suite import File

GOOD = ("passed", "skipped")


def check(
    asker: ProbeRunner, upstream: Subject, ours: Subject, files: Iterable[File], declared: Declared
) -> Check:
    """Run the files against both trees; `upstream`'s folder must have them."""
    listed = [asdict(file) for file in files]
    question = {
        "mode": "numbers", "capability": [9, 0], "devices": 1, "source": str(upstream.folder), "files": listed
    }  # fmt: skip
    answers, lines = asker.both("suite", (upstream, ours), question, "the tests against")
    if lines:
        return Check("suite", (), lines)
    theirs, mine = (values["files"] for values in answers)
    cases = [
        case(file["path"], theirs.get(file["path"]), mine.get(file["path"]), declared.lost_tests)
        for file in listed
    ]
    met = {test for each in cases for test in each.figures.get("declared", ())}
    # a release has no tests: then none can be lost
    unmet = sorted(set(declared.lost_tests) - met) if any(each.figures for each in cases) else []
    return Check(
        "suite", tuple(cases), tuple(f"'{test}' is declared to be lost, and is not" for test in unmet)
    )


def case(
    path: str,
    theirs: Mapping[str, Sequence[str]] | None,
    mine: Mapping[str, Sequence[str]] | None,
    lost: Mapping[str, str],
) -> Case:
    """Compare how the tests of one file ended. A test in `lost` may end in any way against ours."""
    if theirs is None or mine is None:
        return Case(path, NOT_RUN, ("this upstream does not have it",))
    used, lines = [], []
    for test in sorted({*theirs, *mine}):
        one, two = theirs.get(test, ["not there", ""]), mine.get(test, ["not there", ""])
        if one[0] == two[0]:
            continue
        name = next((part for part in test.split("::") if part in lost), None)
        if name is not None:
            used.append(name)
            continue
        if two[0] in GOOD and one[0] not in GOOD:
            continue  # ours does better
        lines.append(
            f"{test.removeprefix(path).removeprefix('::')}: upstream {one[0]}, ours {two[0]}: {two[1]}"
        )
    figures: dict[str, Any] = {
        "upstream": dict(Counter(each[0] for each in theirs.values())),
        "ours": dict(Counter(each[0] for each in mine.values())),
        "declared": sorted(set(used)),
    }
    if lines:
        return Case(path, FAILED, tuple(lines), figures)
    ran = any(each[0] == "passed" for each in mine.values())
    return Case(path, PASSED if ran else NOT_RUN, () if ran else _why(mine), figures)


def _why(found: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    return tuple(sorted({f"{each[0]} in both trees: {each[1]}" for each in found.values()}))[:3]
