"""G007: what the manifest guarantees to be absent is absent, and what must be present is present."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from builder.analysis.indexed_tree import IndexedTree
from builder.analysis.removals import Removals
from builder.errors import Mark, Problem
from builder.gates import words
from builder.manifest.model import AbsentText, Manifest, TextException
from builder.select.patterns import literal_folder
from builder.tree import GITLINK, SYMLINK, Snapshot

#: Processor time that the search for one text may take; on the largest upstream the slowest takes a second.
MAX_SECONDS = 20.0
_SLOW_HINT = "a repetition in a repetition, such as (a+)+, tries every way to split a line: write it without"


def check(before: IndexedTree, after: IndexedTree, manifest: Manifest, removals: Removals) -> list[Problem]:
    """Problems for forbidden text, exceptions that excuse nothing, and missing paths or names."""
    problems: list[Problem] = []
    for promise in manifest.guarantees.absent_text:
        may_lack = _lacking(promise, before.snapshot, manifest)
        try:
            with time_limit(MAX_SECONDS):
                problems += _absent(promise, after.snapshot, may_lack)
        except TimeoutError:
            message = f"{promise.pattern!r} cannot be searched for within {MAX_SECONDS:g} s of processor time"
            problems.append(Problem("G007", message, promise.mark, hint=_SLOW_HINT))
    problems += words.check(after, manifest)
    scope_names = {(k.name, k.mark): True for item in manifest.scope for k in item.keeps}
    present = {(k.name, k.mark): False for k in manifest.guarantees.present}
    for (name, mark), may_lack in (present | scope_names).items():
        if _there(name, after):
            continue
        reason = removals.path(name) or removals.symbol(name) or removals.module(name)
        message = f"{name} must be in the output, and is not" + (f": {reason}" if reason else "")
        hint = None if reason or name in before.snapshot else "upstream does not have it either"
        nothing = may_lack and not _there(name, before)
        problems.append(Problem("G007", message, mark, hint=hint, nothing=nothing))
    return problems


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Run the block for at most so much processor time of this process; raises TimeoutError.

    A regular expression may need centuries for one line, and Python's `re` looks for signals while it
    matches. Only the main thread gets them; others have no limit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def expire(number: int, frame: FrameType | None) -> None:
        raise TimeoutError

    former = signal.signal(signal.SIGVTALRM, expire)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, former)


def _there(name: str, world: IndexedTree) -> bool:
    if "/" in name:
        snapshot = world.snapshot
        return name in snapshot or (name.endswith("/") and any(p.startswith(name) for p in snapshot))
    return name in world.snapshot or world.index.locate(name) is not None


def _lacking(promise: AbsentText, upstream: Snapshot, manifest: Manifest) -> bool:
    """Return whether the guarantee concerns only packages that a partial upstream lacks."""
    present = {path.partition("/")[0] for path in upstream}
    absent = {folder.partition("/")[0] for folder in manifest.packages.values()} - present
    return all((literal_folder(path) or "").partition("/")[0] in absent for path in promise.paths)


def _absent(promise: AbsentText, snapshot: Snapshot, may_lack: bool) -> list[Problem]:
    try:
        pattern = re.compile(promise.pattern, re.MULTILINE)
    except re.error as error:
        return [Problem("G007", f"{promise.pattern!r} is not a regular expression: {error}", promise.mark)]
    matches_path = _matcher(promise.paths)
    plain = (path for path, entry in snapshot.tree.items() if entry.mode not in (SYMLINK, GITLINK))
    paths = sorted(filter(matches_path, plain))
    excuses = [(e, _matcher((e.path,))) for e in promise.exceptions]
    used: set[TextException] = set()
    problems: list[Problem] = []
    for path in paths:
        here = [e for e, matches in excuses if matches(path)]
        for number, line in _matching_lines(pattern, snapshot[path].decode("utf-8", "replace")):
            excused = [e for e in here if e.text is None or e.text in line]
            used.update(excused)
            if not excused:
                message = f"{path}:{number}: {promise.pattern!r} must not occur here"
                place, cause = Mark(path, number), f"{promise.pattern} in {promise.paths}"
                excerpt = line.strip()[:200]
                problems.append(Problem("G007", message, promise.mark, place, excerpt, cause=cause))
    for exception in promise.exceptions:
        if exception not in used:
            text = f" with {exception.text!r}" if exception.text is not None else ""
            message = f"the exception {exception.path}{text} of {promise.pattern!r} excuses nothing"
            hint = "remove it, or say by `since` or `until` which versions need it"
            problems.append(Problem("G007", message, exception.mark, hint=hint, nothing=True))
    if not paths and not may_lack:
        message = f"the paths of {promise.pattern!r} match no file of the output"
        problems.append(Problem("G007", message, promise.mark))
    return problems


def _matching_lines(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, str]]:
    """Number (from 1) and text of each line in which a pattern occurs; most files have none."""
    if pattern.search(text):
        yield from ((number, line) for number, line in enumerate(text.split("\n"), 1) if pattern.search(line))


def _matcher(patterns: tuple[str, ...]) -> Callable[[str], bool]:
    from pathspec import PathSpec

    spec = PathSpec.from_lines("gitignore", patterns, backend="simple")
    return lambda path: bool(spec.match_file(path))
