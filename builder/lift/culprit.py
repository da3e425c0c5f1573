"""Finds the upstream commit with which a rule or an edit stopped matching."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from builder.lift.history import Commit, History
from builder.lift.statements import Stated
from builder.manifest.statements import AnchoredEdit, Edit, TomlEdit, WholeFile
from builder.overlay import anchored, structural, toml
from builder.overlay.files import differs
from builder.overlay.locate import resolve
from builder.source.parse import parse


def emptied(paths: Collection[str], history: History) -> Commit | None:
    """The commit that removed the last of these paths; None if one still exists, or without history."""
    left = set(paths)
    culprit: Commit | None = None
    for commit in history.touching(paths):
        for change in commit.changes:
            if change.source in paths:
                left.discard(str(change.source))
            if change.path in paths:
                if change.status == "D":
                    left.discard(change.path)
                else:
                    left.add(change.path)
        if not left and culprit is None:
            culprit = commit
        elif left:
            culprit = None
    return culprit


def lost(path: str, matches: Callable[[bytes], bool], history: History) -> tuple[Commit | None, str | None]:
    """(the commit after which a file no longer matched, the path that the file has then).

    The file is followed through renames; the commits that changed it are bisected, so a file that lost and
    regained the match in between gives one of the losses. The path is None when the file was deleted.
    """
    before = history.blob(history.old, path)
    if before is None or not matches(before):
        return None, path  # it never matched alone: it depends on an earlier edit
    renames, deletion = history.fate(path)
    names = [path, *(name for _, name in renames)]
    commits = history.touching(names)
    if not commits:
        return None, path
    low, high = -1, len(commits)  # matches after low (-1: at the old commit), not after high
    if deletion is None:
        high = len(commits) - 1
        if matches_at(commits[high], names, matches, history):
            return (renames[0][0] if renames else None), names[-1]  # only its name changed
    while high - low > 1:
        middle = (low + high) // 2
        if matches_at(commits[middle], names, matches, history):
            low = middle
        else:
            high = middle
    commit = deletion if high == len(commits) else commits[high]
    return commit, None if deletion else names[-1]


def matches_at(
    commit: Commit, names: Sequence[str], matches: Callable[[bytes], bool], history: History
) -> bool:
    """Whether the file matches at a commit, under the last of its names that exists there."""
    for name in reversed(names):
        data = history.blob(commit.id, name)
        if data is not None:
            return matches(data)
    return False


def wrote(path: str, there: Callable[[bytes], bool], history: History) -> Commit | None:
    """The commit since which a file of the new upstream matches; None if it always did.

    The commits that changed the file are bisected, under the names that it had.
    """
    commits = history.touching_backwards(path)
    arrival = history.arrival(path)
    names = [arrival.source, path] if arrival and arrival.source else [path]
    before = history.blob(history.old, names[0])
    if not commits or (before is not None and there(before)):
        return None
    low, high = -1, len(commits) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if matches_at(commits[middle], names, there, history):
            high = middle
        else:
            low = middle
    return commits[high]


def matcher(
    stated: Stated, path: str, packages: Mapping[str, str], overlays: Mapping[str, bytes]
) -> Callable[[bytes], bool] | None:
    """Whether an edit of a file finds what it states in a version of it; None for other statements."""
    if isinstance(stated, Edit):
        return lambda data: _edits(stated, path, packages, overlays, data)
    if isinstance(stated, TomlEdit):
        return lambda data: bool(toml.edit(path, data, [stated])[2])
    if isinstance(stated, AnchoredEdit):
        return lambda data: bool(anchored.edit(path, data, [stated])[2])
    if isinstance(stated, WholeFile):
        return lambda data: differs(stated, data) is None
    return None


def _edits(
    edit: Edit, path: str, packages: Mapping[str, str], overlays: Mapping[str, bytes], data: bytes
) -> bool:
    target = resolve(edit.target, packages, {path: None})
    if target is None:
        return False
    try:
        module = parse(data, path)
    except (SyntaxError, ValueError, RecursionError):
        return False
    if edit.kind == "add-import":
        return True
    plan = structural.plan(module, [(edit, target)], overlays)
    return bool(plan.records) and not plan.problems
