"""Upstream's history between two commits: first parents only, with renames, read by one `git log`.

The commit with which a file stopped or began to match is found by bisecting those that changed it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from builder.tree import Tree
from builder.upstream import git
from builder.upstream.git import GitBlobs
from builder.upstream.model import Upstream

#: Digits of a commit in a sentence.
SHORT = 9
Test = Callable[[bytes], bool]
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

    @property
    def cited(self) -> str:
        """It with its subject, as code: in a pull request, a bare `#1` would link to another project's issue,
        and a bare `@name` would notify that person."""
        subject = self.subject.removesuffix(f"(#{self.number})").strip()
        return f"`{self} {subject.replace('`', chr(39))}`"


@dataclass(frozen=True)
class History:
    """Commits from old to new, oldest first. Empty, and without `git_dir`, where the two have no common
    repository: an upstream from an sdist, or a cached clone that holds single commits."""

    commits: tuple[Commit, ...] = ()
    git_dir: Path | None = None
    old: str = ""

    @property
    def known(self) -> bool:
        return self.git_dir is not None

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
        """Return the renames that a path of the old commit went through, in order, and the commit that
        deleted it in the end (None: it is still there, or it never was)."""
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

    def emptied(self, paths: Iterable[str]) -> Commit | None:
        """The commit with which the last of these paths left; None if one is still there."""
        losses = {renames[0][0] if renames else gone for renames, gone in map(self.fate, paths)}
        return None if None in losses else max(losses, key=self.commits.index, default=None)

    def origin(self, path: str) -> tuple[list[str], Commit | None]:
        """Return the names that a path of the new commit had, the oldest last, and the commit with which it
        came (None: it was there at the old one)."""
        names, last = [path], len(self.commits)
        came: Commit | None = None
        for name in names:  # which grows
            for number in reversed(self._touching.get(name, ())):
                changes = self.commits[number].changes if number < last else ()
                change = next((c for c in changes if c.path == name and c.status in ("A", "R")), None)
                if change is not None:
                    came, last = came or self.commits[number], number
                    names += [change.source] if change.source else []
                    break
        return names, came

    def blob(self, commit: str, path: str) -> bytes | None:
        """A file at a commit; None when it has no such file."""
        blob = None
        if self.git_dir is not None:
            with suppress(git.GitError):
                blob = git.read_object(self.git_dir, f"{commit}:{path}")
        return blob[2] if blob is not None and blob[1] == "blob" else None

    def lost(self, path: str, matches: Test) -> tuple[Commit | None, str | None]:
        """Return the commit after which a file no longer matched, and the path that the file has then.

        The file is followed through renames; the commits that changed it are bisected, so a file that lost
        and regained the match in between gives one of the losses. The path is None when the file was deleted.
        """
        before = self.blob(self.old, path)
        if before is None or not matches(before):
            return None, path  # it never matched alone: it depends on an earlier edit
        renames, deletion = self.fate(path)
        names = [*(name for _, name in reversed(renames)), path]
        commits = self.touching(names)
        if not commits:
            return None, path
        if deletion is None and self._matches(commits[-1], names, matches):
            return (renames[0][0] if renames else None), names[0]  # only its name changed
        commit = _first(commits, lambda commit: not self._matches(commit, names, matches))
        return commit, None if deletion else names[0]

    def wrote(self, path: str, text: re.Pattern[bytes]) -> Commit | None:
        """The commit since which a file of the new upstream has a text; None if it always had it.

        The commits that changed the file are bisected, under the names that it had.
        """
        names, _ = self.origin(path)
        commits, before = self.touching(names), self.blob(self.old, names[-1])
        if not commits or (before is not None and text.search(before)):
            return None
        return _first(commits, lambda commit: self._matches(commit, names, lambda d: bool(text.search(d))))

    def _matches(self, commit: Commit, names: Sequence[str], matches: Test) -> bool:
        """Return whether the file matches at a commit, under the first of its names that exists there."""
        versions = (self.blob(commit.id, name) for name in names)
        data = next((data for data in versions if data is not None), None)
        return data is not None and matches(data)


def _first(commits: Sequence[Commit], holds: Callable[[Commit], bool]) -> Commit:
    """Return the first commit from which on something holds, as it does at the last."""
    return commits[bisect_left(commits[:-1], True, key=holds)]


def since(commit: Commit | None) -> str:
    """A clause with the commit that did something, if it is known."""
    return f", since `{commit}`" if commit else ""


def between(old: Upstream, new: Upstream) -> History:
    """The history from one upstream to the other, as far as one repository has both commits."""
    if not isinstance(new.blobs, GitBlobs):
        return History()
    git_dir = new.blobs.git_dir
    try:
        git.run(git_dir, "merge-base", old.commit, new.commit)  # fails where they have no common history
        out = git.run(
            git_dir, "log", "--first-parent", "--diff-merges=first-parent", "--reverse", "-z", "-M",
            "--name-status", "--format=%x01%H%x00%s", f"{old.commit}..{new.commit}", "--",
        )  # fmt: skip
    except git.GitError:
        return History()
    return History(tuple(parse_log(out)), git_dir, old.commit)


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
    before, after = Counter(e.blob for e in old.values()), Counter(e.blob for e in new.values())
    deleted = {entry.blob: path for path, entry in old.items() if path not in new}
    return {
        path: deleted[entry.blob]
        for path, entry in new.items()
        if path not in old and entry.blob in deleted and before[entry.blob] == after[entry.blob] == 1
    }


def distances(commits: Iterable[str], new: Upstream) -> dict[str, int]:
    """For each of these commits that `new` descends from, the number of first-parent commits between."""
    counts: dict[str, int] = {}
    if isinstance(new.blobs, GitBlobs):
        for commit in commits:
            with suppress(git.GitError):
                git.run(new.blobs.git_dir, "merge-base", "--is-ancestor", commit, new.commit)
                way = f"{commit}..{new.commit}"
                count = git.run(new.blobs.git_dir, "rev-list", "--first-parent", "--count", way, "--")
                counts[commit] = int(count)
    return counts
