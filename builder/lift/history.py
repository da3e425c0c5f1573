"""Upstream's history between two commits: first parents only, with renames, read by one `git log`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from builder.tree import Tree
from builder.upstream import git
from builder.upstream.git import GitBlobs
from builder.upstream.model import Upstream

#: Digits of a commit in a sentence.
SHORT = 9
_NUMBER = re.compile(r"\(#(\d+)\)\s*$")


@dataclass(frozen=True, slots=True)
class Change:
    """What one commit did to one path. `status`: A, M, D, T, or R for a file that came from `source`."""

    status: str
    path: str
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit on the way, with what it changed against its first parent."""

    id: str
    subject: str
    changes: tuple[Change, ...] = ()

    @property
    def number(self) -> int | None:
        """The pull request that the subject names at its end."""
        match = _NUMBER.search(self.subject)
        return int(match[1]) if match else None

    def __str__(self) -> str:
        return self.id[:SHORT] + (f" (#{self.number})" if self.number else "")


@dataclass(frozen=True, slots=True)
class Arrival:
    """How a path arrived: the commit, and its former path if it was renamed on the way."""

    commit: Commit
    source: str | None = None


@dataclass(frozen=True)
class History:
    """Commits from old to new, oldest first. Empty (and `known` false) where the two have no common
    repository: an upstream from an sdist, or a cached clone that holds single commits."""

    commits: tuple[Commit, ...] = ()
    git_dir: Path | None = None
    old: str = ""
    known: bool = False

    @cached_property
    def _touching(self) -> Mapping[str | None, tuple[int, ...]]:
        """The numbers of the commits that changed a path, or renamed it."""
        positions: dict[str | None, dict[int, None]] = {}
        for number, commit in enumerate(self.commits):
            for change in commit.changes:
                for path in (change.path, change.source):
                    positions.setdefault(path, {})[number] = None
        return {path: tuple(numbers) for path, numbers in positions.items()}

    def touching(self, paths: Iterable[str]) -> tuple[Commit, ...]:
        """The commits that changed one of these paths, oldest first."""
        numbers = sorted({n for path in paths for n in self._touching.get(path, ())})
        return tuple(self.commits[n] for n in numbers)

    def fate(self, path: str) -> tuple[tuple[tuple[Commit, str], ...], Commit | None]:
        """What became of a path of the old commit: the renames that it went through, in order, and the
        commit that deleted it in the end (None: it is still there, or it never was)."""
        renames: list[tuple[Commit, str]] = []
        deletion: Commit | None = None
        for number, commit in enumerate(self.commits):
            for change in commit.changes if number in self._touching.get(path, ()) else ():
                if change.status == "R" and change.source == path:
                    renames.append((commit, change.path))
                    path, deletion = change.path, None
                    break
                if change.path == path:
                    deletion = commit if change.status == "D" else None
        return tuple(renames), deletion

    def arrival(self, path: str) -> Arrival | None:
        """The commit with which a path of the new commit came last, and the path it was at the start."""
        came: Commit | None = None
        name = path
        for commit in reversed(self.touching_backwards(path)):
            change = next((c for c in commit.changes if c.path == name and c.status in ("A", "R")), None)
            if change is not None:
                came = came or commit
                if change.source is None:
                    break
                name = change.source
        return Arrival(came, name if name != path else None) if came else None

    def touching_backwards(self, path: str) -> tuple[Commit, ...]:
        """The commits that changed a path or what it was renamed from, oldest first."""
        names = [path]
        for name in names:  # which grows
            for number in self._touching.get(name, ()):
                for change in self.commits[number].changes:
                    if change.path == name and change.source and change.source not in names:
                        names.append(change.source)
        return self.touching(names)

    def blob(self, commit: str, path: str) -> bytes | None:
        """A file at a commit; None when it has no such file."""
        if self.git_dir is None:
            return None
        try:
            blob = git.read_object(self.git_dir, f"{commit}:{path}")
        except git.GitError:
            return None
        return blob[2] if blob is not None and blob[1] == "blob" else None


def between(old: Upstream, new: Upstream) -> History:
    """The history from one upstream to the other, as far as one repository has both commits."""
    if not isinstance(new.blobs, GitBlobs) or not old.commit or not new.commit:
        return History()
    git_dir = new.blobs.git_dir
    if git.types(git_dir, [old.commit]).get(old.commit) != "commit":
        return History()
    try:
        if not git.run(git_dir, "merge-base", old.commit, new.commit).strip():
            return History()
        out = git.run(
            git_dir, "log", "--first-parent", "--diff-merges=first-parent", "--reverse", "-z", "-M",
            "--name-status", "--format=%x01%H%x00%s", f"{old.commit}..{new.commit}", "--",
        )  # fmt: skip
    except git.GitError:
        return History()
    return History(tuple(parse_log(out)), git_dir, old.commit, True)


def parse_log(out: bytes) -> list[Commit]:
    """The commits of `git log -z --name-status --format=%x01%H%x00%s`.

    The kind of a field follows from the one before it, so a subject or a name may hold any byte but NUL.
    """
    fields = iter(out.decode("utf-8", "surrogateescape").split("\0"))
    commits: list[tuple[str, str, list[Change]]] = []
    for field in fields:
        word = field.lstrip("\n")
        if word.startswith("\x01"):
            commits.append((word[1:], next(fields, "").rstrip("\n"), []))
        elif word:
            source = next(fields, "") if word[0] == "R" else None
            commits[-1][2].append(Change(word[0], next(fields, ""), source))
    return [Commit(name, subject, tuple(changes)) for name, subject, changes in commits]


def same_content(old: Tree, new: Tree) -> dict[str, str]:
    """New path -> the deleted path with the same bytes: the renames that are certain without a history.

    Content that several paths share (an empty file) proves nothing.
    """
    deleted: dict[str, list[str]] = {}
    came: dict[str, list[str]] = {}
    for tree, other, paths_by_blob in ((old, new, deleted), (new, old, came)):
        for path, entry in tree.items():
            if path not in other:
                paths_by_blob.setdefault(entry.blob, []).append(path)
    kept = {entry.blob for path, entry in old.items() if path in new}
    return {
        paths[0]: deleted[blob][0]
        for blob, paths in came.items()
        if len(paths) == 1 and len(deleted.get(blob, ())) == 1 and blob not in kept
    }


def distances(commits: Iterable[str], new: Upstream) -> dict[str, int]:
    """For each of these commits that `new` descends from, the number of first-parent commits between."""
    distances_by_commit: dict[str, int] = {}
    if not isinstance(new.blobs, GitBlobs) or not new.commit:
        return distances_by_commit
    git_dir = new.blobs.git_dir
    for commit in commits:
        try:
            if git.run(git_dir, "merge-base", commit, new.commit).decode().strip() == commit:
                way = f"{commit}..{new.commit}"
                count = git.run(git_dir, "rev-list", "--first-parent", "--count", way, "--")
                distances_by_commit[commit] = int(count)
        except git.GitError:
            continue
    return distances_by_commit
