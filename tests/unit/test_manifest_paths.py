"""Hostile paths and patterns are refused before anything could use them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.manifest.paths import matches_everything, path_fault, pattern_fault

HOSTILE = [
    "",
    "/abs",
    "/etc/passwd",
    "../x",
    "a/../../b",
    "a/..",
    "./a",
    "a/./b",
    "a//b",
    "C:/x",
    "c:x",
    "a\\b",
    "a\0b",
    "a\nb",
    "a\rb",
    "a\x1bb",
    "a\x7f",
    "a ",
    "a /b",
    " a",
    "a.",
    "a./b",
    "x/...",
    ".git/config",
    "a/.GIT/hooks/x",
    "a/.Git",
    "git~1/x",
    "a/GIT~2",
    ".g\u200cit/x",
    ".git ./x",
    "a" * 300,
    "é" * 150,
]


@pytest.mark.parametrize("path", HOSTILE)
def test_a_hostile_path_is_refused(path: str) -> None:
    assert path_fault(path)


@pytest.mark.parametrize("pattern", [p for p in HOSTILE if p != "/abs"])
def test_a_hostile_pattern_is_refused(pattern: str) -> None:
    assert pattern_fault(pattern)


@pytest.mark.parametrize(
    "path",
    [
        "a",
        ".github/workflows/x.yml",
        ".gitignore",
        "a/.gitattributes",
        "k/E=1,N=2,block_shape=[128, 128].json",
        "a/git~x",
        "é/ñ.py",
        "e\u0301.py",
        "a...b",
        "x" * 255,
    ],
)
def test_a_plain_path_is_accepted(path: str) -> None:
    assert path_fault(path) is None


@pytest.mark.parametrize(
    "pattern",
    [
        "python/",
        "python/**/test_*.py",
        "*.md",
        "/README.md",
        "/docker/",
        "a/triton_3_[0-4]_0/*",
        "a/[!x]?.c",
        "**/x",
    ],
)
def test_a_plain_pattern_is_accepted(pattern: str) -> None:
    assert pattern_fault(pattern) is None


@pytest.mark.parametrize(
    "pattern",
    [
        "!a",
        "#a",
        "/",
        "//",
        "/a/b",
        "a/**b",
        "a**",
        "[z-a]",
        "a[[]",
        "[a--b]",
        "*a*b*c*d",
        "**/a/**/b/**/c",
        "a/b//",
    ],
)
def test_a_pattern_that_would_mean_something_else_is_refused(pattern: str) -> None:
    assert pattern_fault(pattern)


def test_a_path_never_ends_with_a_slash() -> None:
    assert path_fault("a/b/") == "ends with a slash"


@pytest.mark.parametrize("pattern", ["**", "*", "**/*", "**/**", "*/", "/*", "/**", "**/"])
def test_a_pattern_that_matches_every_path_is_known(pattern: str) -> None:
    assert matches_everything(pattern)


@pytest.mark.parametrize("pattern", ["a/**", "*.py", "**/a", "a/*", "?*"])
def test_a_pattern_that_names_something_does_not_match_everything(pattern: str) -> None:
    assert not matches_everything(pattern)


@given(st.text(st.characters(codec="utf-8") | st.sampled_from("/.*[]!\\ ~:"), max_size=30))
def test_what_is_accepted_stays_inside_the_tree(path: str) -> None:
    if path_fault(path) is None:
        names = path.split("/")
        assert all(names)
        assert not {".", ".."} & set(names)
        assert not any(name.lower() == ".git" for name in names)
        assert path.isprintable() or not any(ord(c) < 32 for c in path)
