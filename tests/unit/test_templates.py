"""Templates: values, blocks with a line for each row, and blocks that are left out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from builder import templates
from builder.templates import ABSENT, THERE, filled

FOLDER = Path(templates.__file__).parent


def test_a_block_has_a_line_for_each_row_below_its_other_lines_and_is_left_out_without_rows() -> None:
    blocks = {"left_out": [("awq", "{why}"), ("gguf", "too")], "listing": ABSENT}
    values = dict.fromkeys(
        ("project", "version", "repository", "commit", "upstream_tree", "tree", "scope"), "x"
    )
    text = filled("wheel.md", blocks, name="pkg", **values)
    assert text.startswith("# pkg\n\nThis wheel has the name `x`")
    # a value is no template
    assert text.endswith("| scope | `x` |\n\n## What it leaves out\n\n- **awq**: {why}\n- **gguf**: too\n")


def test_a_block_without_a_line_for_rows_is_there_once() -> None:
    nothing = dict.fromkeys(("paths", "batches", "surface", "more", "totals", "edited"), ABSENT)
    assert filled("plan-changes.txt", {**nothing, "nothing": THERE, "inputs": ABSENT}) == "No changes.\n"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.*")), ids=lambda path: path.name)
def test_every_block_of_a_template_has_an_end(path: Path) -> None:
    marks = re.findall(r"(?m)^%%( ?)(\w*)$", path.read_text("utf-8")) if path.suffix != ".py" else []
    assert [bool(name) for _, name in marks] == [True, False] * (len(marks) // 2)
