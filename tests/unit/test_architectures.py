"""Which architectures a model file registers, read from the end of its text where that is enough."""

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
        ("if True:\n    EntryClass = A\n", set()),
        ("EntryClasses = A\n", set()),
        ("EntryClass = A\ndef (:\n", set()),
    ],
)
def test_the_names_of_entry_class(text: str, names: set[str]) -> None:
    assert architectures._entries(text.encode(), "m.py") == names


def test_only_the_end_of_a_file_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bytes] = []
    real = architectures.parse
    monkeypatch.setattr(architectures, "parse", lambda data, path: (seen.append(data), real(data, path))[1])
    assert architectures._entries(b"class A: pass\nEntryClass = A\n", "m.py") == {"A"}
    assert seen == [b"EntryClass = A\n"]
