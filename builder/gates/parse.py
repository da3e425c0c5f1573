"""G001: every Python file of the output parses."""

from __future__ import annotations

from builder.analysis.indexed_tree import IndexedTree
from builder.analysis.removals import Removals
from builder.errors import Mark, Problem
from builder.manifest.model import Manifest


def check(before: IndexedTree, after: IndexedTree, manifest: Manifest, removals: Removals) -> list[Problem]:
    """One problem for each file that does not parse and that parsed upstream, or is new."""
    problems: list[Problem] = []
    for path, summary in after.summaries.items():
        old = before.summaries.get(path)
        if summary.error is None or (old is not None and old.error is not None):
            continue
        data = after.snapshot[path]
        problems.append(does_not_parse(path, summary.error, data, manifest, upstream=old is not None))
    return problems


def does_not_parse(
    path: str, error: tuple[int, str], data: bytes, manifest: Manifest, upstream: bool
) -> Problem:
    """The problem of one file; `upstream`: upstream has it, and there it parses."""
    line, text = error
    lines = data.decode("utf-8", "replace").splitlines()
    edited = [f.overlay for b in manifest.batches for f in b.files if f.path == path]
    what = "the edits of this file give text that does" if upstream else "this file does"
    what = f"the overlay {edited[-1]} does" if edited else what
    excerpt = lines[line - 1] if 0 < line <= len(lines) else None
    message = f"{path}:{line}: {what} not parse: {text}"
    return Problem("G001", message, upstream=Mark(path, line), excerpt=excerpt)
