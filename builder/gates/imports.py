"""G002: every import of the packages' own modules resolves, the module and the name.

Eager, guarded, lazy and typing imports alike, imports by a constant name, and string constants that
named a module upstream.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from builder.analysis.indexed_tree import IndexedTree
from builder.analysis.removals import Removals, because
from builder.errors import Problem
from builder.graph.modules import Summary
from builder.graph.resolve import Index, Origin
from builder.manifest.model import Manifest
from builder.spelling import nearest

#: How a name is stated, if not by an import statement or a call.
STRING, EXPORT = "string constant", "__all__"


class Dangling(NamedTuple):
    """A module (`name` empty), or a name in a module, that a line names and that does not exist."""

    module: str
    name: str
    line: int
    how: str


def dangling(summary: Summary, index: Index) -> Iterator[Dangling]:
    """Everything that one file names in the packages and that does not exist."""
    for item in summary.imports:
        if not index.internal(item.target):
            continue
        how = f"{item.kind} import"
        if not index.has_module(item.target):
            yield Dangling(item.target, "", item.line, how)
        elif item.name and index.resolves(item.target, item.name) is False:
            yield Dangling(item.target, item.name, item.line, how)
    for call in summary.dynamic:
        name = call.argument
        if name and "*" not in name and index.internal(name) and not index.has_module(name):
            yield Dangling(name, "", call.line, f"{call.call}()")
    for reference in summary.references:
        if index.locate(reference.name) is None:
            yield Dangling(reference.name, "", reference.line, STRING)
    for name in summary.exports or ():
        if summary.module and index.resolves(summary.module, name) is False:
            yield Dangling(summary.module, name, 0, EXPORT)


def check(before: IndexedTree, after: IndexedTree, manifest: Manifest, removals: Removals) -> list[Problem]:
    """One problem for each import that fails in the output and does not fail upstream."""
    problems: list[Problem] = []
    for path, summary in after.summaries.items():
        missing = {(d.module, d.name, d.how): d for d in reversed(list(dangling(summary, after.index)))}
        old = before.summaries.get(path) if missing else None
        missing_upstream = {(d.module, d.name) for d in dangling(old, before.index)} if old else set()
        for item in sorted(missing.values(), key=lambda d: (d.line, d)):
            # a string that names nothing upstream either is just text
            is_text = item.how == STRING and before.index.locate(item.module) is None
            if not is_text and (item.module, item.name) not in missing_upstream:
                problems.append(_problem(path, item, before, after, removals))
    return problems


def _problem(
    path: str, item: Dangling, before: IndexedTree, after: IndexedTree, removals: Removals
) -> Problem:
    index = after.index
    origin = Origin(item.module, item.name)
    lost = before.index.locate(item.module) if item.how == STRING else None
    named = lost is not None and bool(lost.qualname)
    if item.how == STRING:
        reason = removals.missing(after, lost or origin)
    else:
        reason = removals.missing_name(before, after, origin)
    if named:
        text = f"a text names {item.module}, which is not there"
    elif item.how == EXPORT:
        text = f"__all__ lists {item.name!r}, which {item.module} does not have"
    elif item.name:
        text = f"cannot import name {item.name!r} from {item.module}"
    else:
        text = f"no module named {item.module}"
    # a removed name is not a misspelling
    known = index.names(item.module) if item.name else index.modules
    near = None if reason else nearest(item.name or item.module, known, cutoff=0.75)
    message = f"{path}:{item.line}: {text} ({item.how}){because(reason)}"
    hint = near or "drop this import and its uses, or keep what it names"
    last = item.module.rpartition(".")[2]
    if named and f'"{last}"'.encode() in after.snapshot[path]:  # of a table of what is imported on demand
        hint = f"where nothing asks for it: {{drop_entry: '\"{last}\"', in: {after.summaries[path].module}}}"
    return after.problem("G002", path, item.line, message, reason.mark if reason else None, hint)
