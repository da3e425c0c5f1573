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

Test = Callable[[bytes], bool]


def emptied(paths: Collection[str], history: History) -> Commit | None:
    """The commit that removed the last of these paths; None if one still exists, or without history."""
    left: set[str | None] = set(paths)
    culprit: Commit | None = None
    for commit in history.touching(paths):
        gone = {change.path for change in commit.changes if change.status == "D"}
        left -= gone | {change.source for change in commit.changes}
        left |= {change.path for change in commit.changes if change.path in paths} - gone
        culprit = None if left else culprit or commit
    return culprit


def lost(path: str, matches: Test, history: History) -> tuple[Commit | None, str | None]:
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
    if deletion is None and _matches_at(commits[-1], names, matches, history):
        return (renames[0][0] if renames else None), names[-1]  # only its name changed
    last = len(commits) if deletion else len(commits) - 1
    number = _first(last, lambda number: not _matches_at(commits[number], names, matches, history))
    commit = deletion if number == len(commits) else commits[number]
    return commit, None if deletion else names[-1]


def wrote(path: str, there: Test, history: History) -> Commit | None:
    """The commit since which a file of the new upstream matches; None if it always did.

    The commits that changed the file are bisected, under the names that it had.
    """
    commits = history.touching_backwards(path)
    arrival = history.arrival(path)
    names = [arrival.source, path] if arrival and arrival.source else [path]
    before = history.blob(history.old, names[0])
    if not commits or (before is not None and there(before)):
        return None
    return commits[
        _first(len(commits) - 1, lambda number: _matches_at(commits[number], names, there, history))
    ]


def _first(last: int, holds: Callable[[int], bool]) -> int:
    """The first number up to `last` from which on something holds, as it does at the last."""
    before = -1
    while last - before > 1:
        middle = (before + last) // 2
        if holds(middle):
            last = middle
        else:
            before = middle
    return last


def _matches_at(commit: Commit, names: Sequence[str], matches: Test, history: History) -> bool:
    """Whether the file matches at a commit, under the last of its names that exists there."""
    versions = (history.blob(commit.id, name) for name in reversed(names))
    data = next((data for data in versions if data is not None), None)
    return data is not None and matches(data)


def matcher(
    stated: Stated, path: str, packages: Mapping[str, str], overlays: Mapping[str, bytes]
) -> Test | None:
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
    except SyntaxError:
        return False
    if edit.kind == "add-import":
        return True
    plan = structural.plan(module, [(edit, target)], overlays)
    return bool(plan.records) and not plan.problems
