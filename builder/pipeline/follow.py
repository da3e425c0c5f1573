"""Data files inside packages follow the modules that may read them: those of the nearest package."""

from __future__ import annotations

from collections.abc import Iterable

from builder.graph.modules import Summary


def followed(data: Iterable[str], modules: Iterable[str], staying: Iterable[Summary]) -> dict[str, str]:
    """data file -> the path of a module that it follows; a file that follows none is not in it.

    The nearest package is the nearest folder above a file in which upstream has modules (`modules`: their
    paths). A file stays with any module in or below it; an empty `__init__.py` reads nothing.
    """
    packages = {folder for path in modules if (folder := _folder(path)) and _importable(folder)}
    readers: dict[str, str] = {}
    for path in sorted(s.path for s in staying if not _is_empty(s)):
        folder = _folder(path)
        readers.setdefault(folder, path)
        while folder := _folder(folder):
            readers.setdefault(folder, path)
    found: dict[str, str] = {}
    for path in data:
        folder = _folder(path)
        while folder and folder not in packages:
            folder = _folder(folder)
        # where there is no package above a file, nothing can be said about it
        if reader := readers.get(folder) if folder else path:
            found[path] = reader
    return found


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _importable(folder: str) -> bool:
    """A folder that no import statement can name, like `fast-transform`, is none of a package."""
    return folder.rpartition("/")[2].isidentifier()


def _is_empty(summary: Summary) -> bool:
    return summary.package and not (summary.imports or summary.names or summary.error)
