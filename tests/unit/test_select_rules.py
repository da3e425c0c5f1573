"""Every path gets a verdict from one rule, and every rule answers for itself."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from manifest_text import HEAD, manifest

from builder.errors import Mark, Problem
from builder.select.rules import Selection, package_folder, select
from builder.tree import FILE, Entry, Tree

ONE = "python/pkg/models/one.py"


def tree(*paths: str) -> Tree:
    return Tree({path: Entry(FILE, "0" * 40) for path in (*paths, ONE)})


def chosen(rules: str, *paths: str, within: tuple[str, ...] = ()) -> Selection:
    return select(tree(*paths), manifest(rules), within)


def verdicts(selection: Selection) -> dict[str, str]:
    return {path: d.verdict for path, d in selection.decisions.items() if path != ONE}


def coded(selection: Selection, code: str) -> list[Problem]:
    return [problem for problem in selection.problems if problem.code == code]


def test_the_last_rule_that_matches_decides() -> None:
    selection = chosen(
        "keep: [python/]\nbatches:\n"
        "  - {id: a, why: w, remove: [python/x/], keep: [python/x/k.py]}\n"
        "  - {id: b, why: w, prune: [python/y/]}\n",
        "python/x/a.py",
        "python/x/k.py",
        "python/y/a.py",
        "python/z.py",
    )
    assert verdicts(selection) == {
        "python/x/a.py": "remove",
        "python/x/k.py": "keep",
        "python/y/a.py": "prune",
        "python/z.py": "keep",
    }
    assert selection.problems == ()
    assert selection.with_verdict("remove") == ("python/x/a.py",)
    assert selection.with_verdict("prune") == ("python/y/a.py",)
    assert selection.with_verdict("keep") == (ONE, "python/x/k.py", "python/z.py")
    rule = selection.decisions["python/x/a.py"].rule
    assert (rule.batch, rule.pattern) == ("a", "python/x/")


def test_the_order_of_lists_inside_a_batch_is_not_the_order_of_deciding() -> None:
    rules = "batches:\n  - id: a\n    why: w\n    keep: [python/x/k.py]\n    remove: [python/]\n"
    assert verdicts(chosen(rules, "python/x/k.py"))["python/x/k.py"] == "keep"


def test_the_files_of_a_kept_model_are_kept_whatever_a_batch_says() -> None:
    selection = chosen("batches: [{id: a, why: w, remove: [python/]}]\n", "python/pkg/models/two.py")
    assert selection.decisions[ONE].verdict == "keep"
    assert selection.decisions[ONE].rule.mark == Mark("manifest.yaml", 11, 40)
    assert selection.with_verdict("remove") == ("python/pkg/models/two.py",)
    assert selection.problems == ()


def test_a_model_that_is_a_package_is_kept_whole() -> None:
    it = manifest("batches: [{id: a, why: w, remove: [python/]}]\n")
    selection = select(["python/pkg/models/one/a.py", "python/pkg/models/one/b/c.py", "python/x"], it)
    assert selection.with_verdict("keep") == ("python/pkg/models/one/a.py", "python/pkg/models/one/b/c.py")


def test_a_model_that_is_not_there_names_the_one_meant() -> None:
    it = manifest("keep: [python/]\nbatches: []\n")
    (problem,) = select(["python/pkg/models/ome.py"], it).problems
    assert (problem.code, problem.mark) == ("R001", Mark("manifest.yaml", 11, 40))
    assert problem.hint == "did you mean `ome`?"


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [
        ("pyhton/pkg/", "did you mean `python/pkg/`?"),
        ("python/pkg/model/", "did you mean `python/pkg/models/`?"),
        ("python/pkg/layers/memory_pol.py", "did you mean `python/pkg/layers/memory_pool.py`?"),
        ("python/pkg/models/memory_pool.py", "did you mean `python/pkg/layers/memory_pool.py`?"),
        ("python/pkg/zzz/", None),
        ("*.rs", None),
    ],
)
def test_a_pattern_that_matches_nothing_is_told_with_what_was_meant(pattern: str, hint: str | None) -> None:
    rules = f"keep: [python/]\nbatches:\n  - id: a\n    why: w\n    remove: ['{pattern}']\n"
    (problem,) = chosen(rules, "python/pkg/layers/memory_pool.py").problems
    assert (problem.code, problem.hint) == ("R001", hint)
    assert problem.mark == Mark("manifest.yaml", HEAD.count("\n") + 5, 14)


def test_a_pattern_in_another_unicode_form_is_told_as_such() -> None:
    rules = 'keep: ["python/e\\u0301.py", python/]\nbatches: []\n'
    (problem,) = chosen(rules, "python/\u00e9.py").problems
    assert "Unicode form" in (problem.hint or "")


def test_a_pattern_may_match_nothing_when_it_says_why() -> None:
    rules = "keep: [python/, {path: gone/, optional: an example}]\nbatches: []\n"
    assert chosen(rules).problems == ()


def test_an_upstream_that_has_only_one_folder_excuses_the_rules_on_others() -> None:
    rules = "keep: [python/, sgl-kernel/, python/none/, '*.md']\nbatches: []\n"
    assert len(chosen(rules).problems) == 3
    (problem,) = chosen(rules, within=("python/",)).problems
    assert "python/none/" in problem.message


def test_a_batch_that_keeps_what_another_removes_is_a_contradiction() -> None:
    rules = (
        "keep: [python/]\nbatches:\n"
        "  - {id: a, why: w, remove: [python/x/]}\n"
        "  - {id: b, why: w, keep: [python/x/k.py]}\n"
    )
    (problem,) = chosen(rules, "python/x/k.py", "python/x/l.py").problems
    assert problem.code == "R002"
    assert problem.mark == Mark("manifest.yaml", HEAD.count("\n") + 4, 28)
    assert "`python/x/k.py`" in problem.message
    assert f"line {HEAD.count(chr(10)) + 3}" in problem.message


def test_one_contradiction_is_one_problem_however_many_paths_it_has() -> None:
    rules = "batches:\n  - {id: a, why: w, remove: [python/]}\n  - {id: b, why: w, keep: [python/x/]}\n"
    (problem,) = chosen(rules, *(f"python/x/{n}.py" for n in range(9))).problems
    assert "and 6 more" in problem.message


def test_an_unclassified_path_stops_with_what_its_neighbours_do() -> None:
    rules = "keep: [python/pkg/models/]\nbatches:\n  - {id: tests, why: w, remove: [test/a/, test/b/]}\n"
    selection = chosen(rules, "test/a/x", "test/b/y", "test/new/deep/z1", "test/new/z2")
    (problem,) = coded(selection, "R003")
    assert problem.message == "No rule decides 2 paths in `test/new/`: `test/new/deep/z1`, `test/new/z2`."
    assert problem.upstream == Mark("test/new/deep/z1")
    assert "propose `remove: test/new/`" in (problem.hint or "")
    (group,) = selection.unclassified
    assert group.proposal is not None
    assert (group.proposal.batch, group.proposal.verdict) == ("tests", "remove")
    assert "test/new/z2" not in selection.decisions


def test_an_unclassified_file_beside_decided_ones_is_proposed_by_name() -> None:
    rules = "keep: [python/pkg/models/, python/a.py, python/b.py]\nbatches: []\n"
    (problem,) = chosen(rules, "python/a.py", "python/b.py", "python/c.py").problems
    assert problem.message == "No rule decides `python/c.py`."
    assert "propose `keep: python/c.py`" in (problem.hint or "")


def test_an_unclassified_folder_at_the_root_is_not_judged_by_what_lies_deep_elsewhere() -> None:
    (problem,) = chosen("keep: [python/]\nbatches: []\n", "new/a", "new/b").problems
    assert "no path beside it is decided" in (problem.hint or "")


def test_each_rule_counts_what_it_matches_and_what_it_alone_decides() -> None:
    selection = chosen(
        "keep: [python/]\nbatches:\n"
        "  - {id: a, why: w, remove: [python/x/, python/x/y/]}\n"
        "  - {id: b, why: w, remove: [python/x/y/z.py]}\n",
        "python/x/a.py",
        "python/x/y/b.py",
        "python/x/y/z.py",
    )
    counts = {rule.pattern: count for rule, count in selection.matches().items()}
    assert counts == {"python/": 4, "python/x/": 3, "python/x/y/": 2, "python/x/y/z.py": 1, ONE: 1}
    radius = {rule.pattern: paths for rule, paths in selection.radius().items()}
    assert radius == {
        "python/": (),
        "python/x/": ("python/x/a.py",),
        "python/x/y/": (),
        "python/x/y/z.py": (),
        ONE: (),
    }


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
