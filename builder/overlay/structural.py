"""Structural edits of Python by qualified name, turned into operations on a syntax tree."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from types import MappingProxyType

from builder.errors import Mark, Problem
from builder.manifest.statements import Edit, Rule
from builder.overlay import kinds
from builder.overlay.kinds import Hit
from builder.overlay.locate import Target, find, resolve
from builder.overlay.record import Edited, Journal, Wrong, is_void, of_removed, require_count
from builder.source.ops import DropItem, Op, Remove
from builder.source.parse import Module, parse
from builder.source.splice import splice


def sort(
    edits: Iterable[Edit],
    packages: Mapping[str, str],
    files: Mapping[str, object],
    removed: Mapping[str, Rule] = MappingProxyType({}),
    off_by_default: Collection[str] = (),
) -> tuple[dict[str, list[tuple[Edit, Target]]], list[Problem]]:
    """The edits by their file, and a problem for each without one; `removed`: path -> its rule.

    `off_by_default`: batches whose files need no edit of another batch where they are removed.
    """
    by_file: dict[str, list[tuple[Edit, Target]]] = {}
    problems: list[Problem] = []
    for edit in edits:
        target, former = resolve(edit.target, packages, files), resolve(edit.target, packages, removed)
        if former and (target is None or len(former.module) > len(target.module)):
            rule = removed[former.file]
            if is_void(edit, rule, off_by_default):
                continue
            message = f"`{edit.target}` is to be edited, but its file {former.file} was removed."
            hint = of_removed(edit, rule)
        elif target is None:
            message = f"`{edit.target}` does not start with a module of the tree."
            hint = f"Known packages: {', '.join(sorted(packages))}."
        else:
            by_file.setdefault(target.file, []).append((edit, target))
            continue
        if not edit.optional:
            problems.append(Problem("R005", message, edit.mark, hint=hint, nothing=True))
    return dict(sorted(by_file.items())), problems


def edit(
    path: str, data: bytes, edits: Sequence[tuple[Edit, Target]], overlays: Mapping[str, bytes]
) -> Edited:
    """Carry out the edits of one file, each of its target; added imports come last."""
    try:
        module = parse(data, path)
    except (SyntaxError, ValueError, RecursionError) as error:
        place = Mark(path, getattr(error, "lineno", None) or 0)
        what = f"is edited, and {path} does not parse: {error}."
        problems = [Problem("R005", f"`{one.target}` {what}", one.mark, place) for one, _ in edits]
        return Edited(data, problems, [])
    journal = Journal(path)
    hits: list[tuple[Edit, Hit]] = []
    for one, target in edits:
        if one.kind == "add-import":
            continue
        with journal.attempt(one):
            places = kinds.hits(module, one, target, overlays)
            shown = f" `{' '.join(one.match.split())}`" if one.match else ""
            shown = f"`{one.kind}`{shown} in `{one.target}`"
            lines = [_line(hit.node) for hit in places]
            require_count(path, one, lines, shown, partial(kinds.near, module, one))
            hits += [(one, hit) for hit in places]
            for hit, line in zip(places, lines, strict=True):
                journal.note(one, one.kind, line, module.text(hit.node), hit.after)
    ops, problems = _combine(module, hits)
    journal.problems += problems
    changed = splice(module, ops) if ops else data
    changed = _with_imports(
        module, changed, [pair for pair in edits if pair[0].kind == "add-import"], journal
    )
    return Edited(changed, journal.problems, journal.records)


def _combine(module: Module, hits: Sequence[tuple[Edit, Hit]]) -> tuple[list[Op], list[Problem]]:
    """The operations of all edits together: equal ones once, contradicting ones as problems."""
    problems: list[Problem] = []
    changes: dict[tuple[ast.AST, bool], tuple[Op, Edit]] = {}  # by node, and whether it is removed
    items: dict[tuple[ast.AST, str], dict[DropItem, Edit]] = {}
    for edit, op in ((edit, op) for edit, hit in hits for op in hit.ops):
        if isinstance(op, DropItem):
            items.setdefault((op.node, op.field), {}).setdefault(op, edit)
            continue
        key = (op.node, isinstance(op, Remove))
        other, by = changes.setdefault(key, (op, edit))
        if other != op:
            message = f"Two edits change `{edit.target}` differently; the other one is at {by.mark}."
            problems.append(Problem("M011", message, edit.mark, Mark(module.path, _line(op.node))))
    ops: list[Op] = [op for op, _ in changes.values()]
    for (node, _), group in items.items():
        if isinstance(node, (ast.Import, ast.ImportFrom)) and len(group) == len(node.names):
            if (node, True) not in changes:
                ops.append(Remove(node))
        elif wrong := _emptied(module, node, len(group)):
            edit = next(iter(group.values()))
            message, hint = wrong
            problems.append(Problem("R008", message, edit.mark, Mark(module.path, _line(node)), hint=hint))
        else:
            ops += sorted(group, key=attrgetter("index"))
    return ops, problems


def _emptied(module: Module, node: ast.AST, leaving: int) -> tuple[str, str] | None:
    """Why nothing may be left, and a hint: `X[()]` and `{}` for an empty set would mean something else."""
    if not isinstance(node, (ast.Set, ast.Tuple)) or leaving < len(node.elts):
        return None
    if isinstance(node, ast.Set):
        message = "Every member of a set leaves, and an empty one cannot be written as a literal."
        return message, "Use `replace` for the whole set: `by: set()`."
    parent = module.parents.get(node)
    if isinstance(parent, ast.Subscript) and parent.slice is node:
        return "Every member of a subscript leaves.", "Use `replace` for the whole subscript."
    return None


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)


# -- imports that are added: one line each, after the last import at the head of the module


def _with_imports(
    module: Module, data: bytes, edits: Sequence[tuple[Edit, Target]], journal: Journal
) -> bytes:
    """The file with the imports that it uses: `data` after all other edits, `module` before any."""
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
    return _inserted(data, lines) if lines else data


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
