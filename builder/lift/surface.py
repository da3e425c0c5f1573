"""Compares the surface, the dependencies and what came back of the old upstream with the new one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from builder.analysis.indexed_tree import IndexedTree
from builder.analysis.projects import Requirement, projects
from builder.analysis.surface_diff import Surfaces
from builder.lift.statements import shorten
from builder.lift.trial import Sides
from builder.manifest.model import Manifest
from builder.surface.model import Expression, Key, Surface, Value
from builder.tree import Snapshot


@dataclass(frozen=True, slots=True)
class Difference:
    """One item of the surface that was added, removed or changed, as far as the output has it."""

    change: str  # came, went, moved, changed
    key: Key
    place: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Dependency:
    """A requirement that was added, removed or changed; `open`: it is new in the output."""

    change: str
    project: str
    name: str
    before: str
    after: str
    open: bool


def differences(old: Surface, surfaces: Surfaces, kept: Collection[str]) -> list[Difference]:
    """What upstream added, removed and changed, as far as the output has it or would have had it.

    `kept`: the paths of the old upstream that stayed. An item in another module is reported as moved.
    """
    new, output = surfaces.before, surfaces.after
    differences: list[Difference] = []
    stood = {key: item for key, item in old.items() if any(p.path in kept for p in item.places)}
    went = {key for key in stood if key not in new}
    moved = {(key.kind, key.name): key for key in sorted(went)}
    for key, item in output.items():
        if key not in new:
            continue  # ours
        place = str(item.places[0])
        if key in old:
            details = list(_details(old[key].details, new[key].details))
            if details:
                differences.append(Difference("changed", key, place, "; ".join(details)))
        elif (before := moved.get((key.kind, key.name))) is not None:
            went.discard(before)
            differences.append(Difference("moved", key, place, f"from {before.group}"))
        else:
            differences.append(Difference("came", key, place))
    differences += [Difference("went", key, stood[key].places[0].path) for key in went]
    return sorted(differences, key=lambda d: (d.key, d.change))


def _details(before: Mapping[str, Value], after: Mapping[str, Value]) -> Iterator[str]:
    for name in sorted({*before, *after} - {"help"}):
        was, now = before.get(name), after.get(name)
        if was == now:
            continue
        lists = name == "choices" and not isinstance(was, Expression)
        if lists and isinstance(was, tuple) and isinstance(now, tuple):
            changes = [f"-{_text(v)}" for v in was if v not in now]
            changes += [f"+{_text(v)}" for v in now if v not in was]
            yield f"{name} {' '.join(changes)}"
        else:
            yield f"{name} {_text(was)} -> {_text(now)}"


def _text(value: Value) -> str:
    return shorten(value.text if isinstance(value, Expression) else str(value), 60)


def dependencies(sides: Sides) -> Iterator[Dependency]:
    """Yield the requirements that were added, removed or changed; open are those new in the output."""
    before, after, output = (
        _requirements(side, sides.manifest) for side in (sides.old, sides.new, sides.output)
    )
    for key in sorted({*before, *after}):
        was, now = (
            ", ".join(sorted(f"{r.text} (extra {r.extra})" if r.extra else r.text for r in side.get(key, ())))
            for side in (before, after)
        )
        if was != now:
            change = "came" if not was else "went" if not now else "changed"
            yield Dependency(change, *key, was, now, not was and key in output)


def _requirements(snapshot: Snapshot, manifest: Manifest) -> Mapping[tuple[str, str], set[Requirement]]:
    """The requirements of each project with the same name."""
    rows: dict[tuple[str, str], set[Requirement]] = {}
    for project in projects(snapshot, manifest.packages):
        for row in project.requirements:
            rows.setdefault((project.path, row.name), set()).add(row)
    return rows


def gone(before: IndexedTree, after: IndexedTree) -> frozenset[str]:
    """The qualified names of the classes and functions that upstream has and its output has not."""
    return frozenset(_definitions(before).keys() - _definitions(after).keys())


def returned(names: Collection[str], output: IndexedTree) -> dict[str, str]:
    """Those of the names that an output defines, sorted, each with its place.

    It breaks no rule that a class stays where something new uses it, or where its base became one that the
    builder does not know; but its code left by a decision, and nobody decided that it comes back.
    """
    return {name: place for name, place in sorted(_definitions(output).items()) if name in names}


def _definitions(tree: IndexedTree) -> dict[str, str]:
    return {
        f"{summary.module}.{name}": f"{path}:{definition.line}"
        for path, summary in tree.summaries.items()
        if summary.module
        for name, definition in summary.names.items()
        if definition.kind in ("class", "function")
    }
