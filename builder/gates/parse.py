"""G001: every Python file of the output parses, and every edited one compiles."""

from __future__ import annotations

import warnings

from builder.analysis.indexed_tree import IndexedTree
from builder.analysis.removals import Removals
from builder.errors import Mark, Problem
from builder.manifest.model import Manifest
from builder.memo import remembered


def check(before: IndexedTree, after: IndexedTree, manifest: Manifest, removals: Removals) -> list[Problem]:
    """One problem for each file that does not parse or compile, unless upstream's does not either.

    A file may parse and not compile: a `nonlocal` whose only binding is gone, for instance.
    """
    problems: list[Problem] = []
    for path, summary in after.summaries.items():
        old = before.summaries.get(path)
        if old is summary or (old is not None and old.error is not None):
            continue
        data = after.snapshot[path]
        error = summary.error or _error(data)
        if error is not None and (old is None or _error(before.snapshot[path]) is None):
            verb = "parse" if summary.error else "compile"
            problems.append(does_not_parse(path, error, data, manifest, old is not None, verb))
    return problems


@remembered
def _error(data: bytes) -> tuple[int, str] | None:
    """The line and text of the error that compiling a file gives, if any."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # upstream's text has some
            compile(data, "", "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        return getattr(error, "lineno", None) or 1, getattr(error, "msg", None) or str(error)
    return None


def does_not_parse(
    path: str, error: tuple[int, str], data: bytes, manifest: Manifest, upstream: bool, verb: str = "parse"
) -> Problem:
    """The problem of one file; `upstream`: upstream has it, and there it parses."""
    line, text = error
    lines = data.decode("utf-8", "replace").splitlines()
    edited = [f.overlay for b in manifest.batches for f in b.files if f.path == path]
    what = "the edits of this file give text that does" if upstream else "this file does"
    what = f"the overlay {edited[-1]} does" if edited else what
    excerpt = lines[line - 1] if 0 < line <= len(lines) else None
    message = f"{path}:{line}: {what} not {verb}: {text}"
    return Problem("G001", message, upstream=Mark(path, line), excerpt=excerpt)
