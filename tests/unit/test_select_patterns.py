"""Patterns mean what pathspec says they mean."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pathspec import PathSpec

from builder.manifest.paths import pattern_fault
from builder.select.patterns import PatternSet, literal_folder, matches

_name = st.sampled_from(["a", "b", "ab", "a.py", "test_a.py", "x-y", "é", "B", "a+b", "(a)", "a$", "{a}"])
_glob = _name | st.sampled_from(
    ["*", "**", "*.py", "a*", "?", "test_*.py", "[ab]", "[!a]b", "[a-c]*", "*a*", "??"]
)


@st.composite
def _patterns(draw: st.DrawFn) -> str:
    names = draw(st.lists(_glob, min_size=1, max_size=4))
    # rules write a leading slash before one name only, but the meaning holds for all
    return draw(st.sampled_from(["", "", "/"])) + "/".join(names) + draw(st.sampled_from(["", "", "/"]))


_paths = st.lists(_name, min_size=1, max_size=5).map("/".join)


def _oracle(pattern: str, path: str) -> bool:
    return PathSpec.from_lines("gitignore", [pattern], backend="simple").match_file(path)


@settings(max_examples=1500)
@given(_patterns(), _paths)
def test_one_pattern_matches_what_pathspec_matches(pattern: str, path: str) -> None:
    assert matches(pattern, path) == _oracle(pattern, path)


@settings(max_examples=400)
@given(st.lists(_patterns(), max_size=8), _paths)
def test_many_patterns_together_match_as_each_does_alone(patterns: list[str], path: str) -> None:
    expected = [index for index, pattern in enumerate(patterns) if _oracle(pattern, path)]
    assert PatternSet(patterns).matching(path) == expected


@settings(max_examples=400)
@given(st.lists(st.tuples(_patterns(), st.booleans()), min_size=1, max_size=8), _paths)
def test_the_last_pattern_that_matches_decides_as_in_pathspec(
    rules: list[tuple[str, bool]], path: str
) -> None:
    lines = [pattern if include else f"!{pattern}" for pattern, include in rules]
    verdict = PathSpec.from_lines("gitignore", lines, backend="simple").match_file(path)
    found = PatternSet([pattern for pattern, _ in rules]).matching(path)
    assert verdict == (bool(found) and rules[found[-1]][1])


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("python/x/", "python/x/a/b.py", True),
        ("python/x/", "python/x", False),
        ("python/x", "python/x/a", True),
        ("python/x", "other/python/x", False),
        ("python/x/*", "python/x/a", True),
        ("python/x/*", "python/x/a/b", False),
        ("python/**/t_*.py", "python/t_a.py", True),
        ("python/**/t_*.py", "python/a/b/t_a.py", True),
        ("README.md", "a/b/README.md", True),
        ("/README.md", "a/b/README.md", False),
        ("/README.md", "README.md", True),
        ("*.md", "a/b.md", True),
        ("docs/", "a/docs/b", True),
        ("/docs/", "a/docs/b", False),
        ("a.b", "aXb", False),
        ("a", "a\n", False),
    ],
)
def test_what_a_pattern_matches(pattern: str, path: str, expected: bool) -> None:
    assert matches(pattern, path) is expected
    assert PatternSet([pattern]).any(path) is expected


@given(_patterns(), _paths)
def test_a_match_lies_in_the_literal_folder(pattern: str, path: str) -> None:
    folder = literal_folder(pattern)
    if folder and matches(pattern, path):
        assert path == folder or path.startswith(f"{folder}/")


def test_paths_are_selected_in_their_order() -> None:
    chosen = PatternSet(("*.py", "a/"))
    assert [path for path in ("z.py", "b.c", "a/x") if chosen.any(path)] == ["z.py", "a/x"]


@pytest.mark.parametrize(
    ("pattern", "path"),
    [("*a*a*ab", "a" * 255), ("**/a/**/a/b", "a/" * 500 + "c"), ("x/**/a*a*a/**/b", "x/" + "aaaa/" * 300)],
)
def test_no_pattern_that_is_allowed_backtracks_for_ever_on_a_hostile_path(pattern: str, path: str) -> None:
    assert pattern_fault(pattern) is None
    assert not matches(pattern, path)  # exponential time would not end
