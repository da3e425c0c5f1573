"""Archives of releases in the cache, each kept under its sha256.

    cache/sdist/<project>-<version>-<sha256>.tar.gz
    cache/wheel/<python>/<sha256>/<name>.whl      <python>: what was asked for: `3.12`, `newest`, or
                                                  `3.12-or-newest`

A file of an archive's own name, directly in `sdist/` or `wheel/`, was put there by hand; it is treated like a
download.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from builder.upstream.spec import Wanted

NEWEST = "newest"
Form = Literal["sdist", "wheel"]

_SDIST = re.compile(r"(.+?)-(\d[^-]*)(?:-([0-9a-f]{64}))?\.tar\.gz")


@dataclass(frozen=True, slots=True)
class ReleaseFile:
    """An archive: its form, its file name on the index, its bytes, and where they came from."""

    form: Form
    name: str
    data: bytes
    sha256: str
    place: str


def kept(project: str, cache_folder: Path) -> list[str]:
    """Versions of the releases of a project that the cache has, sorted by name."""
    sdists = (_sdist(path, project) for path in (cache_folder / "sdist").glob("*.tar.gz"))
    wheels = (_wheel(path, project) for path in (cache_folder / "wheel").rglob("*.whl"))
    return sorted({parsed[0] for parsed in (*sdists, *wheels) if parsed})


def find(
    project: str, wanted: Wanted, forms: Iterable[Form], folder: Path, tried: list[str]
) -> ReleaseFile | None:
    """A sound copy in the cache `folder`, in the first of these forms that has one, or None.

    `tried` gets the reason why each other copy is not used.
    """
    for form in forms:
        candidates = list(_candidates(project, wanted, form, folder))
        if not candidates:
            tried.append(f"cache: {folder / form} does not have it")
        for path, stated in candidates:
            try:
                data = path.read_bytes()
            except OSError as error:
                tried.append(f"cache: {path} cannot be read ({error.strerror})")
                continue
            sha256 = hashlib.sha256(data).hexdigest()
            if stated not in (None, sha256):
                tried.append(f"cache: {path} is damaged (its sha256 is {sha256})")
            elif wanted.sha256 not in (None, sha256):
                tried.append(f"cache: {path} is not the file that is pinned (its sha256 is {sha256})")
            else:
                return ReleaseFile(form, path.name, data, sha256, "from the cache")
    return None


def place(project: str, wanted: Wanted, file: ReleaseFile) -> str:
    """Where the cache keeps an archive that was downloaded for `wanted`, relative to the cache."""
    if file.form == "sdist":
        return f"sdist/{_escaped(project)}-{wanted.value}-{file.sha256}.tar.gz"
    return f"wheel/{_folder(wanted)}/{file.sha256}/{file.name}"


def is_for(project: str, name: str, python: str) -> bool:
    """Return whether the name of a project's wheel says that it is for a version of Python."""
    wheel = _wheel(Path(name), project)
    return wheel is not None and _fits(wheel[1], python)


def _folder(wanted: Wanted) -> str:
    return wanted.python or (f"{wanted.rather}-or-{NEWEST}" if wanted.rather else NEWEST)


def _candidates(project: str, wanted: Wanted, form: Form, folder: Path) -> Iterator[tuple[Path, str | None]]:
    """The files that may be the archive, each with the digest that its place states."""
    if form == "sdist":
        for path in sorted((folder / "sdist").glob(f"*-{wanted.value}*.tar.gz")):
            if (parsed := _sdist(path, project)) and parsed[0] == wanted.value:
                yield path, parsed[1]
        return
    root = folder / "wheel"
    for name in filter(None, (wanted.rather, _folder(wanted))):
        for path in sorted(root.glob(f"{name}/*/*.whl")):
            if (wheel := _wheel(path, project)) and wheel[0] == wanted.value:
                yield path, path.parent.name
    by_hand = [(wheel, path) for path in sorted(root.glob("*.whl")) if (wheel := _wheel(path, project))]
    by_hand.sort(key=lambda one: (_fits(one[0][1], wanted.rather), one), reverse=True)
    for (version, pythons), path in by_hand:
        if version == wanted.value and _fits(pythons, wanted.python):
            yield path, None


def _escaped(project: str) -> str:
    """The project's name as the file names of its archives begin."""
    from packaging.utils import canonicalize_name

    return canonicalize_name(project).replace("-", "_")


def _sdist(path: Path, project: str) -> tuple[str, str | None] | None:
    """The version of a project's sdist, and the digest in its name; None for any other file."""
    match = _SDIST.fullmatch(path.name)
    return (match[2], match[3]) if match and _escaped(match[1]) == _escaped(project) else None


def _wheel(path: Path, project: str) -> tuple[str, tuple[tuple[int, ...], ...]] | None:
    """The version of a project's wheel, and the versions of Python in its name; None for any other file."""
    from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

    try:
        name, version, _, tags = parse_wheel_filename(path.name)
    except InvalidWheelFilename:
        return None
    if name != canonicalize_name(project):
        return None
    digits = (re.fullmatch(r"\D+(\d)(\d*)", tag.interpreter) for tag in tags)
    pythons = {(int(match[1]), *([int(match[2])] if match[2] else [])) for match in digits if match}
    return str(version), tuple(sorted(pythons))


def _fits(pythons: Iterable[tuple[int, ...]], python: str | None) -> bool:
    # a tag may name the major version alone
    wanted = tuple(map(int, python.split("."))) if python else ()
    return not wanted or any(wanted[: len(tag)] == tag for tag in pythons)
