"""The pages of `gates/` show files upstream and in the output, and what a gate says of them.

Paths are those of the package, or with a slash those of the tree. A case has the files `before`, and what
the output has `after`: another text, what replaces parts of it, or null where a rule of batch `models`
removes it. `also` are files of both. `batches` and `guarantees` are the manifest's. Each of the `problems`
has texts of its message, hint, excerpt and places.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from gate_worlds import PACKAGES, no_account, rule, snapshot
from manifest_text import manifest
from yaml_cases import cases, changed, lacking

from builder.analysis.indexed_tree import world
from builder.analysis.removals import index_removals
from builder.analysis.surface_diff import Surfaces, compare
from builder.errors import Problem
from builder.gates import extensions, words
from builder.gates.surface import problems
from builder.manifest.model import Manifest
from builder.pipeline.verify import TREE_GATES
from builder.surface.extract import surface
from builder.tree import Snapshot


def path_of(path: str) -> str:
    return path[1:] if path.startswith("/") else f"python/pkg/{path}"


def trees(case: Mapping[str, Any]) -> tuple[Snapshot, Snapshot]:
    texts: dict[str, Any] = {path_of(path): text for path, text in case["before"].items()}
    made = []
    for key in ("also", "after"):
        for path, text in case.get(key, {}).items():
            texts[path_of(path)] = changed(texts.get(path_of(path)), text)
        made.append(snapshot({path: text for path, text in texts.items() if text is not None}))
    return made[0], made[1]


def stated(case: Mapping[str, Any]) -> Manifest:
    parts = {"batches": case.get("batches", []), "guarantees": case.get("guarantees")}
    overlays = {path: text.encode() for path, text in case.get("overlays", {}).items()}
    return manifest(
        yaml.dump({k: v for k, v in parts.items() if v is not None}, Dumper=yaml.CSafeDumper), overlays
    )


def removed(case: Mapping[str, Any]) -> dict[str, Any]:
    return {path_of(path): rule(path) for path, text in case.get("after", {}).items() if text is None}


def told(found: list[Problem], texts: list[list[str]], code: str) -> None:
    """Each problem has its code and the texts."""
    said = [f"{p.message}\n{p.hint}\n{p.excerpt}\n{p.mark}\n{p.upstream}" for p in found]
    assert [p.code for p in found] == [code] * len(texts), said
    assert lacking(said, texts) == [], said


PAGES = [f"gates/{name}.yaml" for name in ("trees", "packaging", "guarantees", "surface", "extensions")]


@pytest.mark.parametrize("case", list(cases(*PAGES)))
def test_a_gate_says_what_its_page_shows(case: Mapping[str, Any]) -> None:
    before, after = trees(case)
    asked, gate = stated(case), case["gate"]
    removals = index_removals(asked, removed(case), case.get("proved", {}))
    worlds = world(before, PACKAGES), world(after, PACKAGES)
    if gate == "G006":
        surfaces = compare(before, surface(before, PACKAGES), after, asked, removals, no_account)
        expect(case, surfaces)
        told(problems(surfaces, worlds[1]), case.get("problems", []), gate)
    elif gate == "extensions":
        told(extensions.check(*worlds, asked, removals), case.get("problems", []), "G008")
    elif gate == "words":
        told(words.check(worlds[1], asked), case.get("problems", []), "G007")
    else:
        told(TREE_GATES[gate](*worlds, asked, removals), case.get("problems", []), gate)


def expect(case: Mapping[str, Any], surfaces: Surfaces) -> None:
    """The differences of two surfaces are those of the case, as far as it tells."""
    found = surfaces.differences
    if "differences" in case:
        assert [[d.change, d.detail or "", d.before, d.after] for d in found] == case["differences"]
    if case.get("causes") is not None:
        assert [[cause.batch for cause in each.causes] for each in found] == case["causes"]
    rules = "".join(f"{cause.rule} {cause.mark}\n" for each in found for cause in each.causes)
    assert [text for text in case.get("rules", []) if text not in rules] == [], rules
