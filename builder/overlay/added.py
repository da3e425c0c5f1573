"""Adds imports: one line each, after the last import at the head of the module."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from builder.manifest.statements import Edit
from builder.overlay.locate import Target, find
from builder.overlay.record import Edited, Journal, Wrong
from builder.source.parse import Module


def add_imports(module: Module, data: bytes, edits: Sequence[tuple[Edit, Target]]) -> Edited:
    """Add the imports that a file uses: `data` after all other edits, `module` before any."""
    journal = Journal(module.path)
    lines: list[str] = []
    bound = {a.asname or a.name for s in module.tree.body if isinstance(s, ast.ImportFrom) for a in s.names}
    for edit, target in edits:
        home, _, name = (edit.match or "").rpartition(".")
        with journal.attempt(edit):
            if target.path:
                message = f"`{edit.target}` is not a module; imports can be added only to modules."
                # a module of another version lies in a package that has no such name either
                raise Wrong("R005", message, absent=not find(module.tree, target.path)[0])
            if name in bound:
                raise Wrong("R004", f"{module.path} already imports `{name}`.", absent=True)
            if not re.search(rb"\b" + re.escape(name.encode()) + rb"\b", data):
                # what would use it is an edit that finds its place in another version only
                message = f"Nothing in {module.path} uses `{name}`, so its import is not added."
                raise Wrong("R004", message, absent=True)
            bound.add(name)
            lines.append(f"from {home} import {name}")
            journal.note(edit, edit.kind, _head(module.tree), None, lines[-1])
    return (_inserted(data, lines) if lines else data), journal.problems, journal.records


def _head(tree: ast.Module) -> int:
    """The last line of the module's head: its docstring and its imports, up to the first other statement."""
    last = 0
    for stmt in tree.body:
        docstring = isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant)
        if not docstring and not isinstance(stmt, (ast.Import, ast.ImportFrom)):
            break
        last = stmt.end_lineno or stmt.lineno
    return last


def _inserted(data: bytes, lines: Sequence[str]) -> bytes:
    at = _head(ast.parse(data))
    ending = b"\r\n" if b"\r\n" in data else b"\n"
    rows = data.splitlines(keepends=True)
    new = [line.encode() + ending for line in lines]
    if at and at <= len(rows) and not rows[at - 1].endswith(b"\n"):
        rows[at - 1] += ending
    return b"".join([*rows[:at], *new, *rows[at:]])
