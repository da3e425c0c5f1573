"""Finds the upstream commit with which a file stopped or began to match, by bisecting its history."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence

from builder.lift.history import Commit, History
from builder.manifest.model import Manifest
from builder.manifest.statements import AnchoredEdit, Edit, Statement, TomlEdit, WholeFile
from builder.overlay import anchored, structural, toml
from builder.overlay.files import differs
from builder.overlay.locate import resolve

Test = Callable[[bytes], bool]


def lost(path: str, matches: Test, history: History) -> tuple[Commit | None, str | None]:
    """Return the commit after which a file no longer matched, and the path that the file has then.

    The file is followed through renames; the commits that changed it are bisected, so a file that lost and
    regained the match in between gives one of the losses. The path is None when the file was deleted.
    """
    before = history.blob(history.old, path)
    if before is None or not matches(before):
        return None, path  # it never matched alone: it depends on an earlier edit
    renames, deletion = history.fate(path)
    names = [*(name for _, name in reversed(renames)), path]
    commits = history.touching(names)
    if not commits:
        return None, path
    if deletion is None and _matches_at(commits[-1], names, matches, history):
        return (renames[0][0] if renames else None), names[0]  # only its name changed
    commit = _first(commits, lambda commit: not _matches_at(commit, names, matches, history))
    return commit, None if deletion else names[0]


def wrote(path: str, text: re.Pattern[bytes], history: History) -> Commit | None:
    """The commit since which a file of the new upstream has a text; None if it always had it.

    The commits that changed the file are bisected, under the names that it had.
    """
    names, _ = history.origin(path)
    commits, before = history.touching(names), history.blob(history.old, names[-1])
    if not commits or (before is not None and text.search(before)):
        return None
    return _first(commits, lambda commit: _matches_at(commit, names, lambda d: bool(text.search(d)), history))


def _first(commits: Sequence[Commit], holds: Callable[[Commit], bool]) -> Commit:
    """Return the first commit from which on something holds, as it does at the last."""
    return commits[bisect_left(commits[:-1], True, key=holds)]


def _matches_at(commit: Commit, names: Sequence[str], matches: Test, history: History) -> bool:
    """Return whether the file matches at a commit, under the first of its names that exists there."""
    versions = (history.blob(commit.id, name) for name in names)
    data = next((data for data in versions if data is not None), None)
    return data is not None and matches(data)


def matcher(stated: Statement, path: str, manifest: Manifest) -> Test | None:
    """Return a test of whether a version of a file has what an edit states; None for other statements."""
    match stated:
        case Edit():
            return lambda data: _edits(stated, path, manifest, data)
        case TomlEdit():
            return lambda data: bool(toml.edit(path, data, [stated])[2])
        case AnchoredEdit():
            return lambda data: bool(anchored.edit(path, data, [stated])[2])
        case WholeFile():
            return lambda data: differs(stated, data) is None
    return None


def _edits(edit: Edit, path: str, manifest: Manifest, data: bytes) -> bool:
    target = resolve(edit.target, manifest.packages, {path: None})
    if target is None or edit.kind == "add-import":
        return target is not None
    done = structural.edit(path, data, [(edit, target)], manifest.overlays)
    return bool(done.records) and not done.problems
