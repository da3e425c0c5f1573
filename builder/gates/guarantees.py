"""G007: what the manifest guarantees to be absent is absent, and what must be present is present."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from builder.errors import Mark, Problem
from builder.gates.world import Explained, World
from builder.manifest.model import AbsentText, Manifest, TextException
from builder.tree import GITLINK, SYMLINK, Snapshot

#: Places of one pattern that are listed one by one; the others are counted.
SHOWN = 20


def check(before: World, after: World, manifest: Manifest, explained: Explained) -> list[Problem]:
    """Problems for forbidden text, exceptions that excuse nothing, and missing paths or names."""
    problems: list[Problem] = []
    lowered: dict[str, bytes] = {}
    for promise in manifest.guarantees.absent_text:
        problems += _absent(promise, after.snapshot, lowered)
    for name, mark in manifest.guarantees.present:
        if name in after.snapshot or (name.endswith("/") and any(p.startswith(name) for p in after.snapshot)):
            continue
        if "/" not in name and after.index.locate(name) is not None:
            continue
        reason = explained.path(name) or explained.symbol(name) or explained.module(name, manifest.packages)
        problems.append(
            Problem(
                "G007",
                f"{name} must be in the output, and is not" + (f": {reason}" if reason else ""),
                mark,
                hint=None if reason or name in before.snapshot else "upstream does not have it either",
            )
        )
    return problems


def _absent(promise: AbsentText, snapshot: Snapshot, lowered: dict[str, bytes]) -> list[Problem]:
    try:
        pattern = re.compile(promise.pattern)
        raw = re.compile(promise.pattern.encode(), re.MULTILINE)  # a line at a time, as below
    except re.error as error:
        return [Problem("G007", f"{promise.pattern!r} is not a regular expression: {error}", promise.mark)]
    needles = _needles(promise.pattern)
    paths = sorted(_matching(promise.paths, snapshot))
    excuses = [(e, _matcher((e.path,))) for e in promise.exceptions]
    used: set[TextException] = set()
    found: list[Problem] = []
    count, files = 0, set()
    for path in paths:
        data = snapshot[path]
        if needles is not None:
            if path not in lowered:
                lowered[path] = data.lower()
            if not any(n in lowered[path] for n in needles):
                continue
        if not raw.search(data):
            continue
        here = [e for e, matches in excuses if matches(path)]
        for line, text in _lines(pattern, data):
            excused = [e for e in here if e.text is None or e.text in text]
            used.update(excused)
            if excused:
                continue
            count += 1
            files.add(path)
            if count <= SHOWN:
                found.append(
                    Problem(
                        "G007",
                        f"{path}:{line}: {promise.pattern!r} must not occur here",
                        promise.mark,
                        Mark(path, line),
                        excerpt=text.strip()[:200],
                    )
                )
    if count > SHOWN:
        message = (
            f"{promise.pattern!r} occurs {count} times in {len(files)} files; the first {SHOWN} are listed"
        )
        found.append(Problem("G007", message, promise.mark))
    for exception in promise.exceptions:
        if exception not in used and not exception.optional:
            text = f" with {exception.text!r}" if exception.text is not None else ""
            found.append(
                Problem(
                    "G007",
                    f"the exception {exception.path}{text} of {promise.pattern!r} excuses nothing",
                    exception.mark,
                    hint="remove it",
                )
            )
    if not paths:
        found.append(
            Problem("G007", f"the paths of {promise.pattern!r} match no file of the output", promise.mark)
        )
    return found


def _lines(pattern: re.Pattern[str], data: bytes) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), 1):
        if pattern.search(line):
            yield number, line


def _needles(pattern: str) -> tuple[bytes, ...] | None:
    """Lower-case literals, one of which every match contains; None when that is not obvious.

    A plain search for them is many times faster than the expression, which begins with `\\b`.
    """
    # what has no characters of its own becomes a dot, so that a quantifier after it stays its own
    bare = re.sub(r"\\[bB]|\(\?<?[=!][^()]*\)|[\^$]", ".", pattern.removeprefix("(?i)"))
    bare = re.sub(r"\[\^?\]?[^\]]*\]|\\[.wdsWDS]", ".", bare)
    if group := re.fullmatch(r"\.*\((?:\?:|(?!\?))([^()]*)\)\.*", bare):
        bare = group[1]
    if re.search(r"[()\\\[\]]", bare):
        return None
    # what a quantifier may make optional does not count
    bare = re.sub(r".(?:[*?]|\{[^}]*\})", ".", bare, flags=re.DOTALL)
    options = [re.findall(r"[A-Za-z0-9_ \-]+", option) for option in bare.split("|")]
    if not all(options):
        return None
    return tuple(max(runs, key=len).lower().encode() for runs in options)


def _matcher(patterns: tuple[str, ...]) -> Callable[[str], bool]:
    from pathspec import PathSpec

    spec = PathSpec.from_lines("gitignore", patterns, backend="simple")
    return lambda path: bool(spec.match_file(path))


def _matching(patterns: tuple[str, ...], snapshot: Snapshot) -> Iterable[str]:
    matches = _matcher(patterns)
    tree = snapshot.tree
    return (p for p in snapshot if tree[p].mode not in (SYMLINK, GITLINK) and matches(p))
