"""The text of a first manifest."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from builder.graph.names import packages_around
from builder.scaffold.project import PythonProject
from builder.scaffold.survey import Survey
from builder.templates import ABSENT, THERE, filled

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
    folders = list(project.packages.values())
    outside = list(_outside(paths, folders))
    tests = [place for place in outside if place.startswith("test") and place.endswith("/")]
    outer = [name for name in project.packages if not set(packages_around(name)) & project.packages.keys()]
    asked = {
        kind: [(quoted(one.name), one.conditions) for one in seen.questions if one.kind == kind]
        for kind in ("predicate", "value")
    }
    blocks: dict[str, Iterable[Sequence[object]]] = {
        "backend": ABSENT if project.static else [(project.backend,)],
        "nowhere": THERE if source.repository == NO_REPOSITORY else ABSENT,
        "packages": [(name, quoted(folder)) for name, folder in project.packages.items()],
        "modules": [(module,) for module in dict.fromkeys((*project.packages, *project.entries))],
        "parser": [(seen.flags, seen.parser)] if seen.parser else ABSENT,
        "dynamic": [
            (module, name, quoted(f"{how}, not looked into yet"))
            for module, how in seen.dynamic
            for name in outer
        ],
        "folders": [(quoted(_pattern(f"{folder}/")),) for folder in folders],
        "outside": [(quoted(_pattern(place)),) for place in outside],
        "pruned": [(quoted(f"{folder}/**"),) for folder in folders],
        "questions": THERE if seen.questions else ABSENT,
        "predicates": asked["predicate"],
        "values": asked["value"],
        "tests": [(quoted(_pattern(tests[0])),)] if tests else ABSENT,
        "feature": [(seen.feature, quoted(seen.feature))] if seen.feature else ABSENT,
        "registries": seen.registries,
        "unimported": [(quoted(name),) for name in unimported],
    }
    return filled(
        "manifest.yaml.txt",
        blocks,
        name=quoted(f"{project.name}-small"),
        repository=quoted(source.repository),
        project=quoted(project.name),
        folder=quoted(project.folder or "."),
        pin=source.pin,
        fields=", ".join(f"{key}: {quoted(value)}" for key, value in source.fields.items()),
        such=" For example, without the `#`:" if tests or seen.feature else "",
        first=next(iter(project.packages)),
    )


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
