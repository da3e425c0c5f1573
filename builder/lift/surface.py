"""Compares the surface, the dependencies and what came back of the old upstream with the new one."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from builder.analysis.indexed_tree import IndexedTree
from builder.analysis.projects import Requirement, modules_of, projects
from builder.analysis.surface_diff import Surfaces
from builder.errors import Mark
from builder.lift.finding import Finding, Question, ask
from builder.lift.statements import shorten
from builder.lift.trial import Sides
from builder.manifest.model import Manifest
from builder.pipeline.answers.answer import listed
from builder.surface.model import Expression, Key, Surface, Value
from builder.tree import Snapshot


def differences(old: Surface, surfaces: Surfaces, kept: Collection[str]) -> Iterator[Finding]:
    """What upstream added, removed and changed, as far as the output has it or would have had it.

    `kept`: the paths of the old upstream that stayed. An item in another module is reported as moved.
    """
    new, output = surfaces.before, surfaces.after
    rows: list[tuple[Key, str, str, str]] = []  # what, how it changed, where, details
    stood = {key: item for key, item in old.items() if any(p.path in kept for p in item.places)}
    went = {key for key in stood if key not in new}
    moved = {(key.kind, key.name): key for key in sorted(went)}
    for key, item in output.items():
        if key not in new:
            continue  # ours
        place = str(item.places[0])
        if key in old:
            details = list(_details(old[key].details, new[key].details))
            rows += [(key, "changed", place, "; ".join(details))] if details else []
        elif (before := moved.get((key.kind, key.name))) is not None:
            went.discard(before)
            rows.append((key, "moved", place, f"from {before.group}"))
        else:
            rows.append((key, "came", place, ""))
    rows += [(key, "went", stood[key].places[0].path, "") for key in went]
    for key, change, place, detail in sorted(rows):
        data = {"change": change, **key._asdict(), "place": place, "detail": detail}
        yield Finding("surface", "Surface", f"{key} {change} ({place}){detail and f': {detail}'}", data)


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


def dependencies(sides: Sides) -> Iterator[Finding]:
    """Yield the requirements that were added, removed or changed; open are those new in the output."""
    before, after, output = (
        _requirements(side, sides.manifest) for side in (sides.old, sides.new, sides.output)
    )
    rows: list[dict[str, Any]] = []
    for key in sorted({*before, *after}):
        was, now = (
            ", ".join(sorted(f"{r.text} (extra {r.extra})" if r.extra else r.text for r in side.get(key, ())))
            for side in (before, after)
        )
        if was != now:
            change = "came" if not was else "went" if not now else "changed"
            names = {"change": change, "project": key[0], "name": key[1]}
            rows.append({**names, "before": was, "after": now, "open": not was and key in output})
    for row in rows:
        text = {
            "came": f"`{row['after']}` is new" + (", and the output has it." if row["open"] else "."),
            "changed": f"`{row['before']}` is now `{row['after']}`.",
            "went": f"`{row['before']}` is no longer asked for.",
        }[row["change"]]
        yield Finding("dependencies", "Dependencies", f"{row['project']}: {text}", row)
    new = [row for row in rows if row["open"]]
    for project in dict.fromkeys(row["project"] for row in new):
        asks = [(row["name"], row["after"]) for row in new if row["project"] == project]
        yield Finding("asked", "", "", {}, asked(project, asks, sides.output))


def asked(project: str, new: Sequence[tuple[str, str]], output: Snapshot) -> Question:
    """The question for the new requirements (name, text) of a project, with the files of the output that
    import them."""
    single = len(new) == 1
    name = f"dependency:{new[0][0] if single else project}"
    texts = ", ".join(f"{text!r}{_imported(one, output)}" for one, text in new)
    remedy = "remove it by a TOML edit" if single else "remove them by TOML edits"
    parts = tuple(f"dependency:{one}" for one, _ in new)
    return ask(
        "L003",
        name,
        f"{project} asks for {texts}, which it did not before.",
        remedy,
        Mark(project),
        parts=parts,
    )


def _imported(requirement: str, output: Snapshot) -> str:
    """Which Python files of the output have a line that imports a module of a requirement."""
    modules = "|".join(map(re.escape, modules_of(requirement)))
    line = re.compile(rf"^[ \t]*(?:import|from)[ \t]+(?:{modules})\b".encode(), re.MULTILINE)
    users = [path for path in sorted(output) if path.endswith(".py") and line.search(output[path])]
    return f" (imported by {listed(users, 1)})" if users else ""


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
