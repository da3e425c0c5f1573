"""Structural edits of Python by qualified name, turned into operations on a syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from builder.errors import Mark, Problem
from builder.manifest.statements import Edit
from builder.overlay import kinds
from builder.overlay.kinds import Hit, Wrong
from builder.overlay.locate import Scope, Target, find, imports, names, resolve
from builder.overlay.record import Record, digest
from builder.overlay.wording import reworded
from builder.source.ops import Body, DropItem, Op, Remove, Replace
from builder.source.parse import Module
from builder.spelling import nearest

_SHOWN = 6  # places listed in a message


@dataclass(frozen=True, slots=True)
class Plan:
    """The result of the edits of one file."""

    ops: tuple[Op, ...] = ()
    problems: tuple[Problem, ...] = ()
    records: tuple[Record, ...] = ()


@dataclass(frozen=True, slots=True)
class Sorted:
    """Edits grouped by file, and a problem for each edit whose file does not exist."""

    files: Mapping[str, tuple[tuple[Edit, Target], ...]]
    problems: tuple[Problem, ...] = field(default=())


def sort(
    edits: Iterable[Edit],
    packages: Mapping[str, str],
    files: Mapping[str, object],
    removed: Mapping[str, str] | None = None,
) -> Sorted:
    """Find the file of every edit among `files`; `removed` maps a removed path to its batch."""
    by_file: dict[str, list[tuple[Edit, Target]]] = {}
    problems: list[Problem] = []
    for edit in edits:
        target = resolve(edit.target, packages, files)
        removed_target = resolve(edit.target, packages, removed or {})
        if removed_target and (target is None or len(removed_target.module) > len(target.module)):
            if not edit.optional:
                message = f"`{edit.target}` is to be edited, but its file {removed_target.file} was removed."
                by = (removed or {})[removed_target.file]
                hint = f"Batch `{by}` removes the file."
                problems.append(Problem("R005", message, edit.mark, hint=hint, nothing=True))
        elif target is None:
            if not edit.optional:
                hint = f"Known packages: {', '.join(sorted(packages))}."
                message = f"`{edit.target}` does not start with a module of the tree."
                problems.append(Problem("R005", message, edit.mark, hint=hint, nothing=True))
        else:
            by_file.setdefault(target.file, []).append((edit, target))
    return Sorted({path: tuple(by_file[path]) for path in sorted(by_file)}, tuple(problems))


def plan(
    module: Module,
    edits: Sequence[tuple[Edit, Target]],
    overlays: Mapping[str, bytes] | None = None,
) -> Plan:
    """The operations that carry out the edits of one file, all found in the tree as it is.

    An edit with a problem gives no operation. Never raises for bad edits.
    """
    problems: list[Problem] = []
    records: list[Record] = []
    hits: list[tuple[Edit, Hit]] = []
    for edit, target in edits:
        try:
            edit_hits = _hits(module, edit, target, overlays or {})
        except Wrong as wrong:
            if not (edit.optional and wrong.absent):
                place = _mark(module, wrong.node)
                problems.append(
                    Problem(wrong.code, str(wrong), edit.mark, place, hint=wrong.hint, nothing=wrong.absent)
                )
            continue
        if len(edit_hits) != (edit.count or max(len(edit_hits), 1)):
            if edit_hits or not edit.optional:
                problems.append(_miscounted(module, edit, edit_hits))
            continue
        hits += [(edit, hit) for hit in edit_hits]
        records += [_record(module, edit, hit) for hit in edit_hits]
    ops, more = _combine(module, hits)
    return Plan(tuple(ops), tuple(problems + more), tuple(records))


def _hits(module: Module, edit: Edit, target: Target, overlays: Mapping[str, bytes]) -> list[Hit]:
    if target.parameter and edit.kind != "set":
        raise Wrong("R005", f"`{edit.target}` names a parameter, which only `set` can edit.")
    if not target.path:
        if edit.kind in ("drop", "stub", "set", "body"):
            raise _unknown_module_part(edit, target)
        if edit.kind == "reword":
            return kinds.reword(module, edit, [module.tree])
        return kinds.in_scope(edit, target, [module.tree])
    definitions, scopes = find(module.tree, target.path)
    if not definitions:
        message = f"`{target.module}` has no `{'.'.join(target.path)}`."
        # an optional edit that does not match is not reported, and the search for a similar name is slow
        hint = None if edit.optional else _near(target.path[-1], scopes)
        raise Wrong("R005", message, hint=hint, absent=True)
    if edit.kind == "drop":
        return kinds.drop(definitions)
    if edit.kind == "stub":
        return kinds.stub(edit, target, definitions)
    if edit.kind == "body":
        return kinds.body(edit, definitions, overlays)
    if edit.kind == "set":
        return kinds.assign(edit, target, definitions)
    unique = {id(b.statement): b.statement for b in definitions}
    if edit.kind == "reword":
        return kinds.reword(module, edit, list(unique.values()))
    return kinds.in_scope(edit, target, list(unique.values()))


def _near(name: str, scopes: Sequence[Scope]) -> str | None:
    """A hint for a name that none of the scopes defines."""
    if any(imports(scope, name) for scope in scopes):
        return "It is imported there: use `drop-import`, or edit it where it is defined."
    return nearest(name, {known for scope in scopes for known in names(scope)}, most=3)


def _unknown_module_part(edit: Edit, target: Target) -> Wrong:
    message = f"`{edit.target}` is a module; `{edit.kind}` needs a name inside it."
    return Wrong("R005", message, hint=f"The file is {target.file}.")


def _combine(module: Module, hits: Sequence[tuple[Edit, Hit]]) -> tuple[list[Op], list[Problem]]:
    """The operations of all edits together: equal ones once, contradicting ones as problems."""
    problems: list[Problem] = []
    changed: dict[tuple[int, str], tuple[Op, Edit]] = {}
    ops: list[Op] = []
    items: dict[tuple[int, str], list[DropItem]] = {}
    for edit, hit in hits:
        for op in hit.ops:
            if isinstance(op, DropItem):
                group = items.setdefault((id(op.node), op.field), [])
                if op not in group:
                    group.append(op)
                continue
            key = (id(op.node), "change" if isinstance(op, (Replace, Body)) else type(op).__name__)
            if key not in changed:
                changed[key] = (op, edit)
                ops.append(op)
            elif changed[key][0] == op:
                continue
            elif both := _both(changed[key], edit, op):
                ops[ops.index(changed[key][0])] = both
                changed[key] = (both, edit)
            else:
                other = changed[key][1]
                message = f"Two edits change `{edit.target}` differently; the other one is at {other.mark}."
                problems.append(Problem("M011", message, edit.mark, _mark(module, op.node)))
    removed = {id(op.node) for op in ops if isinstance(op, Remove)}
    for (_, name), group in items.items():
        node = group[0].node
        if (
            name == "names"
            and isinstance(node, (ast.Import, ast.ImportFrom))
            and len(group) == len(node.names)
        ):
            if id(node) not in removed:
                ops.append(Remove(node))
            continue
        wrong = _emptied(module, node, group)
        if wrong:
            edit = next(e for e, h in hits if group[0] in h.ops)
            problems.append(Problem("R008", wrong, edit.mark, _mark(module, node)))
            continue
        group.sort(key=_index)
        ops += group
    return ops, problems


def _both(first: tuple[Op, Edit], edit: Edit, op: Op) -> Replace | None:
    """One string reworded by two edits, in whatever order: both phrases change."""
    done, other = first
    if not (isinstance(done, Replace) and isinstance(op, Replace) and edit.kind == other.kind == "reword"):
        return None
    if not isinstance(done.by, str):
        return None
    text = reworded(done.by, edit.match or "", edit.by or "")
    return Replace(done.node, text) if text is not None else None


def _index(op: DropItem) -> int:
    return op.index


def _emptied(module: Module, node: ast.AST, group: Sequence[DropItem]) -> str | None:
    """Why nothing may be left: `X[()]` and `{}` for an empty set would mean something else."""
    if not isinstance(node, (ast.Set, ast.Tuple)) or len(group) < len(node.elts):
        return None
    if isinstance(node, ast.Set):
        return "Every member of a set leaves, and an empty one cannot be written as a literal."
    parent = module.parents.get(node)
    if isinstance(parent, ast.Subscript) and parent.slice is node:
        return "Every member of a subscript leaves."
    return None


def _record(module: Module, edit: Edit, hit: Hit) -> Record:
    before = digest(module.text(hit.node))
    line = getattr(hit.node, "lineno", 0)
    return Record(edit.mark, edit.batch, edit.why, edit.kind, module.path, line, before, digest(hit.after))


def _mark(module: Module, node: ast.AST | None) -> Mark:
    return Mark(module.path, getattr(node, "lineno", 0) if node is not None else 0)


def _miscounted(module: Module, edit: Edit, hits: Sequence[Hit]) -> Problem:
    lines = [getattr(hit.node, "lineno", 0) for hit in hits]
    places = ", ".join(f"{module.path}:{line}" for line in lines[:_SHOWN])
    more = ", ..." if len(lines) > _SHOWN else ""
    what = f" `{' '.join(edit.match.split())}`" if edit.match else ""
    message = f"`{edit.kind}`{what} in `{edit.target}` states {edit.count or 'all'} and matches {len(hits)}"
    message += f": {places}{more}." if hits else "."
    hint = kinds.near(module, edit) if not hits else None
    place = Mark(module.path, lines[0] if lines else 0)
    return Problem("R004", message, edit.mark, place, hint=hint, nothing=not hits)
