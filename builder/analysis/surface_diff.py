"""The surface of upstream and of the output: every difference, with what in the manifest accounts for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from builder.analysis.removals import Removals
from builder.analysis.surface_causes import Accounts, Causes
from builder.manifest.model import Manifest
from builder.manifest.statements import Reason
from builder.surface.extract import surface
from builder.surface.model import Expression, Item, Key, Place, Surface, Value
from builder.surface.values import Sources
from builder.tree import Snapshot

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
    causes: tuple[Reason, ...] = ()  # none: unexplained


@dataclass(frozen=True, slots=True)
class Surfaces:
    """The surface of both trees, and every difference with what accounts for it."""

    before: Surface
    after: Surface
    differences: tuple[Difference, ...]


def compare(
    before: Snapshot,
    old: Surface,
    after: Snapshot,
    manifest: Manifest,
    removals: Removals,
    accounts: Accounts,
) -> Surfaces:
    """The surfaces of upstream and output.

    `before`: the files to compare, those that left included, and `old` what they offer. `accounts`: what
    accounts for what specialization removed.
    """
    sources = Sources(before, manifest.packages)
    new = surface(after, manifest.packages)
    causes = Causes(manifest, removals, sources, (old, new), accounts)
    differences = [*_lost(old, new, causes), *_changed(old, new, causes), *_added(old, new, causes)]
    return Surfaces(old, new, tuple(sorted(differences, key=_order)))


def _lost(old: Surface, new: Surface, causes: Causes) -> Iterator[Difference]:
    for key, item in old.items():
        if key not in new:
            place, why = causes.lost(item)
            yield Difference("lost", key, place, causes=why)


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
                yield _change(item, detail, was, now, causes.detail(item, detail, was, now))


def _change(item: Item, detail: str, was: Value, now: Value, cause: Reason | None) -> Difference:
    return Difference("changed", item.key, item.places[0], detail, was, now, (cause,) if cause else ())


def _listed(value: Value) -> bool:
    return isinstance(value, tuple) and not isinstance(value, Expression)


def _choices(
    item: Item, other: Item, was: tuple[Value, ...], now: tuple[Value, ...], causes: Causes
) -> Iterator[Difference]:
    for value in was:
        if value not in now:
            yield _change(item, "choices", value, None, causes.choice(item, value))
    for value in now:
        if value not in was:
            yield _change(item, "choices", None, value, causes.read_from(other, "choices", value))


def _order(d: Difference) -> tuple[Key, str, str, str, str]:
    return d.key, d.change, d.detail or "", str(d.before), str(d.after)
