"""Selects the files of the wheel by pyproject.toml, as setuptools does.

setuptools-scm adds every file that git tracks, silently; without a repository (an sdist, this
distribution) only the declared packages and package data count. This module does the latter, and a gate
compares the result with what the code opens at run time.
"""

from __future__ import annotations

import fnmatch
import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from builder.errors import BuildError, Mark, Problem, fail
from builder.manifest.model import Project
from builder.tree import GITLINK, SYMLINK, Snapshot

#: package data that setuptools adds to every package unasked
_IMPLICIT = ("*.pyi", "py.typed")


def read_pyproject(snapshot: Snapshot, project: Project) -> dict[str, Any]:
    """The pyproject.toml of the project folder. Raises BuildError (G008) when it is missing or broken."""
    path = project.pyproject
    if path not in snapshot:
        raise fail("G008", f"The tree has no {path}, so no wheel can be built.")
    from tomlkit import parse
    from tomlkit.exceptions import TOMLKitError

    try:
        return dict(parse(snapshot[path].decode("utf-8")).unwrap())
    except (TOMLKitError, UnicodeDecodeError) as error:
        raise fail("G008", f"{path} cannot be read: {error}.", upstream=Mark(path)) from error


def wheel_members(snapshot: Snapshot, project: Project) -> dict[str, str]:
    """Path in the wheel -> path in the tree, sorted; generated files (_version.py, dist-info) not included.

    Raises BuildError (G008) for a pyproject.toml that is broken or uses unsupported settings.
    """
    setuptools = read_pyproject(snapshot, project).get("tool", {}).get("setuptools", {})
    _refuse_unknown(setuptools, project.pyproject)
    prefix = project.prefix
    files = [path.removeprefix(prefix) for path in snapshot if path.startswith(prefix)]
    below = _below(files)
    modules = {f"{name}.py" for name in setuptools.get("py-modules", ())}
    chosen = modules.intersection(files)
    data = setuptools.get("package-data", {})
    exclude = setuptools.get("exclude-package-data", {})
    for package in _packages(setuptools.get("packages", {}), below):
        folder = package.replace(".", "/")
        wanted = [pattern.split("/") for pattern in (*_IMPLICIT, *_patterns(data, package))]
        # unlike in the globs, here a star crosses folders
        refused = [f"{folder}/{pattern}" for pattern in _patterns(exclude, package)]
        for name in below[folder]:
            path, parts = f"{folder}/{name}", name.split("/")
            if (len(parts) == 1 and name.endswith(".py")) or (
                any(_fits(parts, pieces) for pieces in wanted) and not _any(path, refused)
            ):
                chosen.add(path)
    return {path: _source(snapshot, prefix + path) for path in sorted(chosen)}


def _below(files: Iterable[str]) -> dict[str, list[str]]:
    """Folder -> all files below it, relative to it."""
    below: dict[str, list[str]] = {}
    for file in files:
        for at, char in enumerate(file):
            if char == "/":
                below.setdefault(file[:at], []).append(file[at + 1 :])
    return below


def _packages(wanted: Any, below: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """setuptools' finders: a folder without a dot; plain `find` also wants an __init__.py, all the way up."""
    if isinstance(wanted, list):
        yield from (package for package in wanted if package.replace(".", "/") in below)
        return
    find = wanted.get("find", {})
    include = find.get("include", ["*"])
    exclude = ["ez_setup", "*__pycache__", *find.get("exclude", [])]
    closed: set[str] = set()
    for folder in sorted(below):
        parent, _, name = folder.rpartition("/")
        regular = find.get("namespaces", True) or "__init__.py" in below[folder]
        if parent in closed or "." in name or not regular:
            closed.add(folder)
            continue
        package = folder.replace("/", ".")
        if _any(package, include) and not _any(package, exclude):
            yield package
        if f"{package}*" in exclude or f"{package}.*" in exclude:
            closed.add(folder)


def _any(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _patterns(table: Mapping[str, Sequence[str]], package: str) -> list[str]:
    # in pyproject.toml "*" is what setup() calls "": every package
    return [*table.get("*", ()), *table.get("", ()), *table.get(package, ())]


def _fits(parts: Sequence[str], pieces: Sequence[str]) -> bool:
    """Return whether Python's recursive glob finds a file: `*` stays in one folder, `**` crosses folders,
    and neither stands for a leading dot."""
    (part, *below), (piece, *rest) = parts, pieces
    hidden = part.startswith(".")
    if piece == "**":
        # as the last piece it stands for every file, before others for no folder or any number of them
        return _fits(parts, rest or ["*"]) or (bool(below) and not hidden and _fits(below, pieces))
    if (hidden and not piece.startswith(".")) or not fnmatch.fnmatchcase(part, piece):
        return False
    return _fits(below, rest) if below and rest else not (below or rest)


def _source(snapshot: Snapshot, path: str) -> str:
    """The regular file that a path of the tree leads to; setuptools follows symlinks, a wheel has none."""
    at = path
    for _ in range(8):
        entry = snapshot.tree.get(at)
        if entry is None or entry.mode == GITLINK:
            break
        if entry.mode != SYMLINK:
            return at
        at = posixpath.normpath(
            posixpath.join(posixpath.dirname(at), snapshot[at].decode("utf-8", "replace"))
        )
    raise fail("G008", f"'{path}' belongs to the wheel, but is a symlink to no file of the tree.")


def _refuse_unknown(table: Mapping[str, Any], where: str) -> None:
    """Stop at settings that would make setuptools choose other files than this module does."""
    refused = [key for key in ("package-dir", "ext-modules", "data-files") if table.get(key)]
    packages = table.get("packages", {})
    if isinstance(packages, dict) and packages.get("find", {}).get("where", ["."]) != ["."]:
        refused.append("packages.find.where")
    if refused:
        message = "The wheel cannot be built: '{}' of {} is not supported."
        raise BuildError(Problem("G008", message.format(key, where), upstream=Mark(where)) for key in refused)
