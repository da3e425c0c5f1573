"""Data files inside packages: they follow the modules beside them, or stay where something names them.

Files that are opened only by their names are sources that are compiled when a kernel is called first. One
stays when Python that stays has its name, or a file of its kind that stays; a document names nothing. A name
may be made at run time: `f"topk_{size}.cuh"` is the name of every file that it fits.
"""

from __future__ import annotations

import posixpath
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping

from builder.errors import Problem
from builder.graph.modules import Summary
from builder.manifest.model import Manifest
from builder.manifest.statements import Rule
from builder.native.cpp import SUFFIXES
from builder.pipeline.file_names import HOLE, FileName, in_python, in_source
from builder.pipeline.ranges import matches_nothing
from builder.select.patterns import PatternSet
from builder.tree import Snapshot


def followed(data: Iterable[str], modules: Iterable[str], staying: Iterable[Summary]) -> dict[str, str]:
    """Return data file -> the path of a module that it follows; a file that follows none is not in it.

    A file follows the modules in and below its package: the nearest folder above it in which upstream has
    modules (`modules`: their paths). An empty `__init__.py` reads nothing.
    """
    # a folder that no import statement can name, like `fast-transform`, is none of a package
    folders = {_folder(path) for path in modules}
    packages = {folder for folder in folders if folder.rpartition("/")[2].isidentifier()}
    readers: dict[str, str] = {}
    for path in sorted(s.path for s in staying if not s.package or s.imports or s.names or s.error):
        folder = path
        while folder := _folder(folder):
            readers.setdefault(folder, path)
    follows: dict[str, str] = {}
    for path in data:
        folder = _folder(path)
        while folder and folder not in packages:
            folder = _folder(folder)
        # where there is no package above a file, nothing can be said about it
        if reader := readers.get(folder) if folder else path:
            follows[path] = reader
    return follows


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


_DOCUMENT = re.compile(r"\.(?:md|rst)$|(?<!CMakeLists)\.txt$")
_PLAIN = re.compile(r"[\w./-]+")


def unnamed(
    data: Iterable[str], python: Mapping[str, bytes], sources: Mapping[str, bytes], manifest: Manifest
) -> tuple[dict[str, Rule], dict[str, str]]:
    """Return the data files that nothing names, with the statement that they are opened by name; and for each
    of the others that such a statement covers, the place that names it.

    `python`: the texts of the modules that stay, by path; `sources`: those of the data files.
    """
    opened = _opened(data, manifest.named_files)
    named: dict[str, str] = {}
    if not opened:
        return opened, named
    endings = tuple(sorted({_ending(path) for path in opened}))
    paths: dict[str, list[str]] = {}
    for path in opened:
        paths.setdefault(path.rpartition("/")[2], []).append(path)
    todo = deque(_in_modules(python, endings))
    while todo:
        place, names = todo.popleft()
        for name in names:
            for path in _meant(name, place, paths):
                if path not in named:
                    named[path] = f"{place}:{name.line}"
                    todo.append((path, in_source(sources.get(path, b""), endings, path.endswith(SUFFIXES))))
    return {path: rule for path, rule in opened.items() if path not in named}, named


def _in_modules(
    python: Mapping[str, bytes], endings: tuple[str, ...]
) -> Iterator[tuple[str, tuple[FileName, ...]]]:
    """Yield the file names in each module, then those that it makes with constants of any module."""
    constants: set[tuple[str, str]] = set()
    for path, text in sorted(python.items()):
        names, made = in_python(text, endings)
        constants.update(made)
        yield path, names
    for path, text in sorted(python.items()):
        read = tuple(sorted(one for one in constants if one[0].encode() in text))
        if read:
            yield path, in_python(text, endings, read)[0]


def _meant(name: FileName, place: str, paths: Mapping[str, list[str]]) -> list[str]:
    """Return the files that a name in the file at `place` stands for; `paths`: last name -> paths.

    Their paths end in the name. If there is none, a program may use a part of the name: their paths end in as
    much of it as any does.
    """
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(place), name.name))
    if name.sign == '"' and beside in paths.get(beside.rpartition("/")[2], ()):
        return [beside]
    parts = [part for part in posixpath.normpath(name.name).split("/") if part not in ("", ".", "..")]
    while HOLE in parts[:-1]:  # any folder, or none, or the one above
        parts = parts[parts.index(HOLE) + 1 :]
    for start in range(len(parts))[: 1 if name.sign else None]:
        shape = re.compile(".*/" + re.escape("/".join(parts[start:])).replace(re.escape(HOLE), ".*"))
        alike = paths.values() if HOLE in parts[-1] else [paths.get(parts[-1], [])]
        if ends := [path for some in alike for path in some if shape.fullmatch(f"/{path}")]:
            return ends
    return []


def unused_paths(upstream: Snapshot, manifest: Manifest) -> list[Problem]:
    """Return R009 for each statement of `named_files` or `prune_symbols` that matches no path."""
    stated = (("named_files", manifest.named_files), ("prune_symbols", manifest.prune_symbols))
    return [
        matches_nothing(f"`{key}: {rule.pattern}` matches no path.", rule.mark, None)
        for key, rules in stated
        for rule in rules
        if not _opened(upstream, (rule,))
    ]


def _opened(paths: Iterable[str], rules: tuple[Rule, ...]) -> dict[str, Rule]:
    sets = [(rule, PatternSet([rule.pattern])) for rule in rules]
    opened: dict[str, Rule] = {}
    for path in paths:
        rule = next((rule for rule, patterns in sets if patterns.matching(path)), None)
        if rule is not None and _ending(path) and _PLAIN.fullmatch(path) and not _DOCUMENT.search(path):
            opened[path] = rule
    return opened


def _ending(path: str) -> str:
    name = path.rpartition("/")[2]
    return name[name.rindex(".") :] if "." in name else ""
