"""The result as an in-toto statement (v1) with a test-result predicate (v0.1), unsigned."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from verification.results import FAILED, NOT_RUN, PASSED, Check, passed
from verification.subjects import Output, Subject

NAME = "verification.json"
PREDICATE = "https://in-toto.io/attestation/test-result/v0.1"


def statement(
    output: Output,
    upstream: Subject,
    ours: Subject,
    checks: Sequence[Check],
    left_out: Mapping[str, str],
    harness: Mapping[str, str],
    packages: Mapping[str, str] = MappingProxyType({}),
) -> bytes:
    """The evidence: what was tested, against what, by what, and what came of it.

    `left_out` maps what did not run to the reason; `harness` names the harness's digest, its commit where one
    holds it, and versions. `packages` maps the files that made the environment to their SHA-256.
    """
    subject: list[dict[str, Any]] = [{"name": "tree", "digest": {"gitTree": ours.tree}}]
    if output.wheel:
        subject.append({"name": output.wheel, "digest": {"sha256": output.wheel_sha256}})

    def names(verdict: str) -> list[str]:
        return [
            f"{check.name}/{case.name}" for check in checks for case in check.cases if case.verdict == verdict
        ]

    files = {"requirements.txt": harness["requirements"]} if "requirements" in harness else {}
    files |= dict(sorted(packages.items()))
    broken = [check.name for check in checks if check.lines]
    predicate = {
        "result": "PASSED" if passed(checks) and not left_out else "FAILED" if _failed(checks) else "WARNED",
        "configuration": [
            {"name": "upstream", "digest": {"gitTree": upstream.tree}},
            {"name": "harness", "digest": _digests(harness)},
            *({"name": name, "digest": {"sha256": digest}} for name, digest in files.items()),
        ],
        "passedTests": names(PASSED),
        "warnedTests": names(NOT_RUN),
        "failedTests": [*names(FAILED), *broken],
        "checks": [_check(check) for check in checks],
        "leftOut": dict(sorted(left_out.items())),
        "machine": {
            key: value
            for key, value in sorted(harness.items())
            if key not in ("digest", "commit", "requirements")
        },
    }
    whole = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subject,
        "predicateType": PREDICATE,
        "predicate": predicate,
    }
    text = json.dumps(whole, indent=1, ensure_ascii=False)
    return (_without_places(text) + "\n").encode()


def _without_places(text: str) -> str:
    """A text without the folders of the machine that made it."""
    for folder, name in ((Path(__file__).parents[1], "<project>"), (Path.home(), "~")):
        if folder != Path(folder.anchor):  # a home may be the root of the file system
            text = text.replace(f"{folder}/", f"{name}/")
    return text


def _digests(harness: Mapping[str, str]) -> dict[str, str]:
    commit = harness.get("commit")
    return {"sha256": harness["digest"], **({"gitCommit": commit} if commit else {})}


def _failed(checks: Sequence[Check]) -> bool:
    return any(check.verdict == FAILED for check in checks)


def _check(check: Check) -> dict[str, Any]:
    told = [
        {
            "name": case.name,
            "verdict": case.verdict,
            **({"lines": list(case.lines)} if case.lines else {}),
            **({"figures": dict(case.figures)} if case.figures else {}),
        }
        for case in check.cases
        if case.lines or case.figures
    ]
    return {
        "name": check.name,
        "verdict": check.verdict,
        "counts": check.counts,
        **({"lines": list(check.lines)} if check.lines else {}),
        "cases": told,
    }
