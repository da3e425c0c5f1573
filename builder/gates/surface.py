"""G006: whatever people choose by name is still there, or the manifest says why it is not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from builder.errors import Mark, Problem
from builder.gates.conditions import Cause
from builder.gates.surface_causes import Causes
from builder.gates.world import Explained, IndexedTree, nearest
from builder.manifest.model import Manifest
from builder.surface.extract import Parsed, surface
from builder.surface.model import Expression, Item, Key, Place, Surface, Value, destination
from builder.surface.values import Sources
from builder.tree import Snapshot

_FIELDS = re.compile(rb"\bfields\(")

Change = Literal["lost", "added", "changed"]


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing of the surface that upstream has and the output has not, or the other way round.

    changed: `detail` of it differs; for the choices of an option, `before` is one value that left or
    `after` one that came.
    """

    change: Change
    key: Key
    place: Place  # in upstream; in the output for what was added
    detail: str | None = None
    before: Value = None
    after: Value = None
    causes: tuple[Cause, ...] = ()  # none: unexplained


@dataclass(frozen=True, slots=True)
class Surfaces:
    """The surface of both trees, and every difference with what accounts for it."""

    before: Surface
    after: Surface
    differences: tuple[Difference, ...]


def compare(
    before: Snapshot, old: Surface, after: Snapshot, manifest: Manifest, explained: Explained
) -> Surfaces:
    """The surfaces of upstream and output. `before`: the files to compare, those that left included, and
    `old` what they offer."""
    shared: Parsed = {}
    sources = Sources(before, manifest.packages, shared)
    new = surface(after, manifest.packages, shared)
    causes = Causes(manifest, explained, sources, old, new)
    found = [*_lost(old, new, causes), *_changed(old, new, causes), *_added(old, new, causes)]
    return Surfaces(old, new, tuple(sorted(found, key=_order)))


def problems(surfaces: Surfaces, after: IndexedTree) -> list[Problem]:
    """One problem for each difference that nothing in the manifest accounts for, and for each field that
    outlives the flag that fills it."""
    unexplained = [_problem(d, surfaces) for d in surfaces.differences if not d.causes]
    return [*unexplained, *_unfilled(surfaces, after)]


def _unfilled(surfaces: Surfaces, after: IndexedTree) -> Iterator[Problem]:
    """Fields of a class that makes itself from all of its fields (`dataclasses.fields`), one of which no
    flag of its parser gives any more: reading the command line would fail."""
    given = {(item.key.group, _filled(item)) for item in surfaces.after.values()}
    for d in surfaces.differences:
        if d.change != "lost" or d.key.kind != "flag" or not d.causes:
            continue
        name = _filled(surfaces.before[d.key])
        holder = d.place.scope.rpartition(".")[0]
        summary = after.index.modules.get(d.place.module)
        field = summary.members.get(f"{holder}.{name}") if summary and holder else None
        if summary is None or field is None or (d.key.group, name) in given:
            continue
        if _FIELDS.search(after.snapshot[summary.path]):
            yield Problem(
                "G006",
                f"{summary.path}:{field.line}: the field {holder}.{name} stays, and {d.key} "
                "that fills it left",
                d.causes[0].mark, upstream=Mark(d.place.path, d.place.line),
                hint=f"declare {d.place.module}.{holder}.{name} absent too, or keep the flag",
            )  # fmt: skip


def _filled(flag: Item) -> str:
    return destination(flag.key.name, flag.details.get("dest"))


def _lost(old: Surface, new: Surface, causes: Causes) -> Iterator[Difference]:
    for key, item in old.items():
        if key not in new:
            found = causes.lost(item)
            if isinstance(found, Place):
                yield Difference("lost", key, found)
            else:
                yield Difference("lost", key, item.places[0], causes=found)


def _added(old: Surface, new: Surface, causes: Causes) -> Iterator[Difference]:
    for key, item in new.items():
        if key not in old:
            cause = causes.added(item)
            yield Difference("added", key, item.places[0], causes=(cause,) if cause else ())


def _changed(old: Surface, new: Surface, causes: Causes) -> Iterator[Difference]:
    for key, item in old.items():
        other = new.get(key)
        if other is None or other.details == item.details:
            continue
        for detail in sorted({*item.details, *other.details}):
            was, now = item.details.get(detail), other.details.get(detail)
            if detail == "choices" and _listed(was) and _listed(now):
                yield from _choices(item, other, was, now, causes)  # type: ignore[arg-type]
            elif was != now:
                cause = causes.detail(item, detail, was, now)
                found = (cause,) if cause else ()
                yield Difference("changed", key, item.places[0], detail, was, now, found)


def _listed(value: Value) -> bool:
    return isinstance(value, tuple) and not isinstance(value, Expression)


def _choices(
    item: Item, other: Item, was: tuple[Value, ...], now: tuple[Value, ...], causes: Causes
) -> Iterator[Difference]:
    for value in was:
        if value not in now:
            cause = causes.choice(item, value)
            found = (cause,) if cause else ()
            yield Difference("changed", item.key, item.places[0], "choices", value, None, found)
    for value in now:
        if value not in was:
            cause = causes.read_from(other, "choices", value)
            found = (cause,) if cause else ()
            yield Difference("changed", item.key, item.places[0], "choices", None, value, found)


def _order(d: Difference) -> tuple[Key, str, str, str, str]:
    return d.key, d.change, d.detail or "", str(d.before), str(d.after)


def _problem(d: Difference, surfaces: Surfaces) -> Problem:
    where = f"{d.place.path}:{d.place.line}"
    upstream: Mark | None = Mark(d.place.path, d.place.line)
    hint: str | None
    if d.change == "lost":
        same: Mapping[Key, Item] = surfaces.after
        near = nearest(d.key.name, (k.name for k in same if k[:2] == d.key[:2]))
        text = f"{where}: {d.key} vanished and no rule names it"
        hint = "if it should go, drop it by an edit that says why, or declare what it stands for absent"
        hint += f"; {near}" if near else ""
    elif d.change == "added":
        text = f"{where}: {d.key} is not upstream's, and no overlay or edit states it"
        upstream, hint = None, "upstream's text must stay as it is, but for what the manifest edits"
    elif d.detail == "choices" and d.after is None:
        text = f"{where}: the choice {d.before!r} of {d.key} vanished and no rule names it"
        hint = f"declare the value absent: facts: options: [{{names: [...], absent: [{d.before}]}}]"
    else:
        text = f"{where}: {d.detail} of {d.key} was {d.before!r} and is {d.after!r}, and no edit says so"
        hint = "set it by an edit that says why, or restore it"
    return Problem("G006", text, upstream=upstream, hint=hint)
