"""Every path gets a verdict from one rule, and every rule answers for itself."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from manifest_text import manifest
from yaml_cases import cases, lacking

from builder.errors import Mark
from builder.select.rules import package_folder, select

ONE = "python/pkg/models/one.py"


@pytest.mark.parametrize("case", list(cases("select.yaml")))
def test_a_path_has_the_verdict_that_the_page_shows(case: Mapping[str, Any]) -> None:
    stated = manifest(yaml.safe_dump(case["rules"], sort_keys=False))
    paths = [*case["paths"]] if any("models/one" in path for path in case["paths"]) else [*case["paths"], ONE]
    selection = select(paths, stated, tuple(case.get("within", ())))
    verdicts = {path: selection.decisions.get(path) for path in case["paths"]}
    assert {path: one and one.verdict for path, one in verdicts.items()} == case["paths"]
    for verdict in ("keep", "remove", "prune"):
        decided = tuple(sorted(path for path, one in selection.decisions.items() if one.verdict == verdict))
        assert selection.with_verdict(verdict) == decided
    said = [f"{p.code} {p.message} {p.upstream} {p.hint}" for p in selection.problems]
    assert lacking(said, case.get("problems", [])) == [], said
    assert all(p.mark for p in selection.problems if p.code != "R003")
    if "proposals" in case:
        proposed = [group.proposal for group in selection.unclassified]
        assert [[one.batch, one.verdict] for one in proposed if one] == case["proposals"]
    if "matches" in case:
        assert {rule.pattern: count for rule, count in selection.matches().items()} == case["matches"]
        radius = {rule.pattern: list(paths) for rule, paths in selection.radius().items()}
        assert radius == case["radius"]


def test_a_model_that_is_not_there_names_the_one_meant() -> None:
    it = manifest("keep: [python/]\nbatches: []\n")
    (problem,) = select(["python/pkg/models/ome.py"], it).problems
    assert (problem.code, problem.mark) == ("R001", Mark("manifest.yaml", 11, 40))
    assert problem.hint == "did you mean `ome`?"


_patterns = st.sampled_from(["a/", "a/b/", "a/b/c.py", "*.py", "a/*", "d.py", "a/**/d.py", "/e", "b/"])
_rules = st.lists(st.tuples(st.sampled_from(["remove", "prune", "keep"]), _patterns), min_size=1, max_size=5)
_paths = st.lists(
    st.lists(st.sampled_from(["a", "b", "c.py", "d.py", "e"]), min_size=1, max_size=4).map("/".join),
    max_size=12,
    unique=True,
)


def _text(rules: list[tuple[str, str]], without: int = -1) -> str:
    rows = [
        f"  - {{id: b{n}, why: w, {verdict}: ['{pattern}']}}\n"
        for n, (verdict, pattern) in enumerate(rules)
        if n != without
    ]
    return "batches:\n" + "".join(rows) if rows else "batches: []\n"


@settings(deadline=None)
@given(_rules, _paths)
def test_the_radius_of_a_rule_is_what_changes_without_it(
    rules: list[tuple[str, str]], paths: list[str]
) -> None:
    whole = select(paths, manifest(_text(rules)))
    for rule, alone in whole.radius().items():
        if rule.batch == "base":
            continue
        rest = select(paths, manifest(_text(rules, int(rule.batch[1:]))))
        changed = [
            path
            for path in sorted(paths)
            if (d := whole.decisions.get(path))
            and (path not in rest.decisions or rest.decisions[path].verdict != d.verdict)
        ]
        assert list(alone) == changed


@settings(deadline=None)
@given(_rules, _paths, st.randoms())
def test_the_order_of_the_paths_changes_nothing(
    rules: list[tuple[str, str]], paths: list[str], order: random.Random
) -> None:
    shuffled = order.sample(paths, len(paths))
    one, two = (select(p, manifest(_text(rules))) for p in (paths, shuffled))
    assert list(one.decisions) == list(two.decisions)
    assert one == two


@settings(deadline=None)
@given(_rules, _paths)
def test_every_path_is_decided_or_unclassified(rules: list[tuple[str, str]], paths: list[str]) -> None:
    selection = select(paths, manifest(_text(rules)))
    left = [path for group in selection.unclassified for path in group.paths]
    assert sorted([*selection.decisions, *left]) == sorted(paths)


def test_the_folder_of_a_package_follows_the_longest_import_name() -> None:
    it = manifest()
    assert package_folder(it, "pkg") == "python/pkg"
    assert package_folder(it, "pkg.a.b") == "python/pkg/a/b"
    assert package_folder(it, "other.a") == "other/a"
