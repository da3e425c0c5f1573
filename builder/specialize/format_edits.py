"""Layout of what the edits touched: the formatter's hunks there, and nowhere else.

Upstream's files are formatted already, so formatting an edited file changes only what our edits left
behind: parentheses, blank lines, joined lines. A hunk that touches no edited line is not taken.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from builder import ruff
from builder.adapter import PROGRAM
from builder.source.parse import BOM
from builder.source.textdiff import runs

Change = tuple[int, int, int, int]  # lines [a1, a2) of the one text became lines [b1, b2) of the other


def changes(before: Sequence[bytes], after: Sequence[bytes]) -> list[Change]:
    """The stretches of lines in which two texts differ, in order."""
    found: list[Change] = []
    left = right = 0
    for run in runs(before, after):
        if run.left > left or run.right > right:
            found.append((left, run.left, right, run.right))
        left, right = run.left + run.length, run.right + run.length
    return found


def format_edits(before: bytes, after: bytes, formatted: bytes) -> bytes:
    """`after` with those hunks of `formatted` that our edits made necessary (see `_ours`), and with those
    that these make necessary in their turn."""
    while after != (better := _polished(before, after, formatted)):
        after = better
    return after


def _polished(before: bytes, after: bytes, formatted: bytes) -> bytes:
    if after == formatted:
        return after
    old, new = after.splitlines(True), formatted.splitlines(True)
    touched = [(b1, b2) for _, _, b1, b2 in changes(before.splitlines(True), old)]
    out: list[bytes] = []
    at = 0
    for a1, a2, b1, b2 in changes(old, new):
        blank = not any(line.strip() for line in (*old[a1:a2], *new[b1:b2]))
        if any(_ours(a1, a2, t1, t2, blank) for t1, t2 in touched):
            out.extend(old[at:a1])
            out.extend(new[b1:b2])
            at = a2
    out.extend(old[at:])
    return b"".join(out)


def _ours(a1: int, a2: int, t1: int, t2: int, blank: bool) -> bool:
    """Return whether the formatter's hunk [a1, a2) follows from the edited lines [t1, t2).

    A hunk that only changes blank lines may adjoin the edit: what stood between them is gone. Any other
    must hold an edited line, or the place where lines were removed (t1 == t2) within it.
    """
    if blank:
        return a1 <= t2 + 1 and t1 - 1 <= a2
    return (a1 < t1 < a2) if t1 == t2 else (a1 < t2 and t1 < a2) or (a1 == a2 and t1 <= a1 <= t2)


def format_files(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The formatter's version of each file (ruff's default style, as upstream's is black's).

    Runs `ruff format` once over a temporary folder. A file that it cannot format is left out. Raises
    BuildError E003 when ruff is missing or fails.
    """
    if not files:
        return {}
    found: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory(prefix=f"{PROGRAM}-") as name:
        folder = Path(name)
        places = {path: folder / f"f{index}.py" for index, path in enumerate(sorted(files))}
        for path, place in places.items():
            place.write_bytes(files[path])
        ruff.format_folder(folder)
        for path, place in places.items():
            data = place.read_bytes()
            # the formatter drops a byte order mark
            found[path] = BOM + data if files[path].startswith(BOM) and not data.startswith(BOM) else data
    return found
