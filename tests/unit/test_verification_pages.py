"""Pages for people, from evidence made here."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from builder import json_xz
from verification import overview, page
from verification.checks.mutants import Survivor


def checked(
    name: str, *cases: dict[str, Any], verdict: str = "passed", counts: Sequence[int] = (0, 0, 0)
) -> dict[str, Any]:
    """A check of evidence; `counts` are of what passed, failed and did not run."""
    numbers = dict(zip(("passed", "failed", "not run"), counts, strict=True))
    return {"name": name, "verdict": verdict, "counts": numbers, "cases": list(cases)}


def evidence(tree: str, *checks: dict[str, Any], left_out: dict[str, str] | None = None) -> dict[str, Any]:
    return {
        "subject": [{"name": "tree", "digest": {"gitTree": tree}}],
        "predicate": {
            "configuration": [], "machine": {"gpu": "H"}, "checks": list(checks), "leftOut": left_out or {},
        },
    }  # fmt: skip


class TestPages:
    def test_a_page_has_each_check_and_what_did_not_run(self) -> None:
        check = checked(
            "forward",
            {"name": "good", "verdict": "passed", "figures": {"events": 1234, "attention": ["triton"]}},
            {"name": "bad", "verdict": "failed", "lines": ["a | b"]},
            {"name": "none", "verdict": "not run", "lines": ["why"]},
            verdict="failed", counts=(1, 1, 1),
        )  # fmt: skip
        text = page.page("T", [evidence("b" * 40, check, left_out={"suite": "x"})], ["several nodes"])
        assert "1,234 events" in text
        assert "a \\| b" in text
        assert text.endswith("- suite: x\n- forward, none: why\n- several nodes\n")

    def test_what_was_read_of_survivors_since_is_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def survived(number: int, edit: str) -> dict[str, Any]:
            figures = {"function": "f", "edit": edit, "tried": True, "survived": ["v3"]}
            line = f"{edit} in f: survives v3: nobody has looked at it"
            return {"name": f"a.py:{number}:1 x", "verdict": "not run", "lines": [line], "figures": figures}

        cases = [survived(1, "xs[0] and yes... -> z"), survived(2, "left -> z"), survived(3, "new -> z")]
        cases.append({"name": "a.py:4:1 x", "verdict": "passed", "figures": {"tried": True}})
        stated = [Survivor("a.py", "f", "xs[[]0] and yes or *", "No GPU tells.", True)]
        stated += [Survivor("b.py", "f", "*", "another"), Survivor("a.py", "f", "left", "It is rare.")]
        monkeypatch.setattr(page, "survivors", lambda: stated)
        text = page.page("T", [evidence("b" * 40, checked("mutants", *cases, counts=(1, 0, 3)))])
        assert "1 of those that survive are equivalent: 1 of 3 others are killed" in text
        for said in (
            "yes... -> z in f: survives v3: No GPU tells.",
            "left -> z in f: survives v3: It is rare.",
        ):
            assert text.count(said) == 2
        assert text.count("new -> z in f: survives v3: nobody has looked at it") == 2

    def test_a_check_that_another_run_did_is_not_left_out(self) -> None:
        runs = [evidence("b", left_out={"s": "x"}), evidence("b", checked("s", counts=(1, 0, 0)))]
        assert "Everything ran" in page.page("T", runs)

    def test_a_case_that_another_run_of_the_tree_did_is_not_left_out(self) -> None:
        def run(tree: str, *cases: dict[str, Any]) -> dict[str, Any]:
            return evidence(tree, checked("c", *cases))

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
        text = page.page("T", [evidence("tree", checked("engines", said))])
        assert "without bound apart, every one of ours bit for bit as in one of them" in text


class TestOverview:
    def test_the_pages_are_made_from_the_evidence_and_the_lock(self) -> None:
        lock = overview.Lock.read(overview.ROOT / "manifest.lock")
        made = overview.pages(overview.entries(overview.FOLDER), lock)
        there = {path.name: path.read_text("utf-8") for path in overview.FOLDER.glob("*.md")}
        assert there == made, "run `make docs`"

    def test_an_entry_of_a_locked_tree_has_a_page_and_others_are_archived(self, tmp_path: Path) -> None:
        kept(tmp_path, "x-2026-01-02", evidence_of("a" * 40))
        kept(tmp_path, "y-2026-01-01", evidence_of("b" * 40), evidence_of("c" * 40))
        found = overview.entries(tmp_path)
        made = overview.pages(found, overview.Lock(frozenset(["a" * 40]), {"u" * 40: "seed"}))
        assert set(made) == {"README.md", "archive.md", "x-2026-01-02.md"}
        assert made["x-2026-01-02.md"].startswith("# T\n")
        command = "`make dist UPSTREAM=seed SCOPE=x`<br>`make verify ARGS='--check parts'`"
        rows = [line for line in made["README.md"].splitlines() if line.startswith("|")][2:]
        told = "1.2 x | H | failed"
        assert rows == [
            f"| [2026-01-02](x-2026-01-02.md) | parts 2/1/0 | {told} | {command} |",
            f"| [2026-01-01](archive.md#y-2026-01-01) | parts 2/1/0 + 2/1/0 | {told} | {command} |",
        ]
        (row,) = [line for line in made["archive.md"].splitlines() if "2026" in line]
        link = '<a id="y-2026-01-01"></a>[2026-01-01](y-2026-01-01.json.xz)'
        assert row == f"| {link} | 1.2 x | H | `bbbbbbbb` `cccccccc` | S. |"

    def test_a_command_of_a_gpu_is_repeated_as_it_was_asked(self, tmp_path: Path) -> None:
        said = evidence_of("a" * 40)
        said["predicate"]["machine"] = {"gpu": "H, 1; H, 2", "command": "python -m m --pack p --out o"}
        kept(tmp_path, "x-2026-01-02", said)
        table = overview.pages(overview.entries(tmp_path), overview.Lock(frozenset(), {}))["README.md"]
        assert "`make gpu-pack UPSTREAM=pypi:1.2 SCOPE=x PACK=p`<br>`python -m m --pack p --out o`" in table
        assert "| 2 x H |" in table and "No entry is of a tree" in table
        said["predicate"]["machine"] |= {
            "card": "sm90",
            "command": "python -m m --pack /x --stage a --out /o",
        }
        kept(tmp_path, "x-2026-01-02", said)
        table = overview.pages(overview.entries(tmp_path), overview.Lock(frozenset(), {}))["README.md"]
        assert "SCOPE=x CARD=sm90`<br>`make verify-gpu ARGS='--stage a'`" in table

    @pytest.mark.parametrize(
        ("wheel", "version"),
        [
            ("p-1.2+x-py3-none-any.whl", ("1.2", "")),
            ("p-1.2.dev0+x.g0123456ab-py3-none-any.whl", ("1.2.dev0", "")),
            ("p-1.2.dev0+x.small.g0123456ab-py3-none-any.whl", ("1.2.dev0", "small")),
            ("p-1.2+x.small-cp312-cp312-manylinux_2_34_x86_64.whl", ("1.2", "small")),
            ("p-1.2+x.without.a.b.m01234567.g0123456ab-py3-none-any.whl", ("1.2", "")),
            ("p-1.2+x.small.m01234567-py3-none-any.whl", ("1.2", "small")),
        ],
    )
    def test_a_wheel_names_the_version_and_the_scope(self, wheel: str, version: tuple[str, str]) -> None:
        assert overview._version({"subject": [{"name": "tree"}, {"name": wheel}]}) == version

    def test_texts_that_are_not_given_stay(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(page, "DOCS", tmp_path)
        (tmp_path / "v.json").write_text(json.dumps(evidence_of("a" * 40)))
        for words in (["n", f"{tmp_path}/v.json", "--title", "T", "--says", "S."], ["n", "--says", "Other."]):
            monkeypatch.setattr("sys.argv", ["page", *words])
            page.main()
        (entry,) = overview.entries(tmp_path)
        assert (entry.title, entry.says, len(entry.runs)) == ("T", "Other.", 1)


def kept(folder: Path, name: str, *runs: dict[str, Any]) -> None:
    """An entry of a folder."""
    said = {"title": "T", "says": "S.", "notes": [], "not run": [], "runs": runs}
    json_xz.write(folder / f"{name}.json.xz", said)


def evidence_of(tree: str) -> dict[str, Any]:
    """Evidence of one failed check of a tree."""
    said = evidence(tree, checked("parts", verdict="failed", counts=(2, 1, 0)))
    said["predicate"]["machine"] = {"gpu": "H, 1"}
    said["predicate"]["configuration"] = [{"name": "upstream", "digest": {"gitTree": "u" * 40}}]
    said["subject"].append({"name": "p-1.2+y.x-py3-none-any.whl", "digest": {"sha256": "0"}})
    return said
