"""Selects the files of the wheel by pyproject.toml, as setuptools does.

setuptools-scm adds every file that git tracks, silently; without a repository (an sdist, this
distribution) only the declared packages and package data count. This module does the latter, and a gate
compares the result with what the code opens at run time.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
    folders = _folders(path[len(prefix) :] for path in snapshot if path.startswith(prefix))
    chosen = {f for f in folders[""].files if f.removesuffix(".py") in setuptools.get("py-modules", ())}
    data = setuptools.get("package-data", {})
    exclude = setuptools.get("exclude-package-data", {})
    for package in _packages(setuptools.get("packages", {}), folders):
        folder = package.replace(".", "/")
        chosen.update(f"{folder}/{name}" for name in folders[folder].files if name.endswith(".py"))
        wanted = (*_IMPLICIT, *_patterns(data, package))
        files = [f for pattern in wanted for f in _glob(folders, folder, pattern.split("/"))]
        # unlike in the globs, here a star crosses folders
        refused = [re.compile(fnmatch.translate(f"{folder}/{p}")) for p in _patterns(exclude, package)]
        chosen.update(f for f in files if not any(r.match(f) for r in refused))
    return {path: _source(snapshot, prefix + path) for path in sorted(chosen)}


@dataclass(slots=True)
class _Folder:
    """Names directly in one folder."""

    files: list[str]
    folders: list[str]


def _folders(files: Iterable[str]) -> dict[str, _Folder]:
    """Every folder below the project, and the project itself under the empty name."""
    folders: dict[str, _Folder] = {"": _Folder([], [])}

    def folder(path: str) -> _Folder:
        if path not in folders:
            parent, _, name = path.rpartition("/")
            folder(parent).folders.append(name)
            folders[path] = _Folder([], [])
        return folders[path]

    for path in files:
        parent, _, name = path.rpartition("/")
        folder(parent).files.append(name)
    return folders


def _packages(wanted: Any, folders: Mapping[str, _Folder]) -> list[str]:
    if isinstance(wanted, list):
        return [package for package in wanted if package.replace(".", "/") in folders]
    find = wanted.get("find", {})
    include, exclude = find.get("include", ["*"]), find.get("exclude", [])
    namespaces = find.get("namespaces", True)
    return list(_find(folders, include, ["ez_setup", "*__pycache__", *exclude], namespaces))


def _find(
    folders: Mapping[str, _Folder], include: Sequence[str], exclude: Sequence[str], namespaces: bool
) -> Iterator[str]:
    """setuptools' finders: a folder without a dot; plain `find` also wants an __init__.py, all the way up."""
    closed: set[str] = set()
    for folder in sorted(folders):
        parent, _, name = folder.rpartition("/")
        if not folder or parent in closed:
            closed.update({folder} if folder else ())
            continue
        if "." in name or not (namespaces or "__init__.py" in folders[folder].files):
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


def _glob(folders: Mapping[str, _Folder], folder: str, pieces: Sequence[str]) -> Iterator[str]:
    """Files that Python's recursive glob finds: `*` stays in one folder, `**` crosses folders."""
    here, (head, *rest) = folders[folder], pieces
    if head == "**":
        # as the last piece it stands for every file, before others for no folder or any number of them
        yield from _glob(folders, folder, rest or ["*"])
        for name in _named(here.folders, "*"):
            yield from _glob(folders, f"{folder}/{name}", pieces)
    elif rest:
        for name in _named(here.folders, head):
            yield from _glob(folders, f"{folder}/{name}", rest)
    else:
        yield from (f"{folder}/{name}" for name in _named(here.files, head))


def _named(names: Sequence[str], pattern: str) -> list[str]:
    """Names that a piece of a glob matches; a wildcard never stands for a leading dot."""
    matches = fnmatch.filter(names, pattern)
    return matches if pattern.startswith(".") else [name for name in matches if not name.startswith(".")]


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
    problems = [
        Problem(
            "G008", f"The wheel cannot be built: '{key}' of {where} is not supported.", upstream=Mark(where)
        )
        for key in ("package-dir", "ext-modules", "data-files")
        if table.get(key)
    ]
    packages = table.get("packages", {})
    if isinstance(packages, dict) and packages.get("find", {}).get("where", ["."]) != ["."]:
        problems.append(
            Problem(
                "G008",
                f"The wheel cannot be built: 'packages.find.where' of {where} is not supported.",
                upstream=Mark(where),
            )
        )
    if problems:
        raise BuildError(problems)
