"""sweep: one manifest on many commits, on a small world."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from small_files import FILES
from test_lift import SERVER, Later, edited

from builder.lift.history import Commit
from builder.lift.sweep import Tried, Wrong, every_nth, first_failures, read, record
from builder.lift.sweep_page import page, timeline


def tried(commit: str, *problems: Wrong, key: str = "k") -> Tried:
    return Tried(key, commit, f"Change {commit}", None, 1_700_000_000, problems, 1.5, 2.0)


R1 = Wrong("R001", "remove: a", "gone")
R4 = Wrong("R004", "replace x", "moved")


def test_every_nth_commit_is_counted_from_the_last() -> None:
    commits = [Commit(str(number), "") for number in range(10)]
    assert [c.id for c in every_nth(commits, 4)] == ["1", "5", "9"]
    assert every_nth(commits, 1) == commits
    assert [c.id for c in every_nth(commits, 100)] == ["9"]
    assert every_nth([], 3) == []


def data(rows: list[Tried], spec: str, total: int = 0) -> dict:
    return record(total or len(rows), rows, "k", spec, 1, "d" * 64)


def test_the_first_failure_of_a_rule_is_the_earliest_commit_in_history_not_in_the_file() -> None:
    rows = [tried("a"), tried("b", R4), tried("c", R1, R4)]
    found = data(rows, "A..B", 30)
    assert (found["commits"], found["survived"], found["tried"]) == (30, 1, 3)
    assert [(code, row.commit, count) for code, _, row, count in first_failures(rows)] == [
        ("R004", "b", 2),
        ("R001", "c", 1),
    ]


def test_lines_of_another_key_and_torn_lines_are_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "commits.jsonl"
    good = tried("a", R1)
    path.write_text(f"{good.to_line()}\n{tried('b', key='other').to_line()}\n{good.to_line()[:20]}\n[1]\n")
    assert read(path, "k") == {"a": good}
    assert read(tmp_path / "none", "k") == {}


def test_the_page_shows_a_share_that_its_rows_give_and_the_drawing_is_xml() -> None:
    rows = [tried(str(n), *([R1] if n > 5 else [])) for n in range(8)]
    assert "8 tried, 6 pass every static gate (75.0%)" in page(data(rows, "A..B"), rows)
    drawn = ET.fromstring(timeline(rows))
    bars = [e for e in drawn if e.tag.endswith("rect") and len(e)]
    assert len(bars) == 8 + 2  # one for each commit, and one for the problems of each that fails
    assert not re.search(r"(href|src|url)\s*=?\s*[\"(]", timeline(rows))


def test_an_empty_sweep_is_a_page_too() -> None:
    assert "0 tried" in page(data([], "A..A"), [])
    ET.fromstring(timeline([]))


def test_text_of_a_subject_cannot_break_out_of_the_drawing() -> None:
    row = Tried("k", "a" * 40, "</title><script>&", 1, 0, (), 0, 0)
    assert "<script>" not in timeline([row])


@pytest.fixture
def later(tmp_path: Path) -> Later:
    found = Later(tmp_path)
    found.then("Words (#1)", {**FILES, "README.md": b"# acme\n"})
    found.then("Begin (#2)", edited(found.files, SERVER, ('print("starting")', 'print("begin")')))
    found.then("News (#3)", {**found.files, "NEWS.md": b"none\n"})
    found.then("Start (#4)", {**FILES, "README.md": b"# acme\n"})
    return found


def sweep(later: Later, *more: str) -> dict:
    done = later.world.good("sweep", "seed..main", "--format", "json", *more)
    return json.loads(done.stdout)


def test_a_sweep_tells_how_many_commits_pass_and_which_broke_which_rule(later: Later) -> None:
    found = sweep(later)
    # where the edit of #2 finds nothing, `dist` builds all the same and lists it
    assert (found["commits"], found["tried"], found["survived"]) == (4, 4, 3)
    assert [(f["code"], f["number"], f["commits"]) for f in found["first_failures"]] == [("R003", 3, 1)]
    out = later.world.home / "lift/sweep"
    assert {p.name for p in out.iterdir()} == {"commits.jsonl", "sweep.json", "README.md", "timeline.svg"}
    assert str(later.world.home) not in "".join(p.read_text("utf-8") for p in out.iterdir())


def test_a_sweep_goes_on_where_it_was_interrupted_and_gives_the_same(later: Later) -> None:
    whole = sweep(later)
    lines = later.world.home / "lift/sweep/commits.jsonl"
    rows = lines.read_text("utf-8").splitlines(keepends=True)
    lines.write_text("".join(rows[:2]) + rows[2][:30], "utf-8")
    done = later.world.good("sweep", "seed..main")
    assert "4 commits, 2 of them tried before" in done.stderr
    again = sweep(later)
    assert again["first_failures"] == whole["first_failures"]
    assert again["survived"] == whole["survived"]


def test_a_changed_manifest_is_tried_anew(later: Later) -> None:
    sweep(later)
    later.world.change("    why: AWK is not part", "    why: AWK is never part")
    assert "4 commits, 0 of them tried before" in later.world.good("sweep", "seed..main").stderr


def test_a_stride_tries_the_last_commit_always(later: Later) -> None:
    found = sweep(later, "--every", "3")
    assert (found["tried"], found["survived"]) == (2, 2)


@pytest.mark.parametrize(("backend", "needs"), [("loky", "joblib"), ("dask", "distributed")])
def test_two_at_a_time_here_or_on_a_cluster_give_what_one_gives(
    later: Later, backend: str, needs: str
) -> None:
    pytest.importorskip(needs)
    one, two = sweep(later), sweep(later, "--backend", backend, "--jobs", "2", "--out", "other")
    assert one["first_failures"] == two["first_failures"] and two["tried"] == 4


def test_a_backend_that_is_not_installed_is_said_with_what_installs_it(later: Later) -> None:
    pytest.importorskip("joblib")
    try:
        import ray  # noqa: F401
    except ImportError:
        done = later.world.run("sweep", "seed..main", "--backend", "ray")
        assert (done.returncode, "pip install 'ray'" in done.stderr) == (7, True)
    else:
        pytest.skip("ray is installed")


def test_releases_are_named_by_their_versions_on_the_page_and_in_the_drawing() -> None:
    rows = [tried(version, R1) for version in ("0.5.12.post1", "0.5.13")]
    text = page(data(rows, "pypi:0.5.12..0.5.13"), rows)
    assert "on every release of 2: 2 tried" in text and "commit" not in text
    assert "`0.5.12.post1`, 0.5.12.post1: " in text
    assert "0.5.13" in timeline(rows)
    assert "2023" not in text + timeline(rows)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        *((words, "name two upstreams as A..B") for words in ("seed", "seed..", "..main", "a...b")),
        ("pypi:0.5.8..0.5.8", "no release after 0.5.8"),
        ("pypi:0.5.8..main", "Invalid version: 'main'"),
    ],
)
def test_what_is_no_range_of_commits_or_releases_is_usage(later: Later, words: str, says: str) -> None:
    done = later.world.run("sweep", words, "--offline")
    assert done.returncode == 2
    assert says in done.stderr
