"""Reading trees and blobs: raw bytes, checked, whatever the repository or the environment says."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import pytest
from upstream_repo import Repo

from builder.errors import BuildError
from builder.tree import Entry, Tree, blob_id
from builder.upstream import git
from builder.upstream.git import GitBlobs, GitError, git_dir_of, list_tree, read_blobs


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "repo.git")


def test_modes_links_and_awkward_names_are_kept_as_they_are(repo: Repo) -> None:
    link = repo.blob(b"../../outside")
    gitlink = "1" * 40
    files = {
        "run.sh": ("100755", repo.blob(b"#!/bin/sh\n")),
        "link": ("120000", link),
        "sub": ("160000", gitlink),
        b"caf\xe9.txt": b"latin-1 name",
        "tab\tand\nnewline": b"x",
        "naïve/ファイル": b"utf-8 name",
        "Case.py": b"1",
        "case.py": b"2",
        ".gitattributes": b"* text=auto eol=crlf export-subst\n",
        "crlf.txt": b"a\r\nb\n$Format:%H$\n",
        "empty": b"",
    }
    tree_id = repo.tree(files)
    tree = list_tree(repo.path, tree_id)

    assert tree.id == tree_id
    assert tree["run.sh"].mode == "100755"
    assert tree["link"] == Entry("120000", link)
    assert tree["sub"] == Entry("160000", gitlink)
    assert tree["caf\udce9.txt"].blob == blob_id(b"latin-1 name")
    assert {"tab\tand\nnewline", "naïve/ファイル", "Case.py", "case.py"} <= set(tree)
    got = read_blobs(repo.path, [e.blob for e in tree.values() if e.mode != "160000"])
    assert got[tree["crlf.txt"].blob] == b"a\r\nb\n$Format:%H$\n"
    assert got[tree["empty"].blob] == b""


def test_many_blobs_are_read_by_two_processes_and_none_is_lost(repo: Repo) -> None:
    contents = [f"{i}\n".encode() * (i % 7 * 50) + f"end {i}".encode() for i in range(300)]
    ids = [repo.blob(data) for data in contents[:150]]
    repo.git("repack", "-a", "-d", "-q")
    ids += [repo.blob(data) for data in contents[150:]]

    got = GitBlobs(repo.path).read([*ids, ids[0]])

    assert got == {blob_id(data): data for data in contents}


def test_a_blob_that_is_larger_than_every_pipe_is_read_whole(repo: Repo) -> None:
    data = os.urandom(1 << 20) * 8
    assert read_blobs(repo.path, [repo.blob(data)]) == {blob_id(data): data}


def test_reading_no_blobs_starts_no_git(tmp_path: Path) -> None:
    assert GitBlobs(tmp_path / "nowhere").read([]) == {}


@pytest.mark.parametrize("count", [1, 200])
def test_a_missing_blob_is_named(repo: Repo, count: int) -> None:
    ids = [repo.blob(str(i).encode()) for i in range(count)]
    gone = "f" * 40
    with pytest.raises(BuildError) as error:
        GitBlobs(repo.path).read([*ids, gone])
    (problem,) = error.value.problems
    assert problem.code == "U001"
    assert gone in problem.message


def test_a_tree_in_the_place_of_a_blob_is_refused(repo: Repo) -> None:
    with pytest.raises(GitError, match="is a tree, not a blob"):
        read_blobs(repo.path, [repo.tree({"a": b"a"})])


def test_a_loose_object_with_other_content_under_its_name_is_found_out(repo: Repo) -> None:
    oid = repo.blob(b"the truth")
    path = repo.path / "objects" / oid[:2] / oid[2:]
    path.chmod(0o644)
    path.write_bytes(zlib.compress(b"blob 5\0a lie"))
    with pytest.raises(BuildError, match=oid):
        GitBlobs(repo.path).read([oid])


def test_every_flipped_byte_of_a_pack_is_found_out(repo: Repo) -> None:
    ids = [repo.blob(f"file {i}\n".encode() * 40) for i in range(6)]
    repo.commit({f"f{i}": ("100644", oid) for i, oid in enumerate(ids)}, "refs/heads/main")
    repo.git("repack", "-a", "-d", "-q")
    (pack,) = repo.path.glob("objects/pack/*.pack")
    sound = pack.read_bytes()
    pack.chmod(0o644)
    expected = read_blobs(repo.path, ids)
    for at in range(12, len(sound) - 20, 37):
        pack.write_bytes(sound[:at] + bytes([sound[at] ^ 0x5A]) + sound[at + 1 :])
        try:
            assert read_blobs(repo.path, ids) == expected  # the byte belongs to something else
        except GitError as error:
            assert error.reason
    pack.write_bytes(sound[: len(sound) // 3])
    with pytest.raises(GitError):
        read_blobs(repo.path, ids)


def test_repair_is_called_once_and_reading_starts_again(repo: Repo) -> None:
    data = b"comes later"
    calls: list[int] = []

    def repair() -> None:
        calls.append(1)
        repo.blob(data)

    assert GitBlobs(repo.path, repair).read([blob_id(data)]) == {blob_id(data): data}
    assert calls == [1]


def test_a_repair_that_does_not_help_ends_in_an_error(repo: Repo) -> None:
    with pytest.raises(BuildError, match="U001"):
        GitBlobs(repo.path, lambda: None).read(["e" * 40])


@pytest.mark.parametrize("name", [b"..", b".", b".git", b".GIT"])
def test_a_tree_with_a_path_that_is_not_plain_is_refused(repo: Repo, name: bytes) -> None:
    blob = bytes.fromhex(repo.blob(b"x"))
    inner = repo.git(
        "hash-object", "-w", "-t", "tree", "--literally", "--stdin", stdin=b"100644 %s\0%s" % (name, blob)
    )
    outer = repo.git("mktree", stdin=f"040000 tree {inner}\tfolder\n".encode())
    with pytest.raises(GitError, match="not a plain path"):
        list_tree(repo.path, outer)


def test_a_tree_with_one_name_twice_is_refused(repo: Repo) -> None:
    rows = b"".join(b"100644 a\0" + bytes.fromhex(repo.blob(d)) for d in (b"1", b"2"))
    tree = repo.git("hash-object", "-w", "-t", "tree", "--literally", "--stdin", stdin=rows)
    with pytest.raises(GitError, match="damaged"):
        list_tree(repo.path, tree)


def test_the_empty_tree_can_be_read(repo: Repo) -> None:
    empty = repo.git("mktree", stdin=b"")
    assert list_tree(repo.path, empty) == Tree({})


def test_git_variables_of_the_caller_have_no_effect(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    oid = repo.blob(b"here")
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[core]\n\tbare = nonsense\n[alias]\n\tcat-file = !false\n")
    hostile = {
        "GIT_DIR": "/nonexistent",
        "GIT_OBJECT_DIRECTORY": "/nonexistent",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.bare",
        "GIT_CONFIG_VALUE_0": "nonsense",
        "GIT_CONFIG_PARAMETERS": "'core.bare'='nonsense'",
        "GIT_CONFIG_GLOBAL": str(home / ".gitconfig"),
        "GIT_TRACE": "2",
        "GIT_EXEC_PATH": "/nonexistent",
        "HOME": str(home),
        "LC_ALL": "tr_TR.UTF-8",
        "LANGUAGE": "de",
    }
    for key, value in hostile.items():
        monkeypatch.setenv(key, value)
    assert read_blobs(repo.path, [oid]) == {oid: b"here"}
    assert not [k for k in git.environment() if k.startswith("GIT_") and "CONFIG_COUNT" in k]


def test_git_directories_are_found_from_every_kind_of_folder(repo: Repo, tmp_path: Path) -> None:
    from upstream_repo import git as plain_git

    repo.commit({"a": b"a"}, "refs/heads/main")
    work, linked = tmp_path / "a folder", tmp_path / "linked"
    plain_git("clone", "-q", str(repo.path), str(work))
    plain_git("-C", str(work), "worktree", "add", "-q", str(linked), "-b", "other")
    assert git_dir_of(repo.path) == repo.path
    assert git_dir_of(work) == work / ".git"
    assert git_dir_of(work / ".git") == work / ".git"
    assert git_dir_of(linked) == work / ".git/worktrees/linked"
    for no in (tmp_path, tmp_path / "absent", tmp_path / "a\0b"):
        assert git_dir_of(no) is None


def test_a_bare_folder_without_a_config_file_is_read(repo: Repo) -> None:
    oid = repo.blob(b"x")
    (repo.path / "config").unlink()
    assert read_blobs(repo.path, [oid]) == {oid: b"x"}


def test_a_machine_without_git_is_told_so(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    for attempt in (lambda: git.run(repo.path, "version"), lambda: read_blobs(repo.path, ["a" * 40])):
        with pytest.raises(BuildError) as error:
            attempt()
        assert error.value.problems[0].code == "E003"


def test_the_version_of_git_is_new_enough_here() -> None:
    assert git.git_version() >= git.MINIMUM_GIT
