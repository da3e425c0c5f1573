"""`surface.json`: everything that users select by name, before and after, with the cause of each change."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from typing import Any

from builder.analysis.surface_diff import Difference, Surfaces
from builder.surface.model import KINDS, Expression, Item, Key, Value

SCHEMA_VERSION = 1
_TITLES = ("Server flags", "Flags of tools", "HTTP routes", "Environment variables")


def surface_json(surfaces: Surfaces) -> bytes:
    """The file, keys in the order of schema/surface.schema.json, one item a line."""
    lists = {
        "differences": map(_difference, surfaces.differences),
        "after": map(_item, surfaces.after.values()),
        "before": map(_item, surfaces.before.values()),
    }
    parts = [f'  "schema_version": {SCHEMA_VERSION}', f'  "counts": {_compact(as_counts(surfaces))}']
    for name, rows in lists.items():
        lines = ",\n".join(f"    {_compact(row)}" for row in rows)
        parts.append(f'  "{name}": [\n{lines}' + ("\n  ]" if lines else "  ]"))
    return ("{\n" + ",\n".join(parts) + "\n}\n").encode()


def as_counts(surfaces: Surfaces) -> dict[str, dict[str, int]]:
    """kind -> {before, after, lost, added, changed, unexplained}: things, not places."""
    before, after = (Counter(key.kind for key in side) for side in (surfaces.before, surfaces.after))
    once = {(d.key, d.change) for d in surfaces.differences}
    changes = Counter((key.kind, change) for key, change in once)
    open_ = Counter(d.key.kind for d in surfaces.differences if not d.causes)
    return {
        kind: {
            "before": before[kind],
            "after": after[kind],
            "lost": changes[kind, "lost"],
            "added": changes[kind, "added"],
            "changed": changes[kind, "changed"],
            "unexplained": open_[kind],
        }
        for kind in KINDS
    }


def lost_names(
    surfaces: Surfaces, server: str, batches: Collection[str]
) -> dict[str, list[tuple[str, list[str]]]]:
    """Batch -> what users select by name and it removes: title and names, in a fixed order.

    `batches`: those of the manifest; a loss counts for the first of them that accounts for it. `server`: the
    module of the server's parser; flags of every other parser are tools'. A name that another
    parser or application of the output still offers is not lost.
    """
    offered = {(_sort(key, server), key.name) for key in surfaces.after}
    lost: dict[tuple[str, int], set[str]] = {}
    for one in surfaces.differences:
        sort = _sort(one.key, server)
        if one.change == "lost" and one.causes and sort is not None and (sort, one.key.name) not in offered:
            named = (cause.batch for cause in one.causes if cause.batch in batches)
            lost.setdefault((next(named, one.causes[0].batch), sort), set()).add(one.key.name)
    result: dict[str, list[tuple[str, list[str]]]] = {}
    for (batch, sort), names in sorted(lost.items()):
        result.setdefault(batch, []).append((_TITLES[sort], sorted(names)))
    return result


def _sort(key: Key, server: str) -> int | None:
    if key.kind == "flag":
        return 0 if key.group == server else 1
    return {"route": 2, "environment": 3}.get(key.kind)


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _item(item: Item) -> dict[str, Any]:
    record: dict[str, Any] = {**item.key._asdict(), "place": str(item.places[0])}
    if len(item.places) > 1:
        record["places"] = len(item.places)
    if item.details:
        record["details"] = {name: _value(value) for name, value in sorted(item.details.items())}
    return record


def _difference(d: Difference) -> dict[str, Any]:
    record: dict[str, Any] = {"change": d.change, **d.key._asdict(), "place": str(d.place)}
    if d.detail is not None:
        record |= {"detail": d.detail, "before": _value(d.before), "after": _value(d.after)}
    record["causes"] = [
        {"batch": c.batch, "what": c.rule, "mark": str(c.mark) if c.mark else None} for c in d.causes
    ]
    return record


def _value(value: Value) -> Any:
    """A value as JSON; what only running the code would tell is `{"expression": source}`."""
    if isinstance(value, Expression):
        return {"expression": value.text}
    if isinstance(value, tuple):
        return [_value(v) for v in value]
    return value
