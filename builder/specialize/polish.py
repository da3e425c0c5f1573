"""Layout of what the edits touched: the formatter's hunks there, and nowhere else.

Upstream's files are formatted already, so formatting an edited file changes only what our edits left
behind: parentheses, blank lines, joined lines. A hunk that touches no edited line is not taken.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from builder.source.parse import BOM


def touched_lines(before: bytes, after: bytes) -> list[tuple[int, int]]:
    """0-based line ranges of `after` that differ from `before`; an empty range marks a deletion."""
    matcher = difflib.SequenceMatcher(None, before.splitlines(True), after.splitlines(True), autojunk=False)
    return [(b1, b2) for tag, _, _, b1, b2 in matcher.get_opcodes() if tag != "equal"]


def polish(before: bytes, after: bytes, formatted: bytes) -> bytes:
    """`after` with those hunks of `formatted` that touch (or adjoin) a line that `before` lacks."""
    if after == formatted:
        return after
    touched = touched_lines(before, after)
    old, new = after.splitlines(True), formatted.splitlines(True)
    out: list[bytes] = []
    for tag, a1, a2, b1, b2 in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        ours = tag != "equal" and any(a1 <= t2 + 1 and t1 - 1 <= a2 for t1, t2 in touched)
        out.extend(new[b1:b2] if ours else old[a1:a2])
    return b"".join(out)


def format_files(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The formatter's version of each file (ruff's default style, as upstream's is black's).

    Runs the pinned `ruff format` once over a temporary folder. A file that it cannot format is left out.
    """
    import subprocess
    import sysconfig
    import tempfile
    from pathlib import Path

    ruff = Path(sysconfig.get_path("scripts")) / "ruff"
    found: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory(prefix="sglang-deepseek-") as folder:
        names = {}
        for index, (path, data) in enumerate(sorted(files.items())):
            name = f"f{index}.py"
            names[name] = path
            (Path(folder) / name).write_bytes(data)
        if names:
            subprocess.run(
                [str(ruff), "format", "--isolated", "--no-cache", "--target-version=py310", "--silent", "."],
                cwd=folder,
                check=False,
                capture_output=True,
            )
        for name, path in names.items():
            found[path] = (Path(folder) / name).read_bytes()
    return found


def has_bom(data: bytes) -> bool:
    return data.startswith(BOM)
