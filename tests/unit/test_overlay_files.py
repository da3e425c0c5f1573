"""Whole files: the pre-image must be the blob that the manifest states."""

from __future__ import annotations

from dataclasses import replace

from builder.errors import Mark
from builder.manifest.statements import WholeFile
from builder.overlay.files import definitions, place
from builder.overlay.record import Placed
from builder.tree import blob_id

OLD = b"upstream\n"
CONTENTS = {"a.py": OLD}
OVERLAYS = {"overlays/b/a.py": b"ours\n"}


def item(
    path: str = "a.py", preimage: tuple[str, ...] = (), optional: str | None = None, line: int = 5
) -> WholeFile:
    mark = Mark("manifest.yaml", line, 3)
    return WholeFile(path, "overlays/b/a.py", preimage, "b", "why", mark=mark, optional=optional)


def test_a_file_with_the_stated_pre_image_is_replaced() -> None:
    placed = place([item(preimage=("0" * 40, blob_id(OLD)))], OVERLAYS, CONTENTS)
    assert placed.problems == () and placed.files == {"a.py": b"ours\n"}
    assert placed.records[0].before != placed.records[0].after


def test_another_blob_is_named_with_the_expected_one() -> None:
    [problem] = place([item(preimage=("1" * 40,))], OVERLAYS, CONTENTS).problems
    assert problem.code == "R006"
    assert "1" * 40 in problem.message and blob_id(OLD) in problem.message
    assert problem.mark == Mark("manifest.yaml", 5, 3)


class TestDefinitions:
    """Of a file of which some definitions are of use, the rest may change."""

    ONE = b"@cached\ndef one():  \n    return 1\n"
    HELD = WholeFile(
        "a.py", "overlays/b/a.py", (), "b", "why", mark=Mark("manifest.yaml", 5, 3),
        definitions={"one": blob_id(b"@cached\ndef one():\n    return 1\n")},
    )  # fmt: skip

    def placed(self, data: bytes, item: WholeFile = HELD) -> Placed:
        return place([item], OVERLAYS, {"a.py": data})

    def test_the_rest_of_the_file_may_change(self) -> None:
        for rest in (b"", b"import os\n\n\ndef two(): ...\n"):
            assert self.placed(rest + self.ONE + rest).files == {"a.py": b"ours\n"}

    def test_another_source_is_named_with_the_stated_one(self) -> None:
        other = self.ONE.replace(b"1", b"2")
        [problem] = self.placed(other).problems
        assert problem.code == "R006"
        assert self.HELD.definitions["one"] in problem.message
        assert definitions(other, "a.py", ["one"])["one"] in problem.message

    def test_a_definition_or_a_file_that_is_gone_is_named(self) -> None:
        [problem] = self.placed(b"def two(): ...\n").problems
        assert "no one" in problem.message
        [problem] = self.placed(b"def (:\n").problems
        assert "no one" in problem.message
        [problem] = place([self.HELD], OVERLAYS, {}).problems
        assert problem.message == "a.py should replace one of it, but upstream has no such file."

    def test_where_it_may_be_missing_upstreams_file_stays(self) -> None:
        placed = self.placed(b"x = 1\n", replace(self.HELD, optional="later"))
        assert placed.files == {} and placed.problems == ()


def test_a_new_file_must_be_new() -> None:
    placed = place([item("new.py")], OVERLAYS, CONTENTS)
    assert placed.files == {"new.py": b"ours\n"} and placed.records[0].before is None
    [problem] = place([item()], OVERLAYS, CONTENTS).problems
    assert problem.code == "R006" and blob_id(OLD) in problem.message


def test_a_missing_upstream_file_is_a_problem_unless_optional() -> None:
    [problem] = place([item("gone.py", ("1" * 40,))], OVERLAYS, CONTENTS).problems
    assert problem.code == "R006"
    placed = place([item("gone.py", ("1" * 40,), "older")], OVERLAYS, CONTENTS)
    assert placed.files == {} and placed.problems == ()


def test_double_writes_are_reported() -> None:
    items = [item("n.py"), item("n.py", line=9), item("m.py")]
    problems = place(items, OVERLAYS, {}).problems
    assert [p.code for p in problems] == ["M011"] and "manifest.yaml:5:3" in problems[0].message
