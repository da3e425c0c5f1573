"""Pages for people, from evidence made here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from verification import overview, page


def statement(tree: str, check: str, *cases: dict[str, Any]) -> dict[str, Any]:
    """Evidence of one check."""
    counts = {"passed": 0, "failed": 0, "not run": 0}
    checks = [{"name": check, "verdict": "passed", "counts": counts, "cases": list(cases)}]
    return {
        "subject": [{"name": "tree", "digest": {"gitTree": tree}}],
        "predicate": {"configuration": [], "machine": {"gpu": "H"}, "checks": checks, "leftOut": {}},
    }


class TestPages:
    def test_a_page_has_each_check_and_what_did_not_run(self) -> None:
        check = {
            "name": "forward", "verdict": "failed", "counts": {"passed": 1, "failed": 1, "not run": 1},
            "cases": [
                {"name": "good", "verdict": "passed", "figures": {"events": 1234, "attention": ["triton"]}},
                {"name": "bad", "verdict": "failed", "lines": ["a | b"]},
                {"name": "none", "verdict": "not run", "lines": ["why"]},
            ],
        }  # fmt: skip
        said = {
            "subject": [{"name": "tree", "digest": {"gitTree": "b" * 40}}],
            "predicate": {
                "configuration": [], "machine": {"gpu": "H"}, "checks": [check], "leftOut": {"suite": "x"},
            },
        }  # fmt: skip
        text = page.page("T", [said], ["several nodes"])
        assert "1,234 events" in text
        assert "a \\| b" in text
        assert text.endswith("- suite: x\n- forward, none: why\n- several nodes\n")

    def test_a_check_that_another_run_did_is_not_left_out(self) -> None:
        empty = {
            "subject": [],
            "predicate": {"configuration": [], "machine": {}, "checks": [], "leftOut": {"s": "x"}},
        }
        check = {
            "name": "s",
            "verdict": "passed",
            "counts": {"passed": 1, "failed": 0, "not run": 0},
            "cases": [],
        }
        other = json.loads(json.dumps(empty))
        other["predicate"].update(checks=[check], leftOut={})
        assert "Everything ran" in page.page("T", [empty, other])

    def test_a_case_that_another_run_of_the_tree_did_is_not_left_out(self) -> None:
        def run(tree: str, *cases: dict[str, Any]) -> dict[str, Any]:
            return statement(tree, "c", *cases)

        text = page.page("T", [run("a"), run("b"), run("c")])
        assert text.index("## Run 1") < text.index("| tree | a |")  # no tree is the usual one
        bare = run("a")
        bare["predicate"]["machine"] = {}
        text = page.page("T", [run("a"), run("a"), bare])
        assert text.index("## Run 3") < text.index("| gpu | none |")
        text = page.page("T", [run("a"), run("a"), run("b")])
        assert [text.count(f"| tree | {tree} |") for tree in "ab"] == [1, 1]
        assert text.index("| tree | a |") < text.index("## Run 1") < text.index("| tree | b |")
        ended = {"name": "completed", "verdict": "passed", "figures": {"each": [[1, 2]]}}
        loads = run("a", ended)
        loads["predicate"]["checks"][0]["name"] = "throughput"
        assert "completed" not in page.page("T", [loads])

        late = {"name": "x", "verdict": "not run", "lines": ["no time"]}
        crash = {"name": "x", "verdict": "not run", "lines": ["a crash"]}
        done = {"name": "x", "verdict": "passed"}
        assert "Everything ran" in page.page("T", [run("a", late), run("a", done)])
        assert page.page("T", [run("a", late), run("b", done)]).endswith("- c, x: no time\n")
        text = page.page("T", [run("a", late), run("a", crash)])
        assert text.endswith("## What did not run\n\n- c, x: a crash\n")
        assert text.count("| gpu | H |") == 1  # what the runs have alike is told once

    def test_what_nothing_bounds_is_shown_with_what_ours_was(self) -> None:
        one = {
            "outputs": 1, "upstream repeats": 0, "upstream's own differ by": "without bound", "ours by": 0.0,
            "ours as in one of upstream's": 1,
        }  # fmt: skip
        figures = {"prompts": 1, "digest": "d", "apart": "without bound", "alone": one}
        said = {"name": "e", "verdict": "passed", "figures": figures}
        text = page.page("T", [statement("tree", "engines", said)])
        assert "without bound apart, every one of ours bit for bit as in one of them" in text


class TestOverview:
    def test_the_table_is_made_from_the_evidence_and_the_lock(self) -> None:
        made = overview.overview(overview.FOLDER, overview.locked_trees(overview.ROOT / "manifest.lock"))
        assert (overview.FOLDER / "README.md").read_text("utf-8") == made, "run `make docs`"

    def test_a_run_of_a_locked_tree_is_told_apart_and_old_ones_come_last(self, tmp_path: Path) -> None:
        for day, tree, folder in (("2026-01-02", "a" * 40, ""), ("2026-01-01", "b" * 40, "superseded/")):
            (tmp_path / folder).mkdir(exist_ok=True)
            said = evidence_of(tree, "h" * 64)
            (tmp_path / f"{folder}x-{day}.json").write_text(json.dumps(said))
            (tmp_path / f"{folder}x-{day}.md").write_text(f"{tree} {'h' * 64}")
        table, _, old = overview.overview(tmp_path, frozenset(["a" * 40])).partition("## Superseded")
        assert "| 2026-01-02 | parts 2/1/0 | H | 1.2 | `aaaaaaaa`, as locked | failed |" in table
        assert "| 2026-01-01 | parts 2/1/0 | H | 1.2 | `bbbbbbbb` | failed |" in old
        assert "| day | what | where | upstream | tree | verdict | page |" in table
        rows = [line for line in (table + old).splitlines() if line.startswith("|")]
        assert {line.count("|") for line in rows} == {8}

    def test_one_tree_on_a_cpu_and_on_a_gpu_has_two_pages(self, tmp_path: Path) -> None:
        for where, wanted in (("cpu", "1" * 64), ("gpu", "2" * 64)):
            said = evidence_of("a" * 40, "h" * 64)
            digest = {"name": "requirements.txt", "digest": {"sha256": wanted}}
            said["predicate"]["configuration"].append(digest)
            (tmp_path / f"{where}-1.json").write_text(json.dumps(said))
            (tmp_path / f"{where}-2026-01-02.md").write_text(f"{'a' * 40} {'h' * 64} {wanted}")
        table = overview.overview(tmp_path, frozenset())
        assert table.count("(cpu-2026-01-02.md)") == table.count("(gpu-2026-01-02.md)") == 1

    def test_evidence_without_a_page_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "x.json").write_text(json.dumps(evidence_of("a" * 40, "h" * 64)))
        with pytest.raises(ValueError, match=r"x\.json: one page must be made from it, found none"):
            overview.overview(tmp_path, frozenset())


def evidence_of(tree: str, harness: str) -> dict[str, Any]:
    """Evidence of one failed check of a tree."""
    said = statement(tree, "parts")
    check = {"name": "parts", "verdict": "failed", "counts": {"passed": 2, "failed": 1, "not run": 0}}
    said["predicate"] |= {
        "checks": [check],
        "machine": {"gpu": "H, 1"},
        "configuration": [{"name": "harness", "digest": {"sha256": harness}}],
    }
    said["subject"].append({"name": "p-1.2+x-py3-none-any.whl", "digest": {"sha256": "0"}})
    return said
