"""The branch: one commit a batch, deterministic, ending in the output's tree."""

from __future__ import annotations

import subprocess
from pathlib import Path

from gate_worlds import snapshot

from builder.emit.figures import line_counts
from builder.emit.ledger import rows
from builder.errors import Mark
from builder.manifest.statements import Reason
from builder.pipeline.git_branch import stream
from builder.tree import EXECUTABLE, FILE, SYMLINK, blob_id

UPSTREAM = {
    "kept.py": (FILE, b"x = 1\n"),
    "edited.py": (EXECUTABLE, b"y = 1\nz = 2\n"),
    "gone/one.py": (FILE, b"a\n"),
    "gone/two words.py": (FILE, b"b\n"),
    "odd\tname": (FILE, b""),
    "link": (SYMLINK, b"kept.py"),
}
OUTPUT = {
    "kept.py": (FILE, b"x = 1\n"),
    "edited.py": (EXECUTABLE, b"y = 1\n"),
    "new.py": (FILE, b"ours\n"),
    "link": (SYMLINK, b"kept.py"),
}
REASONS = {
    "kept.py": "base",
    "edited.py": "facts",
    "gone/one.py": "first",
    "gone/two words.py": "second",
    "odd\tname": "second",
    "link": "base",
    "new.py": "first",
}


def git(folder: Path, *arguments: str, data: bytes = b"") -> str:
    done = subprocess.run(["git", "-C", str(folder), *arguments], input=data, capture_output=True, check=True)
    return done.stdout.decode().strip()


def repository(folder: Path) -> str:
    """A bare repository with one commit of UPSTREAM; its id."""
    folder.mkdir()
    git(folder, "init", "--quiet", "--bare")
    for _, data in UPSTREAM.values():
        git(folder, "hash-object", "-w", "--stdin", data=data)
    listing = "".join(f"{m} {blob_id(d)}\t{p}\0" for p, (m, d) in UPSTREAM.items())
    git(folder, "update-index", "-z", "--index-info", data=listing.encode())
    tree = git(folder, "write-tree")
    who = ["-c", "user.name=u", "-c", "user.email=u@example.invalid"]
    return git(folder, *who, "commit-tree", "-m", "upstream", tree)


def commits(folder: Path) -> str:
    parent = repository(folder)
    before, after = snapshot(UPSTREAM), snapshot(OUTPUT)
    why = {p: [Reason(b, "rule", Mark("manifest.yaml", 1, 1))] for p, b in REASONS.items()}
    ledger = rows(before.tree, after.tree, why, line_counts(before), line_counts(after))
    whys = {"base": "b", "first": "one", "second": "two", "idle": "no"}
    data = stream("refs/heads/cut", ledger, after, whys, "Upstream: x\n", parent, 1_700_000_000)
    git(folder, "fast-import", "--quiet", data=data)
    return parent


def test_the_branch_ends_in_the_tree_of_the_output(tmp_path: Path) -> None:
    commits(tmp_path / "r")
    assert git(tmp_path / "r", "rev-parse", "cut^{tree}") == snapshot(OUTPUT).tree.id


def test_each_batch_that_changes_something_is_one_commit_in_the_manifests_order(tmp_path: Path) -> None:
    parent = commits(tmp_path / "r")
    subjects = git(tmp_path / "r", "log", "--reverse", "--format=%s", f"{parent}..cut").splitlines()
    assert subjects == ["Cut first", "Cut second", "Cut facts"]
    changed = git(tmp_path / "r", "show", "-z", "--format=", "--name-status", "cut~1").split("\0")
    assert changed[:4] == ["D", "gone/two words.py", "D", "odd\tname"]
    body = git(tmp_path / "r", "log", "-1", "--format=%b", "cut~2")
    assert "one" in body
    assert "Files: 1 removed, 0 edited, 1 added." in body


def test_two_repositories_get_the_same_commit_when_the_parent_is_the_same(tmp_path: Path) -> None:
    commits(tmp_path / "r")
    copy = tmp_path / "copy"
    subprocess.run(["git", "clone", "--quiet", "--bare", str(tmp_path / "r"), str(copy)], check=True)
    assert git(copy, "rev-parse", "cut") == git(tmp_path / "r", "rev-parse", "cut")
    dates = git(tmp_path / "r", "log", "-1", "--format=%at %ct %an", "cut")
    assert dates == "1700000000 1700000000 sglang-deepseek-builder"
