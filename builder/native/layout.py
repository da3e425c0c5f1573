"""Which files of a native package a CMake file or an #include names."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache

from builder.native import cmake, cpp
from builder.native.text import decode

SOURCES = (".c", ".cc", ".cpp", ".cxx", ".cu")
_VARIABLE = re.compile(r"\$\{(\w+)\}/?")
_FETCHED = re.compile(r"\$\{([\w.-]+?)_SOURCE_DIR\}")
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*\"([^\"\n]+)\"", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Named:
    """A path that an argument of a CMake command names."""

    path: str
    command: cmake.Command
    token: cmake.Token


@lru_cache(maxsize=64)
def listing(text: str) -> cmake.Listing:
    return cmake.scan(text)


def natives(files: Mapping[str, bytes], root: str) -> Iterator[str]:
    """The C++ and CUDA files below a folder, sorted."""
    return (p for p in sorted(files) if p.startswith(f"{root}/") and p.endswith(cpp.SUFFIXES))


def cmakes(files: Mapping[str, bytes], root: str) -> Iterator[str]:
    """The CMake files below a folder, sorted."""
    return (p for p in sorted(files) if p.startswith(f"{root}/") and cmake.is_cmake(p))


def named(path: str, data: bytes, files: Collection[str], root: str) -> Iterator[Named]:
    """Every argument of a CMake file that could be a file of the package, as a path of the tree."""
    for command in listing(decode(data)).commands:
        for token in command.arguments:
            if token.text not in ("(", ")") and "*" not in token.value:
                for one in resolve(path, token.value, files, root):
                    yield Named(one, command, token)


def resolve(path: str, value: str, files: Collection[str], root: str) -> list[str]:
    """The path of the tree that a CMake argument means; empty when it leaves the package."""
    match = _VARIABLE.match(value)
    folder = _source_folder(path, files, root)
    if match:
        bases = {
            "CMAKE_CURRENT_LIST_DIR": posixpath.dirname(path),
            "CMAKE_CURRENT_SOURCE_DIR": folder,
            "PROJECT_SOURCE_DIR": folder,
            "CMAKE_SOURCE_DIR": folder,
        }
        if match[1] not in bases:
            return []
        folder, value = bases[match[1]], value[match.end() :]
    if "${" in value or "$<" in value or value.startswith(("/", "-")) or not value:
        return []
    full = posixpath.normpath(posixpath.join(folder, value))
    return [full] if full.startswith(f"{root}/") else []


def fetched(data: bytes) -> Iterator[tuple[str, cmake.Token]]:
    """The fetched repositories that the arguments of a CMake file name."""
    for command in listing(decode(data)).commands:
        for token in command.arguments:
            for match in _FETCHED.finditer(token.value):
                if match[1] not in ("PROJECT", "CMAKE", "CMAKE_CURRENT"):
                    yield match[1], token


def declared(data: bytes) -> Iterator[str]:
    """The repositories that a CMake file fetches."""
    for command in listing(decode(data)).commands:
        if command.name == "fetchcontent_declare" and command.arguments:
            yield command.arguments[0].value


def compiled(files: Mapping[str, bytes], root: str) -> frozenset[str]:
    """The source files that the CMake files name, by path or by pattern."""
    sources: set[str] = set()
    for path in cmakes(files, root):
        sources.update(n.path for n in named(path, files[path], files, root) if n.path.endswith(SOURCES))
        for command in listing(decode(files[path])).commands:
            kind = command.arguments[0].value if command.arguments else ""
            if command.name != "file" or kind not in ("GLOB", "GLOB_RECURSE"):
                continue
            for token in command.arguments[2:]:
                for wanted in resolve(path, token.value, files, root):
                    sources.update(p for p in files if _globbed(p, wanted, kind == "GLOB_RECURSE"))
    return frozenset(sources)


def includes(path: str, data: bytes, root: str) -> Iterator[tuple[str, int, list[str]]]:
    """(the text, the line, the paths it could mean) of every quoted #include."""
    for match in _INCLUDE.finditer(cpp.scan(decode(data)).bare):
        bases = (posixpath.dirname(path), f"{root}/include", f"{root}/csrc", root)
        line = data.count(b"\n", 0, match.start(1)) + 1
        yield match[1], line, [posixpath.normpath(posixpath.join(base, match[1])) for base in bases]


def _globbed(path: str, wanted: str, deep: bool) -> bool:
    folder, _, name = wanted.rpartition("/")
    if deep:
        return path.startswith(f"{folder}/") and fnmatchcase(path.rpartition("/")[2], name)
    return path.rpartition("/")[0] == folder and fnmatchcase(path.rpartition("/")[2], name)


def _source_folder(path: str, files: Collection[str], root: str) -> str:
    """The folder that relative paths start from: that of the nearest CMakeLists.txt."""
    folder = posixpath.dirname(path)
    while folder.startswith(f"{root}/"):
        if f"{folder}/CMakeLists.txt" in files:
            return folder
        folder = posixpath.dirname(folder)
    return root
