"""Finds and removes what is damaged in the cache folder, without a build; the next build fetches it again."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from builder.upstream import clone, git
from builder.upstream.cache import sha256_of, writing

_DIGEST = re.compile(r"[0-9a-f]{64}")


def damaged(cache: Path) -> list[Path]:
    """The downloads that are not what their names say, and a clone with broken objects, sorted."""
    git_dir = clone.location(cache)
    paths = list(_downloads(cache))
    if git_dir.exists():
        try:
            git.run(git_dir, "fsck", "--no-dangling", "--no-progress")
        except git.GitError:
            paths.append(git_dir)
    return sorted(paths)


def remove(cache: Path, paths: list[Path]) -> None:
    """Remove what `damaged` found, while no other builder writes to the cache. Raises BuildError (E002)."""
    with writing(cache):
        for path in paths:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)


def _downloads(cache: Path) -> Iterator[Path]:
    # a file without a digest in its name was put there by hand, and is compared with the pin when it is used
    wheels = (*(cache / "wheel").glob("*/*/*.whl"), *(cache / "kernel").glob("*/*.whl"))
    for path in (*(cache / "sdist").glob("*.tar.gz"), *wheels):
        stated = _DIGEST.search(path.name if path.suffix == ".gz" else path.parent.name)
        try:
            sound = stated is None or stated[0] == sha256_of(path)
        except OSError:
            sound = False
        if not sound:
            yield path
