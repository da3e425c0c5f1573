"""What a CMake project compiles: its libraries and their sources, read without running CMake."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from builder.native import cmake
from builder.native.layout import ROOT, SOURCES, Package

_WHOLE = re.compile(r"\$\{([\w.-]+)\}")
_FETCHED = re.compile(r"\$\{([\w.-]+)_SOURCE_DIR\}/(.+)")


@dataclass(frozen=True, slots=True)
class Library:
    """One library: a translation unit for each source.

    `sources` are paths of the tree, and `repository:path` for those of a fetched repository. `unknown`
    are patterns over fetched repositories: how many sources they find is not known here.
    """

    name: str
    sources: tuple[str, ...]
    unknown: tuple[str, ...] = ()

    @property
    def own(self) -> tuple[str, ...]:
        """The sources that are files of the tree."""
        return tuple(source for source in self.sources if ":" not in source)


def units(files: Mapping[str, bytes]) -> dict[str, int]:
    """Count the translation units of a tree (path -> bytes) for a report, with every optional library built.

    A source in two libraries is compiled twice and counts twice. `patterns`: over fetched repositories.
    """
    every = libraries(files)
    own = sum(len(library.own) for library in every)
    return {
        "own": own,
        "fetched": sum(len(library.sources) for library in every) - own,
        "libraries": len(every),
        "patterns": len({pattern for library in every for pattern in library.unknown}),
    }


def libraries(files: Mapping[str, bytes]) -> tuple[Library, ...]:
    """Every library of the project in the order of its files; both arms of a condition are read."""
    top = f"{ROOT}/CMakeLists.txt"
    return tuple(_read(top, Package(files), {}, set())) if top in files else ()


def _read(path: str, package: Package, variables: dict[str, list[str]], seen: set[str]) -> Iterator[Library]:
    seen.add(path)
    for command in cmake.scan(package.text(path)).commands:
        first, *words = [token.value for token in command.arguments] or [""]
        if command.name == "set":
            variables[first] = _expanded(words, variables)
        elif command.name == "list" and len(words) > 1 and first.upper() == "APPEND":
            variables[words[0]] = [*variables.get(words[0], []), *_expanded(words[1:], variables)]
        elif command.name == "file" and len(words) > 1 and first.upper() in ("GLOB", "GLOB_RECURSE"):
            variables[words[0]] = _expanded(words[1:], variables)
        elif command.name == "include":
            other = package.resolve(path, first)
            if other and other in package.files and other not in seen:
                yield from _read(other, package, variables, seen)
        elif command.name.endswith("add_library") and first:
            yield _library(first, _expanded(words, variables), path, package)


def _expanded(words: list[str], variables: Mapping[str, list[str]]) -> list[str]:
    """The words with each known variable that is a whole word replaced by its items."""
    items: list[str] = []
    for word in words:
        match = _WHOLE.fullmatch(word)
        items += variables.get(match[1], [word]) if match else [word]
    return items


def _library(name: str, words: list[str], path: str, package: Package) -> Library:
    sources: list[str] = []
    unknown: list[str] = []
    for word in words:
        if not word.endswith(SOURCES):
            continue
        if fetched := _FETCHED.fullmatch(word):
            (unknown if "*" in word else sources).append(f"{fetched[1]}:{fetched[2]}")
        elif source := package.resolve(path, word):
            sources.append(source)
    return Library(name, tuple(sources), tuple(unknown))
