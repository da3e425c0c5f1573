"""Which architectures a model file registers."""

from __future__ import annotations

import pytest

from builder.pipeline import architectures


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("class A: pass\nEntryClass = A\n", {"A"}),
        ("EntryClass = [A, B]\n\n\ndef later():\n    return 1\n", {"A", "B"}),
        ("EntryClass = [\n    A,\n    B,\n]\n", {"A", "B"}),
        ("EntryClass = A\nEntryClass = [B]\n", {"A", "B"}),
        ('"""One\nEntryClass = Wrong\n"""\nEntryClass = A\n', {"A"}),
        ("x = '''\nEntryClass = Wrong\n'''\n", set()),
        ("x = (\nEntryClass\n)\nEntryClass = A\n", {"A"}),
        ("Model = EntryClass = A\nEntryClass = [B]\n", {"A", "B"}),
        ("x = 1; EntryClass = A\nEntryClass = [B]\n", {"A", "B"}),
        ("if True:\n    EntryClass = A\n", set()),
        ("EntryClasses = A\n", set()),
        ("EntryClass = A\ndef (:\n", set()),
    ],
)
def test_the_names_of_entry_class(text: str, names: set[str]) -> None:
    assert architectures._entries(text.encode(), "m.py") == names
