"""The text of a first manifest."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from builder.graph.names import packages_around
from builder.scaffold.project import PythonProject
from builder.scaffold.survey import Survey

#: Texts that YAML takes for themselves, and that no reader takes for a number.
_PLAIN = re.compile(r"[A-Za-z_/.][\w./@+-]*(?: [\w./@+-]+)*")
_RESERVED = re.compile(r"(?i)~|null|true|false|yes|no|on|off|\.inf|\.nan|[.+-]?\d.*")

#: What no pattern states: wildcards, marks of gitignore at the start, spaces at an end, a dot at the end.
_UNPLAIN = re.compile(r"[*?\[\]\\\x00-\x1f\x7f]|^[!# ]+|[ .]+$")

#: Where a release names no repository: a release needs none.
NO_REPOSITORY = "https://example.invalid/repository.git"


@dataclass(frozen=True, slots=True)
class Source:
    """Where the tree came from: the pin and its fields (`commit` or `sdist`, ...), and the repository."""

    pin: str
    fields: Mapping[str, str]
    repository: str


def manifest_text(
    project: PythonProject, seen: Survey, paths: Iterable[str], source: Source, unimported: Sequence[str] = ()
) -> str:
    """A manifest that keeps every path; the decisions that suggest themselves stand in comments.

    `unimported`: the requirements that stay though nothing imports them.
    """
    return "".join(f"{line}\n" for line in _lines(project, seen, paths, source, unimported))


def _lines(
    project: PythonProject, seen: Survey, paths: Iterable[str], source: Source, unimported: Sequence[str]
) -> Iterator[str]:
    first = next(iter(project.packages))
    yield "# Defines a distribution with a part of upstream. As it stands it keeps everything."
    yield "# docs/manifest.md has all keys."
    yield f"name: {quoted(project.name + '-small')}"
    yield "label: small"
    if not project.static:
        backend = project.backend
        yield f"# The project's own build ({backend}) decides what a wheel holds: run it in dist/tree."
        yield "wheel: false"
    yield ""
    yield "upstream:"
    if source.repository == NO_REPOSITORY:
        yield "  # The release names no repository. Put its address here; a release is built without it."
    yield f"  repository: {quoted(source.repository)}"
    yield f"  project: {quoted(project.name)}"
    yield f"  folder: {quoted(project.folder or '.')}"
    yield f"  default: {source.pin}"
    fields = ", ".join(f"{key}: {quoted(value)}" for key, value in source.fields.items())
    yield "  pins:"
    yield f"    {source.pin}: {{{fields}}}"
    yield ""
    yield "packages:"
    yield from (f"  {name}: {quoted(folder)}" for name, folder in project.packages.items())
    yield ""
    yield "# What must work: the packages themselves, and what entry points name."
    yield "roots:"
    yield "  modules:"
    yield from (f"    - {module}" for module in dict.fromkeys((*project.packages, *project.entries)))
    if seen.parser:
        yield f"  # Its {seen.flags} flags are those of the distribution; other parsers are tools'."
        yield f"  command_line: {seen.parser}"
    if seen.dynamic:
        yield "  # These put names together. Say what each loads (`user_code`: nothing of the packages):"
        yield "  # as long as one may load any module, none leaves for want of an import."
        yield "  dynamic:"
        outer = [
            name for name in project.packages if not set(packages_around(name)) & project.packages.keys()
        ]
        for module, how in seen.dynamic:
            for name in outer:
                yield f"    - {{from: {module}, to: {name}.*, why: {quoted(how + ', not looked into yet')}}}"
    yield ""
    yield "keep:"
    yield "  # The whole package. Without this line, only what the roots reach stays."
    yield from (f"  - {quoted(_pattern(f'{folder}/'))}" for folder in project.packages.values())
    outside = list(_outside(paths, list(project.packages.values())))
    if outside:
        yield "  # Everything else. What is not part of the distribution goes under `remove` of a batch."
        yield from (f"  - {quoted(_pattern(place))}" for place in outside)
    yield ""
    yield "# In these paths, definitions leave that only removed code used."
    yield "prune_symbols:"
    yield from (f"  - {quoted(folder + '/**')}" for folder in project.packages.values())
    yield ""
    if seen.questions:
        yield "# What is true on the target: conditions that ask it are folded. These are asked most; state"
        yield "# those that have one answer there."
        yield "# facts:"
        for kind, title in (("predicate", "predicates"), ("value", "values")):
            rows = [question for question in seen.questions if question.kind == kind]
            if rows:
                yield f"#   {title}:"
            yield from (f"#     {quoted(row.name)}: ...  # {row.conditions} conditions" for row in rows)
        yield ""
    example = list(_example(outside, seen.feature))
    such = " For example, without the `#`:" if example else ""
    yield f"# A batch is one decision with its reason; `--without ID` switches it off.{such}"
    yield "batches:"
    yield from example
    if seen.registries:
        yield ""
        yield "# Registries, whose entries leave with what they name:"
        yield from (f"#   {name}: {count} entries" for name, count in seen.registries)
    yield ""
    yield "guarantees:"
    yield f"  present: [{first}]"
    if unimported:
        yield "  # No import names these requirements: say what needs each, or take it out by a `toml` edit."
        yield "  dependencies:"
        yield from (f"    - {{name: {quoted(name)}, why: upstream requires it}}" for name in unimported)


def _example(outside: Iterable[str], feature: str) -> Iterator[str]:
    """The batches that the tree suggests, in comments: without its tests, and without a feature."""
    tests = [place for place in outside if place.startswith("test") and place.endswith("/")]
    if tests:
        yield "#  - id: no-tests"
        yield "#    why: The tests of upstream run from its own tree."
        yield f"#    remove: [{quoted(_pattern(tests[0]))}]"
    if feature:
        yield f"#  - id: no-{feature}"
        yield f"#    why: The distribution has no {feature}."
        yield f"#    words: [{quoted(feature)}]  # whatever is named so: files, definitions, flags, values"


def _pattern(place: str) -> str:
    """The pattern of this file or folder; `?` stands for what a pattern cannot state as it is.

    With a slash inside, it starts at the root anyway.
    """
    names = (_UNPLAIN.sub(lambda match: "?" * len(match[0]), name) for name in place.split("/"))
    return ("" if "/" in place.rstrip("/") else "/") + "/".join(names)


def _outside(paths: Iterable[str], folders: list[str]) -> Iterator[str]:
    """The files and folders beside the packages: each as near to the top as no package is in it."""
    places: dict[str, None] = {}
    for path in paths:
        parts = path.split("/")
        if any(path.startswith(f"{folder}/") for folder in folders):
            continue
        for number in range(1, len(parts) + 1):
            place = "/".join(parts[:number])
            if number == len(parts):
                places.setdefault(place)
            elif not any(f"{folder}/".startswith(f"{place}/") for folder in folders):
                places.setdefault(f"{place}/")
                break
    yield from sorted(places)


def quoted(text: str) -> str:
    """A text as YAML: plain where it is read as itself, and otherwise in quotes."""
    if _PLAIN.fullmatch(text) and not _RESERVED.fullmatch(text):
        return text
    return json.dumps(text, ensure_ascii=False)
