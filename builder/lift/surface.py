"""Compares the surface and the dependencies of the old upstream with those of the new one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from builder.analysis.projects import Requirement, projects
from builder.manifest.model import Manifest
from builder.surface.model import Key, Surface
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
    """A requirement that was added, removed or changed.

    `open`: it is new in the output. `extra`: the extra that alone asks for it; empty for others.
    """

    change: str
    project: str
    name: str
    before: str
    after: str
    open: bool
    extra: str = ""


def differences(old: Surface, new: Surface, output: Surface, kept: Collection[str]) -> list[Difference]:
    """What upstream added, removed and changed, as far as the output has it or would have had it.

    `kept`: the paths of the old upstream that stayed. An item in another module is reported as moved.
    """
    differences: list[Difference] = []
    stood = {key: item for key, item in old.items() if any(p.path in kept for p in item.places)}
    went = {key for key in stood if key not in new}
    moved = {(key.kind, key.name): key for key in went}
    for key, item in output.items():
        if key not in new:
            continue  # ours
        place = f"{item.places[0].path}:{item.places[0].line}"
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


def _details(before: Mapping[str, object], after: Mapping[str, object]) -> Iterator[str]:
    for name in sorted({*before, *after} - {"help"}):
        was, now = before.get(name), after.get(name)
        if was == now:
            continue
        if (
            isinstance(was, tuple)
            and isinstance(now, tuple)
            and not hasattr(was, "text")
            and name == "choices"
        ):
            removals = [f"-{_value(v)}" for v in was if v not in now]
            yield f"{name} {' '.join([*removals, *(f'+{_value(v)}' for v in now if v not in was)])}"
        else:
            yield f"{name} {_value(was)} -> {_value(now)}"


def dependencies(old: Snapshot, new: Snapshot, output: Snapshot, manifest: Manifest) -> list[Dependency]:
    """Requirements that were added, removed or changed; open are those that are new in the output."""
    before, after, ours = (_requirements(s, manifest) for s in (old, new, output))
    extras = _extras(new, manifest)
    dependencies: list[Dependency] = []
    for key in sorted({*before, *after}):
        was, now = before.get(key), after.get(key)
        if was == now:
            continue
        change = "came" if was is None else "went" if now is None else "changed"
        project, name = key
        is_open = was is None and key in ours
        extra = extras.get(key, "")
        dependencies.append(Dependency(change, project, name, was or "", now or "", is_open, extra))
    return dependencies


def _requirements(snapshot: Snapshot, manifest: Manifest) -> Mapping[tuple[str, str], str]:
    requirements: dict[tuple[str, str], list[str]] = {}
    for project in projects(snapshot, manifest.packages):
        for row in project.requirements:
            requirements.setdefault((project.path, row.name), []).append(_text(row))
    return {key: ", ".join(sorted(set(texts))) for key, texts in requirements.items()}


def _extras(snapshot: Snapshot, manifest: Manifest) -> Mapping[tuple[str, str], str]:
    """The extra of each requirement that one extra and nothing else asks for."""
    found: dict[tuple[str, str], set[str]] = {}
    for project in projects(snapshot, manifest.packages):
        for row in project.requirements:
            found.setdefault((project.path, row.name), set()).add(row.extra or "")
    return {key: extras.copy().pop() for key, extras in found.items() if len(extras) == 1}


def _text(row: Requirement) -> str:
    return f"{row.text} (extra {row.extra})" if row.extra else row.text


def _value(value: object) -> str:
    text = str(getattr(value, "text", value))
    return text if len(text) <= 60 else f"{text[:59]}…"
