"""Whole files: the pre-image must be the blob that the manifest states."""

from __future__ import annotations

from builder.errors import Mark
from builder.manifest.model import WholeFile
from builder.overlay.files import place
from builder.tree import FILE, Entry, blob_id

OLD = b"upstream\n"
ENTRIES = {"a.py": Entry(FILE, blob_id(OLD))}
CONTENTS = {"a.py": OLD}
OVERLAYS = {"overlays/b/a.py": b"ours\n"}


def item(
    path: str = "a.py", preimage: tuple[str, ...] = (), optional: str | None = None, line: int = 5
) -> WholeFile:
    return WholeFile(path, "overlays/b/a.py", preimage, Mark("manifest.yaml", line, 3), "b", "why", optional)


def test_a_file_with_the_stated_pre_image_is_replaced() -> None:
    placed = place([item(preimage=("0" * 40, blob_id(OLD)))], OVERLAYS, ENTRIES, CONTENTS)
    assert placed.problems == () and placed.files == {"a.py": b"ours\n"}
    assert placed.records[0].before != placed.records[0].after


def test_another_blob_is_named_with_the_expected_one() -> None:
    [problem] = place([item(preimage=("1" * 40,))], OVERLAYS, ENTRIES, CONTENTS).problems
    assert problem.code == "R006"
    assert "1" * 40 in problem.message and blob_id(OLD) in problem.message
    assert problem.mark == Mark("manifest.yaml", 5, 3)


def test_a_new_file_must_be_new() -> None:
    placed = place([item("new.py")], OVERLAYS, ENTRIES, CONTENTS)
    assert placed.files == {"new.py": b"ours\n"} and placed.records[0].before is None
    [problem] = place([item()], OVERLAYS, ENTRIES, CONTENTS).problems
    assert problem.code == "R006" and blob_id(OLD) in problem.message


def test_a_missing_upstream_file_is_a_problem_unless_optional() -> None:
    [problem] = place([item("gone.py", ("1" * 40,))], OVERLAYS, ENTRIES, CONTENTS).problems
    assert problem.code == "R006"
    placed = place([item("gone.py", ("1" * 40,), "older")], OVERLAYS, ENTRIES, CONTENTS)
    assert placed.files == {} and placed.problems == ()


def test_missing_overlays_and_double_writes_are_all_reported() -> None:
    items = [item("n.py"), item("n.py", line=9), item("m.py")]
    problems = place(items, OVERLAYS, {}, {}).problems
    assert [p.code for p in problems] == ["M011"] and "manifest.yaml:5:3" in problems[0].message
    assert [p.code for p in place(items, {}, {}, {}).problems] == ["M008"] * 3
