"""The text of each edited file at the end: in the formatter's layout where we edited it, and nowhere else.

Upstream's files are formatted already, so formatting an edited file changes only what our edits left
behind: parentheses, blank lines, joined lines. A hunk that touches no edited line is not taken.
"""

from __future__ import annotations

import ast
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from builder import ruff
from builder.adapter import PROGRAM
from builder.memo import recall_each
from builder.source.fields import nodes
from builder.source.oracle import agrees
from builder.source.parse import BOM, parse
from builder.source.textdiff import runs
from builder.specialize.text_index.content import Content

Change = tuple[int, int, int, int]  # lines [a1, a2) of the one text became lines [b1, b2) of the other
#: What makes a logger: a module's own is nothing that others take.
_LOGGER = "logging.getLogger"


def laid_out(texts: Sequence[tuple[bytes, bytes]]) -> list[bytes]:
    """Each second text in the formatter's layout where it differs from the first."""
    return recall_each("layout", texts, lambda some: _laid_out([texts[number] for number in some]))


def _laid_out(texts: Sequence[tuple[bytes, bytes]]) -> list[bytes]:
    formatted = format_files({str(number): data for number, (_, data) in enumerate(texts)})
    better = [
        format_edits(original, data, formatted.get(str(number), data))
        for number, (original, data) in enumerate(texts)
    ]
    return [new if _agree(data, new) else data for (_, data), new in zip(texts, better, strict=True)]


def _agree(data: bytes, better: bytes) -> bool:
    """Return whether a text is the same program in another layout."""
    try:
        return data == better or agrees(parse(data, ""), [], parse(better, ""))
    except SyntaxError:
        return False


def is_empty(content: Content) -> bool:
    """Return whether nothing that anybody could use is left in a file."""
    return content.get(("empty",), lambda: is_empty_module(parse(content.data, "").tree))


def is_empty_module(tree: ast.Module) -> bool:
    """Return whether nothing is left but a docstring, a logger, an empty `__all__`, and what these read.

    An import that nothing here reads counts as something: other modules may take it from here.
    """
    own = [stmt for stmt in tree.body if not isinstance(stmt, (ast.Import, ast.ImportFrom))]
    if not all(map(_nothing, own)):
        return False
    read = {node.id for stmt in own for node in nodes(stmt) if isinstance(node, ast.Name)}
    return all(
        bound in read
        for stmt in tree.body
        if isinstance(stmt, (ast.Import, ast.ImportFrom))
        if not (isinstance(stmt, ast.ImportFrom) and stmt.module == "__future__")
        for bound in (alias.asname or alias.name for alias in stmt.names)
    )


def _nothing(stmt: ast.stmt) -> bool:
    if isinstance(stmt, ast.Pass):
        return True
    if isinstance(stmt, ast.Expr):
        return isinstance(stmt.value, ast.Constant)
    if isinstance(stmt, ast.If):
        typing = isinstance(stmt.test, ast.Name) and stmt.test.id == "TYPE_CHECKING"
        return typing and all(map(_nothing, (*stmt.body, *stmt.orelse)))
    if not isinstance(stmt, ast.Assign) or len(stmt.targets) != 1:
        return False
    target, value = stmt.targets[0], stmt.value
    if not isinstance(target, ast.Name):
        return False
    if isinstance(value, ast.Call):
        return ast.unparse(value.func) == _LOGGER
    return target.id == "__all__" and isinstance(value, (ast.List, ast.Tuple)) and not value.elts


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
