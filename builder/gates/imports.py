"""G002: every import of the packages' own modules resolves, the module and the name.

Eager, guarded, lazy and typing imports alike, imports by a constant name, and string constants that
named a module upstream.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from builder.errors import Mark, Problem
from builder.gates.world import Explained, IndexedTree, because, missing, nearest
from builder.graph.modules import Summary
from builder.graph.resolve import Index, Origin
from builder.manifest.model import Manifest


class Dangling(NamedTuple):
    """A module (`name` empty), or a name in a module, that a line asks for and nobody has."""

    module: str
    name: str
    line: int
    how: str


def dangling(summary: Summary, index: Index) -> Iterator[Dangling]:
    """What one file asks of the packages and does not get."""
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
            yield Dangling(reference.name, "", reference.line, "string constant")
    for name in summary.exports or ():
        if summary.module and index.resolves(summary.module, name) is False:
            yield Dangling(summary.module, name, 0, "__all__")


def check(before: IndexedTree, after: IndexedTree, manifest: Manifest, explained: Explained) -> list[Problem]:
    """One problem for each thing a file asks for in vain, that it got upstream (or did not ask for)."""
    problems: list[Problem] = []
    for path, summary in after.summaries.items():
        found = {(d.module, d.name, d.how): d for d in reversed(list(dangling(summary, after.index)))}
        if not found:
            continue
        old = before.summaries.get(path)
        known = {(d.module, d.name) for d in dangling(old, before.index)} if old else set()
        for item in sorted(found.values(), key=lambda d: (d.line, d)):
            if (item.module, item.name) in known:
                continue
            # a string that named nothing upstream either is just text
            if item.how == "string constant" and before.index.locate(item.module) is None:
                continue
            problems.append(_problem(path, item, before, after, manifest, explained))
    return problems


def _problem(
    path: str,
    item: Dangling,
    before: IndexedTree,
    after: IndexedTree,
    manifest: Manifest,
    explained: Explained,
) -> Problem:
    index = after.index
    origin = Origin(item.module, item.name)
    if item.how == "string constant":
        origin = before.index.locate(item.module) or origin
    reason = missing(after, origin, explained, manifest.packages)
    if reason is None and item.name:
        # re-exported upstream: the reason is where the name was defined
        source = before.index.origin(item.module, item.name)
        reason = missing(after, source, explained, manifest.packages) if source else None
    if item.how == "__all__":
        text = f"__all__ lists {item.name!r}, which {item.module} does not have"
    elif item.name:
        text = f"cannot import name {item.name!r} from {item.module}"
    else:
        text = f"no module named {item.module}"
    # what a rule took away is no misspelling
    near = None if reason else nearest(item.name or item.module, _candidates(item, index))
    return Problem(
        "G002",
        f"{path}:{item.line}: {text} ({item.how}){because(reason)}",
        mark=reason.mark if reason else None,
        upstream=Mark(path, item.line),
        excerpt=line_of(after, path, item.line),
        hint=near or "drop this import and its uses, or keep what it names",
    )


def _candidates(item: Dangling, index: Index) -> frozenset[str]:
    return index.names(item.module) if item.name else frozenset(index.modules)


def line_of(world: IndexedTree, path: str, line: int) -> str | None:
    """The text of a line of a file of the tree, without its indentation; None for line 0."""
    lines = world.snapshot[path].splitlines() if line else []
    return lines[line - 1].decode("utf-8", "replace").strip() if 0 < line <= len(lines) else None
