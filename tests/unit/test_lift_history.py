"""Upstream's history between two commits: renames, deletions, arrivals, and which commit broke what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from manifest_text import manifest
from upstream_repo import Repo

from builder.errors import Mark
from builder.lift.history import Change, History, between, distances, parse_log
from builder.lift.lost import matcher
from builder.manifest.statements import Edit
from builder.upstream.git import GitBlobs
from builder.upstream.model import Upstream
from builder.upstream.resolve import Sources, resolve

LONG = "".join(f"line {number}\n" for number in range(40)).encode()
Files = Mapping[str, bytes]


class Story:
    """A repository with one commit after another on main."""

    def __init__(self, folder: Path, first: Files) -> None:
        self.repository = Repo(folder / "up.git")
        self.commits = [self.repository.commit(dict(first), "refs/heads/main")]

    def then(self, subject: str, files: Files) -> str:
        self.commits.append(
            self.repository.commit(dict(files), "refs/heads/main", parent=self.commits[-1], subject=subject)
        )
        return self.commits[-1]

    def upstream(self, commit: str) -> Upstream:
        where = Sources(self.repository.path, Path("/nowhere"), "none", True, {})
        return resolve(commit, where)

    def history(self) -> History:
        return between(self.upstream(self.commits[0]), self.upstream(self.commits[-1]))


def test_a_subject_names_its_pull_request_and_a_commit_is_cited_by_it(tmp_path: Path) -> None:
    story = Story(tmp_path, {"a": b"1"})
    first = story.then("Change a (#12)", {"a": b"2"})
    second = story.then("Change a again, see (#12) for more", {"a": b"3"})
    one, two = story.history().commits
    assert (one.number, two.number) == (12, None)
    assert (str(one), str(two)) == (f"{first[:9]} (#12)", second[:9])


def test_a_path_is_followed_through_two_renames_and_its_deletion(tmp_path: Path) -> None:
    story = Story(tmp_path, {"a.py": LONG, "other": b"x"})
    one = story.then("one", {"b.py": LONG, "other": b"x"})
    two = story.then("two", {"deep/c.py": LONG + b"more\n", "other": b"x"})
    assert [(c.id, path) for c, path in story.history().fate("a.py")[0]] == [
        (one, "b.py"),
        (two, "deep/c.py"),
    ]
    assert story.history().fate("a.py")[1] is None
    three = story.then("three", {"other": b"x"})
    renames, gone = story.history().fate("a.py")
    assert (len(renames), gone and gone.id) == (2, three)
    assert story.history().fate("other") == ((), None)


def test_an_arrival_tells_the_commit_and_what_it_was_before(tmp_path: Path) -> None:
    story = Story(tmp_path, {"a.py": LONG, "z": b"z"})
    one = story.then("one", {"b.py": LONG, "z": b"z"})
    two = story.then("two", {"c.py": LONG, "new.py": b"n\n", "z": b"z"})
    history = story.history()
    (moved, last), (fresh, first) = history.origin("c.py"), history.origin("new.py")
    assert last and (last.id, moved) == (two, ["c.py", "b.py", "a.py"])
    assert first and (first.id, fresh) == (two, ["new.py"])
    assert one != two and history.origin("z") == (["z"], None)


def test_names_with_spaces_quotes_and_line_feeds_are_read_whole(tmp_path: Path) -> None:
    story = Story(tmp_path, {"z": b"z"})
    odd = 'a "b"\tc ä.py'
    story.then("odd\x01name\x02", {"z": b"z", odd: LONG})
    story.then("moved", {"z": b"z", "plain.py": LONG})
    first, second = story.history().commits
    assert first.changes == (Change("A", odd),)
    assert second.changes == (Change("R", "plain.py", odd),)


def test_a_log_without_changes_is_commits_without_changes() -> None:
    assert parse_log(b"") == []
    (only,) = parse_log(b"\x01" + b"a" * 40 + b"\0empty\0")
    assert (only.subject, only.changes) == ("empty", ())


def test_a_merge_counts_as_what_it_brought_to_the_first_parent(tmp_path: Path) -> None:
    story = Story(tmp_path, {"a": b"1"})
    side = story.repository.commit({"a": b"1", "b": b"2"}, parent=story.commits[0], subject="side")
    tree = story.repository.tree({"a": b"1", "b": b"2"})
    merge = story.repository.git(
        "-c", "user.name=A", "-c", "user.email=a@example.org",
        "commit-tree", tree, "-p", story.commits[0], "-p", side, "-m", "Merge (#3)",
    )  # fmt: skip
    story.commits.append(merge)
    (only,) = story.history().commits
    assert (only.number, only.changes) == (3, (Change("A", "b"),))


def test_upstreams_of_two_repositories_have_no_history(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    one, two = Story(tmp_path / "one", {"a": b"1"}), Story(tmp_path / "two", {"a": b"2"})
    history = between(one.upstream(one.commits[0]), two.upstream(two.commits[0]))
    assert (history.known, history.commits) == (False, ())
    assert isinstance(one.upstream(one.commits[0]).blobs, GitBlobs)


def test_the_nearest_of_several_commits_is_the_one_with_the_fewest_between(tmp_path: Path) -> None:
    story = Story(tmp_path, {"a": b"1"})
    for number in range(2, 6):
        story.then(str(number), {"a": str(number).encode()})
    side = story.repository.commit({"a": b"side"}, parent=story.commits[0])
    new = story.upstream(story.commits[3])
    wanted = [story.commits[0], story.commits[2], story.commits[4], side]
    assert distances(wanted, new) == {story.commits[0]: 3, story.commits[2]: 1}


# -- which commit broke what


def test_the_commit_that_emptied_a_rule_is_the_last_of_those_that_took_its_paths(tmp_path: Path) -> None:
    story = Story(tmp_path, {"d/a": b"1", "d/b": b"2", "z": b"z"})
    story.then("one", {"d/b": b"2", "z": b"z"})
    last = story.then("two", {"z": b"z"})
    story.then("three", {"z": b"zz"})
    commit = story.history().emptied(["d/a", "d/b"])
    assert commit and commit.id == last


def test_a_path_that_came_back_and_left_again_is_the_last_loss(tmp_path: Path) -> None:
    story = Story(tmp_path, {"d/a": b"1", "z": b"z"})
    story.then("out", {"z": b"z"})
    story.then("in", {"d/a": b"1", "z": b"z"})
    assert story.history().emptied(["d/a"]) is None
    out = story.then("out again", {"z": b"z"})
    commit = story.history().emptied(["d/a"])
    assert commit and commit.id == out


EDIT = Edit("drop-statement", "pkg.m.f", "b", "why", match="noise()", mark=Mark("manifest.yaml", 1, 1))


def _source(body: str) -> bytes:
    return f"def f():\n    {body}\n    return 1\n".encode() + LONG.replace(b"line", b"# line")


@pytest.mark.parametrize("breaking", range(1, 8))
def test_the_commit_that_broke_an_edit_is_found_among_those_that_changed_its_file(
    tmp_path: Path, breaking: int
) -> None:
    story = Story(tmp_path, {"pkg/m.py": _source("noise()")})
    for number in range(1, 8):
        body = f"noise()\n    x = {number}" if number < breaking else f"quiet({number})"
        story.then(f"change {number} (#{number})", {"pkg/m.py": _source(body)})
    matches = matcher(EDIT, "pkg/m.py", replace(manifest(), packages={"pkg": "pkg"}))
    assert matches is not None
    commit, path = story.history().lost("pkg/m.py", matches)
    assert commit is not None
    assert (commit.number, path) == (breaking, "pkg/m.py")


NOISE, QUIET = _source("noise()"), _source("quiet()")


@pytest.mark.parametrize(
    ("first", "then", "number", "now"),
    [
        (NOISE, [{"pkg/n.py": NOISE}, {"pkg/n.py": QUIET}], 2, "pkg/n.py"),
        (NOISE, [{"pkg/m.py": NOISE + b"# more\n"}, {}], 2, None),
        (QUIET, [{"pkg/m.py": _source("still()")}], None, "pkg/m.py"),
    ],
    ids=["renamed before", "deleted", "it never matched alone"],
)
def test_a_file_that_no_longer_matches_is_the_fault_of_a_commit_and_has_a_name_or_none(
    tmp_path: Path, first: bytes, then: list[Files], number: int | None, now: str | None
) -> None:
    story = Story(tmp_path, {"pkg/m.py": first, "z": b"z"})
    for count, files in enumerate(then, 1):
        story.then(f"change (#{count})", {**files, "z": b"z"})
    commit, path = story.history().lost("pkg/m.py", lambda data: b"noise" in data)
    assert (commit and commit.number, path) == (number, now)
