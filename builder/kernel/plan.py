"""Which members of the kernel wheel stay, change or are removed, and why."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from builder.errors import BuildError, Mark, Problem
from builder.manifest.model import Kernel, Manifest
from builder.manifest.spans import beyond
from builder.pipeline.measure import reasons
from builder.pipeline.model import Cut
from builder.select.patterns import matches
from builder.spelling import nearest
from builder.tree import Snapshot
from builder.upstream.wheel_archive import Archive

_FOLDER = re.compile(r"(?:^|/)(sm[0-9]+[a-z]?)/")


@dataclass(frozen=True, slots=True)
class Source:
    """A file of the kernel's Python package in the trees: its content upstream and in the output.

    `why`: the reason for what happened to it there, `by`: the batch, `mark`: where the manifest says so.
    """

    upstream: bytes | None
    output: bytes | None
    why: str = ""
    by: str = ""
    mark: Mark | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """`removed`: path, why, and by which batch, pattern or architecture, sorted by path. `changed`: members
    with new content, new ones included. `architectures`: those that stay, sorted, or none if all do."""

    removed: Sequence[Mapping[str, str]]
    changed: Mapping[str, bytes]
    architectures: Sequence[str]


def plan(wheel: Archive, kernel: Kernel, sources: Mapping[str, Source], only: Sequence[str] = ()) -> Plan:
    """The plan for a wheel; `sources` maps paths of the wheel, `only` names architectures.

    Raises BuildError with every rule that matches nothing (K004), every architecture that is not there
    (K004) and every file that the output changed from something else than the wheel has (K005).
    """
    payload = [path for path in wheel.members if not path.startswith(f"{wheel.info}/")]
    removed: dict[str, Mapping[str, str]] = {}
    problems: list[Problem] = []
    for rule in kernel.remove:
        paths = [path for path in payload if matches(rule.pattern, path)]
        if not paths and rule.optional is None:
            hint = nearest(rule.pattern, payload) or "say by `since` or `until` which versions have it"
            message = f"The pattern `{rule.pattern}` matches no member of the wheel."
            problems.append(Problem("K004", message, rule.mark, hint=hint))
        if paths and rule.span.beyond:
            problems.append(beyond(rule))
        for path in paths:
            removed.setdefault(path, {"path": path, "why": rule.why, "by": rule.batch or rule.pattern})
    staying, wrong = _architectures(payload, kernel, only)
    problems += wrong
    for path in payload:
        name = architecture(path)
        if name is not None and name not in staying:
            removed.setdefault(path, {"path": path, "why": f"{name} is not kept", "by": name})
    changed: dict[str, bytes] = {}
    tops = {path.partition("/")[0] for path in payload}
    for path, source in sorted(sources.items()):
        if path.partition("/")[0] not in tops:
            continue  # a package with a wheel of its own
        member = wheel.members.get(path)
        if source.output is None:
            if member is not None:
                removed.setdefault(path, {"path": path, "why": source.why, "by": source.by})
        elif path in removed or source.output == source.upstream:
            continue
        elif member is None:
            # upstream does not pack it either
            if source.upstream is None:
                changed[path] = source.output
        elif member.data() not in (source.upstream, source.output):
            message = f"'{path}' of the wheel is not the file that the distribution changes."
            hint = "give the wheel that was built from this upstream, or build the kernel from the tree"
            problems.append(Problem("K005", message, source.mark, hint=hint))
        elif member.data() != source.output:
            changed[path] = source.output
    if problems:
        raise BuildError(problems)
    complete = {a for p in payload if (a := architecture(p))} == set(staying)
    return Plan([removed[path] for path in sorted(removed)], changed, [] if complete else sorted(staying))


def architecture(path: str) -> str | None:
    """The architecture whose folder a member lies in (`sm90`); None for what serves all."""
    folder = _FOLDER.search(path)
    return folder[1] if folder else None


def _architectures(
    payload: Iterable[str], kernel: Kernel, only: Sequence[str]
) -> tuple[set[str], list[Problem]]:
    """The architectures that stay: of the wheel's, those that manifest and command line name."""
    present = {name for path in payload if (name := architecture(path))}
    problems = []
    stated = {a.name for a in kernel.architectures} or present
    for item in kernel.architectures:
        if item.name not in present and item.optional is None:
            message = f"The wheel has nothing for the architecture {item.name}."
            problems.append(Problem("K004", message, item.mark, hint=_has(present)))
        if item.name in present and item.span.beyond:
            problems.append(beyond(item))
    for name in dict.fromkeys(only):
        if name not in present & stated:
            message = f"The architecture {name} was asked for, and it is not one that stays."
            problems.append(Problem("K004", message, kernel.mark, hint=_has(present & stated)))
    staying = present & stated & (set(only) or present)
    if present and not staying and not problems:
        problems.append(
            Problem("K004", "No architecture of the wheel would stay.", kernel.mark, hint=_has(present))
        )
    return staying, problems


def _has(names: Iterable[str]) -> str:
    return f"there is {', '.join(sorted(names))}" if names else "there is none"


# -- the files of the trees that a plan compares with


def differing(wheel: Archive, upstream: Snapshot, manifest: Manifest) -> dict[str, bytes]:
    """Upstream path -> what the wheel has there, for Python files that both have and that differ."""
    wheel_files: dict[str, bytes] = {}
    for name, folder in manifest.packages.items():
        prefix, inside = folder.rstrip("/") + "/", name.replace(".", "/") + "/"
        for path, member in wheel.members.items():
            ours = prefix + path.removeprefix(inside)
            if path.startswith(inside) and path.endswith(".py") and ours in upstream:
                data = member.data()
                if data != upstream[ours]:
                    wheel_files[ours] = data
    return dict(sorted(wheel_files.items()))


def sources(cut: Cut, manifest: Manifest) -> dict[str, Source]:
    """Wheel path -> its file upstream and in the output, for each package outside the Python project.

    Empty for an upstream that is only an sdist: then the wheel's files stay as they are, or are removed.
    """
    why, batches = reasons(cut), {batch.id: batch.why for batch in manifest.batches}
    by_wheel_path: dict[str, Source] = {}
    for name, folder in manifest.packages.items():
        if folder.startswith(manifest.upstream.project.prefix):
            continue  # the packages of the Python project are in its own wheel
        prefix = folder.rstrip("/") + "/"
        for path in sorted({*cut.upstream, *cut.output}):
            if path.startswith(prefix):
                reason = why[path][0]
                by_wheel_path[f"{name.replace('.', '/')}/{path[len(prefix) :]}"] = Source(
                    cut.upstream.get(path),
                    cut.output.get(path),
                    batches.get(reason.batch, reason.rule),
                    reason.batch,
                    reason.mark,
                )
    return by_wheel_path
