"""The real manifest with statements spoilt, and what the builder says of them at a real upstream.

Many statements are spoilt at once: every one of them must be named, so one cut tries them all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml
from small_world import ROOT

from builder.errors import BuildError, Mark, Problem
from builder.manifest.load import load, parse, read_overlays, read_schema, read_scope
from builder.manifest.model import DynamicEdge, Manifest
from builder.manifest.statements import (
    Absent,
    AnchoredEdit,
    Edit,
    Fact,
    Rule,
    TomlEdit,
    WholeFile,
    Word,
    WordException,
    changed,
    stated,
)
from builder.pipeline import cut as cutting
from builder.pipeline.ranges import About, about, excused
from builder.pipeline.run import Recalled
from builder.tree import Snapshot
from builder.upstream.model import Sources, Upstream, snapshot
from builder.upstream.resolve import resolve

#: kind of statement -> the field that says what it is about
NAMED: dict[type[Any], str] = {
    Rule: "pattern",
    Fact: "name",
    Absent: "name",
    Edit: "target",
    WholeFile: "path",
    AnchoredEdit: "anchor",
    TomlEdit: "key",
    DynamicEdge: "source",
    Word: "text",
    WordException: "pattern",
}
#: checked only with the output, when requirements and gates are done
LATE = (TomlEdit, DynamicEdge, WordException)


class _Enough(Exception):
    """The stages that look for statements are over."""


@dataclass(frozen=True)
class Place:
    """The real manifest and the upstream that it is tried at."""

    manifest: Manifest
    upstream: Snapshot
    about: About
    recall: Recalled

    @classmethod
    def at(cls, pin: str, mirror: Path, cache: Path) -> Place:
        manifest = load(ROOT / "manifest.yaml")
        where = Sources.of(manifest, mirror, cache, True)
        upstream: Upstream = resolve(pin, where)
        return cls(manifest, snapshot(upstream), about(upstream, manifest), Recalled())


def spoil(one: Any) -> Any:
    """The statement about something that no upstream has: another last name."""
    field = NAMED[type(one)]
    name = getattr(one, field)
    return replace(one, **{field: f"{name.rstrip('/')}_zq_absent{'/' * name.endswith('/')}"})


def misplace(one: Any) -> Any:
    """The statement about a thing of its name in a module that no upstream has."""
    package, _, rest = one.name.partition(".")
    return replace(one, name=f"{package}.zq_absent.{rest}")


def misplaceable(place: Place) -> list[Mark]:
    """The marks of the facts and absent symbols that must match here and name a module of a package."""
    held = [
        name
        for name, folder in place.manifest.packages.items()
        if any(path.startswith(f"{folder}/") for path in place.upstream)
    ]
    asked = excused(place.manifest, place.about, ())
    return [
        one.mark
        for one in stated(asked)
        if isinstance(one, (Fact, Absent))
        and not one.optional
        and not (isinstance(one, Absent) and one.kind == "module")
        and any(one.name.startswith(f"{name}.") and "**" not in one.name for name in held)
    ]


def candidates(place: Place) -> list[Mark]:
    """The marks of the statements that must match at this upstream, in the order of the manifest."""
    asked = excused(place.manifest, place.about, ())
    excuses = {one.mark for one in stated(asked) if one.optional}
    marks = (one.mark for one in stated(asked) if type(one) in NAMED and not isinstance(one, LATE))
    return [mark for mark in dict.fromkeys(marks) if mark not in excuses]


def problems_of(place: Place, manifest: Manifest) -> list[Problem]:
    """What the stages up to the overlays say, all of it."""
    collected: list[Problem] = []

    def enough(*_: object) -> None:
        raise _Enough

    usual, cutting.uneditable = cutting.uneditable, enough  # type: ignore[assignment]
    try:
        cutting.cut(place.upstream, manifest, collected.extend, place.recall, place.about)
    except BuildError as error:
        collected += error.problems
    except _Enough:
        pass
    finally:
        cutting.uneditable = usual
    return collected


def unnoticed(place: Place, marks: Collection[Mark], spoilt_by: Callable[[Any], Any] = spoil) -> list[Mark]:
    """Those of these statements that match nothing now, and of which nothing is said."""
    spoilt = changed(
        place.manifest, lambda one: spoilt_by(one) if one.mark in marks and type(one) in NAMED else one
    )
    told = {mark for problem in problems_of(place, spoilt) for mark in _marks(problem)}
    return sorted(mark for mark in marks if mark not in told)


def _marks(problem: Problem) -> Iterator[Mark]:
    for one in (problem, *problem.also):
        if one.mark is not None:
            yield one.mark


# -- statements made twice


@dataclass(frozen=True)
class Twice:
    """A text with one item of a list repeated, and where the item is."""

    file: str
    line: int
    text: str


def doubled(texts: dict[str, str]) -> Iterator[Twice]:
    """Each item of each list of statements, once more behind itself."""
    for file, text in texts.items():
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        for node in _items(root):
            start, end = node.start_mark.index, node.end_mark.index
            item = text[start:end].rstrip()
            line_start = text.rfind("\n", 0, start) + 1
            before = text[line_start:start]
            if re.fullmatch(r"\s*- (?:\S.*)?", before) and "[" not in before.split("- ")[-1]:
                again = f"{item}\n{before}{item}"
            else:
                again = f"{item}, {item}"
            yield Twice(file, node.start_mark.line + 1, text[:start] + again + text[start + len(item) :])


#: lists whose items are prose or choices, and no statements about upstream
_NO_STATEMENTS = {"batches", "tests", "gates", "exceptions"}


def _items(node: yaml.Node, key: str = "") -> Iterator[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            yield from _items(value, name.value)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            if key not in _NO_STATEMENTS:
                yield item
            yield from _items(item)


def refused(one: Twice, root: Path = ROOT) -> tuple[Problem, ...]:
    """What the loader says of a manifest with a repeated item; none if it accepts it."""
    overlays, others = read_overlays(root)
    data = (root / "manifest.yaml").read_bytes()
    if one.file == "manifest.yaml":
        data = one.text.encode()
    else:
        overlays = {**overlays, one.file: one.text.encode()}
    return _problems(data, overlays, others, root)


def _problems(
    data: bytes, overlays: Mapping[str, bytes], others: Mapping[str, str], root: Path
) -> tuple[Problem, ...]:
    scope = read_scope(root)
    known = scope if isinstance(scope, bytes) else None
    try:
        parse(data, "manifest.yaml", overlays, read_schema(root), others, known)
    except BuildError as error:
        return error.problems
    return ()


def without_overlay(path: str, root: Path = ROOT) -> tuple[Problem, ...]:
    """What the loader says when one overlay is not there."""
    overlays, others = read_overlays(root)
    data = (root / "manifest.yaml").read_bytes()
    rest = {name: content for name, content in overlays.items() if name != path}
    return _problems(data, rest, others, root)


def lines_of(problems: Iterable[Problem]) -> set[tuple[str, int]]:
    return {(mark.file, mark.line) for problem in problems for mark in _marks(problem)}
