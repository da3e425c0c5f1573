"""What a CMake project compiles: its libraries and their sources, read without running CMake."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from builder.native import layout
from builder.native.lockstep import ROOT
from builder.native.text import decode

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


@dataclass(frozen=True, slots=True)
class Units:
    """Translation units of a project; a source in two libraries is compiled twice and counts twice."""

    own: int
    fetched: int
    libraries: int
    unknown: tuple[str, ...]

    @property
    def total(self) -> int:
        return self.own + self.fetched


def units(files: Mapping[str, bytes], root: str = ROOT) -> Units:
    """The figures of a tree (path -> bytes) for a report, with every optional library built."""
    every_library = libraries(files, root)
    own = sum(len(library.own) for library in every_library)
    every = sum(len(library.sources) for library in every_library)
    return Units(
        own, every - own, len(every_library), tuple(sorted({p for one in every_library for p in one.unknown}))
    )


def libraries(files: Mapping[str, bytes], root: str = ROOT) -> tuple[Library, ...]:
    """Every library of the project in the order of its files; both arms of a condition are read."""
    top = f"{root}/CMakeLists.txt"
    return tuple(_read(top, files, root, {}, set())) if top in files else ()


def _read(
    path: str, files: Mapping[str, bytes], root: str, variables: dict[str, list[str]], seen: set[str]
) -> Iterator[Library]:
    seen.add(path)
    for command in layout.listing(decode(files[path])).commands:
        words = [token.value for token in command.arguments]
        if command.name == "set" and words:
            variables[words[0]] = _expanded(words[1:], variables)
        elif command.name == "list" and len(words) > 2 and words[0].upper() == "APPEND":
            variables[words[1]] = [*variables.get(words[1], []), *_expanded(words[2:], variables)]
        elif command.name == "file" and len(words) > 2 and words[0].upper() in ("GLOB", "GLOB_RECURSE"):
            variables[words[1]] = _expanded(words[2:], variables)
        elif command.name == "include" and words:
            for other in layout.resolve(path, words[0], files, root):
                if other in files and other not in seen:
                    yield from _read(other, files, root, variables, seen)
        elif command.name.endswith("add_library") and words:
            yield _library(words[0], _expanded(words[1:], variables), path, files, root)


def _expanded(words: list[str], variables: Mapping[str, list[str]]) -> list[str]:
    """The words with each known variable that is a whole word replaced by its items."""
    items: list[str] = []
    for word in words:
        match = _WHOLE.fullmatch(word)
        items += variables[match[1]] if match and match[1] in variables else [word]
    return items


def _library(name: str, words: list[str], path: str, files: Mapping[str, bytes], root: str) -> Library:
    sources: list[str] = []
    unknown: list[str] = []
    for word in words:
        if not word.endswith(layout.SOURCES):
            continue
        fetched = _FETCHED.fullmatch(word)
        if fetched:
            (unknown if "*" in word else sources).append(f"{fetched[1]}:{fetched[2]}")
        else:
            sources += layout.resolve(path, word, files, root)
    return Library(name, tuple(sources), tuple(unknown))
