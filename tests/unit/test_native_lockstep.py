"""Removed native files take their sources, declarations and bindings along, and nothing else: native.yaml.

A case has the files that are `removed`, after `changes` of upstream. It tells which files are `changed` then,
what they say and lack, the problems, and the `findings` of the gate that upstream does not have.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from yaml_cases import cases, changed, lacking, load

from builder.errors import Problem
from builder.native.gate import check, new
from builder.native.lockstep import follow

ROOT = "sgl-kernel"
FILES: dict[str, str] = load("native.yaml")["files"]


def encoded(files: Mapping[str, str]) -> dict[str, bytes]:
    return {path: text.encode() for path, text in files.items()}


def told(problems: list[Problem], wanted: list[list[str]]) -> None:
    said = [f"{p.code} {p.message} {p.hint} {p.upstream}" for p in problems]
    assert lacking(said, wanted) == [], said


@pytest.mark.parametrize("case", list(cases("native.yaml")))
def test_what_follows_is_what_the_page_shows(case: Mapping[str, Any]) -> None:
    changes = {f"{ROOT}/{path}": text for path, text in case.get("changes", {}).items()}
    upstream = encoded({**FILES, **{path: changed(FILES.get(path), text) for path, text in changes.items()}})
    gone = {f"{ROOT}/{path}": "batch-a" for path in case["removed"]}
    kept = {path: data for path, data in upstream.items() if path not in gone}
    followed = follow(kept, upstream, gone)
    after = {**kept, **followed.files}
    assert follow(after, upstream, gone).files == {}
    told(list(followed.problems), case.get("problems", []))
    texts = {path.removeprefix(f"{ROOT}/"): data.decode() for path, data in after.items()}
    for path, some in case.get("says", {}).items():
        assert [text for text in some if text not in texts[path]] == [], texts[path]
    for path, some in case.get("lacks", {}).items():
        assert [text for text in some if text in texts[path]] == [], texts[path]
    if "changed" in case:
        assert sorted(followed.files) == [f"{ROOT}/{path}" for path in case["changed"]]
    if "consequences" in case:
        assert {(c.what, c.batch) for c in followed.consequences} >= {
            (what, "batch-a") for what in case["consequences"]
        }
    if "findings" in case:
        before = check(encoded(FILES))
        found = check(after)
        known = {finding.key for finding in before}
        assert sorted({f"{f.kind} {f.name}" for f in found if f.key not in known}) == case["findings"]
        if "gate" in case:
            told(new(found, before), case["gate"])
