"""A phrase of a string literal is replaced where it stands; everything else keeps its spelling."""

from __future__ import annotations

import ast

import pytest

from builder.overlay.wording import reworded
from builder.source.ops import by_itself


@pytest.mark.parametrize(
    ("source", "old", "new", "after"),
    [
        ('"one, two or three"', ", two", "", '"one or three"'),
        ("'it\\'s \\n two'", "two", "three", "'it\\'s \\n three'"),
        ('"""A.\n\n    - two\n    - three\n    """', "- two\n    ", "", '"""A.\n\n    - three\n    """'),
        ('"a "\n    "b "  # why\n    "c"', "b ", "d ", '"a "\n    "d "  # why\n    "c"'),
        ('"a "\n    "b "\n    "c"', "b ", "", '"a "\n    "c"'),
        ('"one t"\n"wo three"', "two", "2", '"one 2"\n" three"'),
        ('"a\\tb"', "a\tb", "c", '"c"'),
        ('"two"', "two", "", '""'),
    ],
)
def test_only_the_phrase_changes(source: str, old: str, new: str, after: str) -> None:
    assert reworded(source, old, new) == after
    before = by_itself(source)
    assert isinstance(before, ast.Constant)
    assert by_itself(after).value == before.value.replace(old, new)  # type: ignore[attr-defined]


@pytest.mark.parametrize("source", ['"two and two"', 'f"two {x}"', '"two" % x', 'b"two"', '"one"'])
def test_a_phrase_that_stands_twice_or_not_in_plain_literals_is_left_alone(source: str) -> None:
    assert reworded(source, "two", "2") is None
