"""G006: whatever users choose by name still exists, or the manifest says why it does not."""

from __future__ import annotations

import re
from collections.abc import Iterator

from builder.analysis.indexed_tree import IndexedTree
from builder.analysis.surface_diff import Difference, Surfaces
from builder.errors import Mark, Problem
from builder.spelling import nearest
from builder.surface.model import Item, destination

_FIELDS = re.compile(rb"\bfields\(")


def problems(surfaces: Surfaces, after: IndexedTree) -> list[Problem]:
    """One problem for each difference without a cause, and for each field that outlives its flag."""
    unexplained = [_problem(d, surfaces) for d in surfaces.differences if not d.causes]
    return [*unexplained, *_unfilled(surfaces, after)]


def _unfilled(surfaces: Surfaces, after: IndexedTree) -> Iterator[Problem]:
    """Fields of a class that makes itself from all of its fields (`dataclasses.fields`), one of which no
    flag of its parser gives any more: reading the command line would fail."""
    filled = {(item.key.group, _filled(item)) for item in surfaces.after.values()}
    for difference in surfaces.differences:
        if difference.change != "lost" or difference.key.kind != "flag" or not difference.causes:
            continue
        name = _filled(surfaces.before[difference.key])
        holder = difference.place.scope.rpartition(".")[0]
        summary = after.index.modules.get(difference.place.module)
        field = summary.members.get(f"{holder}.{name}") if summary and holder else None
        if summary is None or field is None or (difference.key.group, name) in filled:
            continue
        if _FIELDS.search(after.snapshot[summary.path]):
            message = f"{summary.path}:{field.line}: the field {holder}.{name} stays, and {difference.key} "
            message += "that fills it left"
            upstream = Mark(difference.place.path, difference.place.line)
            hint = f"declare {difference.place.module}.{holder}.{name} absent too, or keep the flag"
            yield Problem("G006", message, difference.causes[0].mark, upstream, hint=hint)


def _filled(flag: Item) -> str:
    return destination(flag.key.name, flag.details.get("dest"))


def _problem(d: Difference, surfaces: Surfaces) -> Problem:
    upstream: Mark | None = Mark(d.place.path, d.place.line)
    if d.change == "lost":
        near = nearest(d.key.name, (k.name for k in surfaces.after if k[:2] == d.key[:2]), cutoff=0.75)
        text = f"{d.place}: {d.key} vanished and no rule names it"
        hint = "if it should go, drop it by an edit that says why, or declare what it stands for absent"
        hint += f"; {near}" if near else ""
    elif d.change == "added":
        text = f"{d.place}: {d.key} is not upstream's, and no overlay or edit states it"
        upstream, hint = None, "upstream's text must stay as it is, but for what the manifest edits"
    elif d.detail == "choices" and d.after is None:
        text = f"{d.place}: the choice {d.before!r} of {d.key} vanished and no rule names it"
        hint = f"declare the value absent: facts: options: [{{names: [...], absent: [{d.before}]}}]"
    else:
        text = f"{d.place}: {d.detail} of {d.key} was {d.before!r} and is {d.after!r}, and no edit says so"
        hint = "set it by an edit that says why, or restore it"
    return Problem("G006", text, upstream=upstream, hint=hint)
