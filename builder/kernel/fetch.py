"""Downloads the published kernel wheel with pip, on request, and keeps it in the cache under its sha256."""

from __future__ import annotations

import os
from pathlib import Path

from builder.errors import BuildError, fail
from builder.upstream import cache, download


def fetch(project: str, version: str, machine: str, where: Path, offline: bool) -> Path:
    """The wheel's file in the cache `where`, downloaded unless it is there.

    Raises BuildError (K001) when it cannot be had.
    """
    if wheel := _cached(where, project, version, machine):
        return wheel
    if offline:
        raise _unavailable(project, version, "it is not in the cache, and no network may be used")
    with cache.writing(where) as folder:
        if wheel := _cached(folder, project, version, machine):
            return wheel  # another process downloaded it while this one waited
        with cache.scratch(folder) as temporary:
            try:
                got = download.wheel(project, version, temporary, download.PLATFORMS[machine])
            except download.PipError as error:
                raise _unavailable(project, version, error.reason) from None
            target = folder / "kernel" / cache.sha256_of(got) / got.name
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(got, target)
            return target


def _cached(folder: Path, project: str, version: str, machine: str) -> Path | None:
    """A copy whose content still has the digest that its folder is named by."""
    name = project.replace("-", "_")
    for path in sorted((folder / "kernel").glob(f"*/{name}-{version}-*_{machine}.whl")):
        if cache.sha256_of(path) == path.parent.name:
            return path
    return None


def _unavailable(project: str, version: str, reason: str) -> BuildError:
    return fail(
        "K001",
        f"The wheel of {project} {version} cannot be had: {reason}.",
        hint="get it elsewhere and name it with --wheel",
    )
