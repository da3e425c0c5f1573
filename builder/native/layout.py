"""Which files of a native package its CMake files and its #includes name, and which they compile.

Nothing runs CMake.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from builder.native import cmake, cpp
from builder.native.symbols import Binding, bindings
from builder.native.text import decode

#: The folder of the native package.
ROOT = "sgl-kernel"
SOURCES = (".c", ".cc", ".cpp", ".cxx", ".cu")
_VARIABLE = re.compile(r"\$\{(\w+)\}/?")
_SOURCE_FOLDERS = ("CMAKE_CURRENT_SOURCE_DIR", "PROJECT_SOURCE_DIR", "CMAKE_SOURCE_DIR")
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*\"([^\"\n]+)\"", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Named:
    """A path that an argument of a CMake command names."""

    path: str
    command: cmake.Command
    token: cmake.Token


class Package:
    """The native files of a tree (path -> bytes); the paths are sorted."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = files
        paths = sorted(path for path in files if path.startswith(f"{ROOT}/"))
        self.natives = [path for path in paths if path.endswith(cpp.SUFFIXES)]
        self.cmakes = [path for path in paths if cmake.is_cmake(path)]

    def text(self, path: str) -> str:
        return decode(self.files[path])

    def line(self, path: str, offset: int) -> int:
        """The line, from 1, of an offset in a file."""
        return self.files[path].count(b"\n", 0, offset) + 1

    def bindings(self) -> list[tuple[str, Binding]]:
        """The operators that the package registers, each with the path of its file."""
        return [(path, binding) for path in self.natives for binding in bindings(self.text(path))]

    def named(self, path: str, text: str) -> Iterator[Named]:
        """Every argument of a CMake file that could be a file of the package, as a path of the tree."""
        for command in cmake.scan(text).commands:
            for token in command.arguments:
                one = None if token.text in "()" else self.resolve(path, token.value)
                if one and "*" not in one:
                    yield Named(one, command, token)

    def resolve(self, path: str, value: str) -> str | None:
        """The path of the tree that a CMake argument means; None when it leaves the package."""
        folder = posixpath.dirname(path)
        match = _VARIABLE.match(value)
        if match and match[1] not in (*_SOURCE_FOLDERS, "CMAKE_CURRENT_LIST_DIR"):
            return None
        if match is None or match[1] in _SOURCE_FOLDERS:  # that of the nearest CMakeLists.txt
            while f"{folder}/CMakeLists.txt" not in self.files and folder.startswith(f"{ROOT}/"):
                folder = posixpath.dirname(folder)
        value = value[match.end() :] if match else value
        if not value or "${" in value or "$<" in value or value.startswith(("/", "-")):
            return None
        full = posixpath.normpath(posixpath.join(folder, value))
        return full if full.startswith(f"{ROOT}/") else None

    def compiled(self) -> frozenset[str]:
        """The source files that the CMake files name, by path or by pattern."""
        sources: set[str] = set()
        for path in self.cmakes:
            text = self.text(path)
            sources.update(one.path for one in self.named(path, text) if one.path.endswith(SOURCES))
            for command in cmake.scan(text).commands:
                kind = command.arguments[0].value if command.arguments else ""
                if command.name == "file" and kind in ("GLOB", "GLOB_RECURSE"):
                    for token in command.arguments[2:]:
                        if wanted := self.resolve(path, token.value):
                            sources.update(p for p in self.files if _globbed(p, wanted, kind != "GLOB"))
        return frozenset(sources)

    def includes(self, path: str) -> Iterator[tuple[str, int, list[str]]]:
        """(the text, the line, the paths it could mean) of every quoted #include."""
        scanned = cpp.scan(self.text(path))
        bases = (posixpath.dirname(path), f"{ROOT}/include", f"{ROOT}/csrc", ROOT)
        for match in _INCLUDE.finditer(scanned.bare):
            paths = [posixpath.normpath(posixpath.join(base, match[1])) for base in bases]
            yield match[1], scanned.line(match.start(1)), paths


def _globbed(path: str, wanted: str, deep: bool) -> bool:
    folder, _, name = wanted.rpartition("/")
    home, _, last = path.rpartition("/")
    return fnmatchcase(last, name) and (home == folder or (deep and path.startswith(f"{folder}/")))


# -- the libraries that the CMake files build


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
