"""An item that a list has twice is an error with the place of both."""

from __future__ import annotations

import pytest

from builder.manifest.nodes import Findings, read
from builder.manifest.repeated import repeated


def places(text: str) -> list[tuple[int, str]]:
    document = read(text.encode(), "manifest.yaml", Findings())
    assert document.findings.problems == []
    return [(p.mark.line, p.message) for p in repeated(document) if p.mark is not None]


@pytest.mark.parametrize(
    ("text", "line", "first"),
    [
        ("remove:\n  - a/\n  - b/\n  - a/\n", 4, 2),
        ("keep: [a, b, a]\n", 1, 1),
        ("edits:\n  - {set: a, by: '1'}\n  - by: '1'\n    set: a\n", 3, 2),
        ("batches:\n  - {id: x, remove: [a, a]}\n", 2, 2),
    ],
)
def test_the_second_item_is_named_with_the_line_of_the_first(text: str, line: int, first: int) -> None:
    assert places(text) == [(line, f"This item of the list is already on line {first}.")]


def test_items_that_differ_or_stand_in_other_lists_are_not_repeated() -> None:
    assert places("keep: [a]\nremove: [a, 1, '1', true, [a], {a: 1}, {a: 2}, 0.5, '0.5']\n") == []


def test_what_an_edit_writes_may_repeat_itself() -> None:
    assert places("toml: [{set: x, value: [a, a]}]\n") == []
