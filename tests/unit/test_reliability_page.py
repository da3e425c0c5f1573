"""docs/reliability.md is that of its figures, and the groups name tests that exist."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from groups import GROUPS, groups_of
from reliability import FIGURES, PAGE, Recorder, nodes, page

from builder import json_xz


def test_the_page_is_that_of_its_figures() -> None:
    assert PAGE.read_text("utf-8") == page(json_xz.read(FIGURES)), "run `make docs`"


@pytest.mark.parametrize("name", GROUPS)
def test_every_test_that_a_group_names_exists_and_belongs_to_it(name: str) -> None:
    for node in nodes(GROUPS[name].tests):
        assert name in groups_of(f"{node}[case]" if "::" in node else f"{node}::test_x")


def test_a_test_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(ValueError, match="no test is"):
        list(nodes(["unit/test_reliability_page.py::test_of_nothing"]))
    with pytest.raises(ValueError, match="no tests are in"):
        list(nodes(["faults/test_of_nothing.py"]))


def test_failures_skips_and_cases_are_counted() -> None:
    node = "tests/faults/test_drill.py::test_sigkill_x"
    recorder = Recorder()
    for when, outcome, cases in (
        ("setup", "passed", 9), ("call", "passed", 9), ("call", "failed", 9), ("setup", "skipped", 1),
    ):  # fmt: skip
        recorder.pytest_runtest_logreport(
            SimpleNamespace(
                nodeid=node, when=when, outcome=outcome, user_properties=[("cases", cases)],
                longrepr=("file", 1, "Skipped: no mounts here"),
                passed=outcome == "passed", failed=outcome == "failed", skipped=outcome == "skipped",
            )
        )  # fmt: skip
    assert recorder.groups("long")["kill"] == {
        "tests": 3, "cases": 9, "passed": 1, "failed": 1, "skipped": 1, "profile": "long",
        "reasons": ["no mounts here"],
    }  # fmt: skip
    text = page({"python": "3", "system": "s", "groups": recorder.groups("long")})
    assert "| 3 | 9 | long | 1 failed" in text
    assert "1 failed, 1 skipped" in text and "- kill: no mounts here" in text and "not run" in text
