"""Imports and module names of one file that do not resolve in the packages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from builder.graph.modules import Summary
from builder.graph.resolve import Index

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
