"""Releases: the sdist or the wheel from the package index, kept in the cache under its sha256.

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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from builder.errors import BuildError, Problem, fail
from builder.spelling import nearest
from builder.upstream import archive, cache, download, wheel
from builder.upstream.model import MemoryBlobs, ReleaseArchive, Sources, Upstream
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


def resolve(wanted: Wanted, where: Sources) -> Upstream:
    """A release as an upstream: from the cache, else through pip.

    Raises BuildError: U001 if it is unavailable, U002 if there is no such release, U003 for a wrong digest.
    """
    wanted = _for_python(wanted, where.python)
    file = _find(wanted, where)
    name, version, form, sha256 = where.project.name, wanted.value, file.form, file.sha256
    try:
        read = wheel.read if form == "wheel" else archive.read
        release = read(file.data, where.project, version, sha256)
    except archive.ArchiveError as error:
        raise BuildError(
            Problem("U001", f"The {form} of {name} {version} cannot be used: {reason}.", wanted.mark)
            for reason in error.reasons[:20]
        ) from None
    pinned = "as pinned" if wanted.sha256 else "not pinned in the manifest"
    if form == "wheel":
        source = ReleaseArchive(file.name, sha256, (where.project.pyproject,))
        listed = f", {file.name}"
        if wanted.rather:
            same = _is_for(name, file.name, wanted.rather)
            why = "for Python {}, as the pins" if same else "not for Python {}, as the pins are"
            listed += f" ({why.format(wanted.rather)})"
    else:
        source, listed = ReleaseArchive(f"{name}-{version}.tar.gz", sha256), ""
    return Upstream(
        spec=wanted.spec,
        commit=release.commit,
        tree=release.tree,
        origin=f"release {version} {file.place}{listed}, sha256 {sha256} ({pinned})",
        time=archive.SDIST_TIME,
        version=version,
        blobs=MemoryBlobs(release.contents),
        version_origin=f"release {version}",
        kind=form,
        archive=source,
    )


def _for_python(wanted: Wanted, python: str | None) -> Wanted:
    """The release with the wheel that --python asks for. Raises BuildError U002 if a pin is another one."""
    if python is None or python == wanted.python:
        return wanted
    if wanted.python is None:
        return replace(wanted, python=python, rather=None)
    if wanted.spec == wanted.pin:
        message = (
            f"The pin {wanted.pin!r} is the wheel for Python {wanted.python}, and --python says {python}."
        )
        hint = f"leave --python out, or write pypi:{wanted.value} for a wheel that is not pinned"
        raise fail("U002", message, wanted.mark, hint=hint)
    return Wanted(wanted.spec, wanted.kind, wanted.value, python=python)


def versions(where: Sources) -> list[str]:
    """The releases that there are: on the index, or offline in the cache. Raises BuildError U001."""
    if where.offline:
        return kept(where.project.name, where.cache)
    if releases := download.releases(where.project.name):
        return releases
    message = f"The package index lists no release of {where.project.name}."
    raise fail("U001", message, hint="check pip's settings")


def _find(wanted: Wanted, where: Sources) -> ReleaseFile:
    """The archive, from the cache or the index; an sdist where there is one. Raises BuildError."""
    name = where.project.name
    forms: tuple[Form, ...] = (wanted.form,) if wanted.form else ("sdist", "wheel")
    tried: list[str] = []
    if file := _cached(name, wanted, forms, where.cache, tried):
        return file
    if where.offline:
        raise _unavailable(wanted, where, [*tried, "package index: skipped (offline)"])
    misses: list[download.PipError] = []
    with cache.writing(where.cache) as folder:
        # another builder may have downloaded it while we waited for the lock
        if file := _cached(name, wanted, forms, folder, []):
            return file
        for form in forms:
            try:
                return _download(name, wanted, form, folder)
            except download.PipError as error:
                misses.append(error)
                if not error.reached:
                    break  # the index did not answer: it says nothing about the other form either
    if any(miss.releases for miss in misses):
        raise _missing(name, wanted, misses)
    raise _unavailable(wanted, where, [*tried, f"package index: {misses[0].reason}"])


def _download(project: str, wanted: Wanted, form: Form, folder: Path) -> ReleaseFile:
    """The archive from the index, stored in the cache. Raises PipError, BuildError for a wrong digest."""
    version = wanted.value
    with cache.scratch(folder) as temporary:
        if form == "sdist":
            path = download.sdist(project, version, temporary)
        else:
            path = download.newest_wheel(project, version, temporary, wanted.python, wanted.rather)
        data = path.read_bytes()
        sha256 = hashlib.sha256(data).hexdigest()
        if wanted.sha256 not in (None, sha256):
            message = f"The {form} of {project} {version} has sha256 {sha256}"
            message += f", and the pin {wanted.pin!r} says {wanted.sha256}."
            hint = "the download was altered, or the pin is wrong; the download was discarded"
            raise fail("U003", message, wanted.mark, hint=hint)
        name = path.name if form == "wheel" else f"{project}-{version}.tar.gz"
        file = ReleaseFile(form, name, data, sha256, "from the package index, through pip")
        cache.keep(path, folder / _place(project, wanted, file))
    return file


def _missing(project: str, wanted: Wanted, misses: list[download.PipError]) -> BuildError:
    """U002 for a release that the index does not have, or not in the form that is wanted."""
    from packaging.version import Version

    version, releases = wanted.value, {name for miss in misses for name in miss.releases}
    other_form = version in releases or wanted.form == "sdist" or wanted.python is not None
    if other_form and (pythons := download.wheel_pythons(project, version)):
        what = f"wheel for Python {wanted.python}" if wanted.python else "wheel for Linux x86_64"
        what = "sdist" if wanted.form == "sdist" else what
        message = f"The package index has {project} {version}, and no {what} of it."
        hint = f"it has wheels for Linux x86_64 and Python {', '.join(pythons)}"
        return fail("U002", message, wanted.mark, hint=hint)
    newest = sorted(releases, key=Version)[:-4:-1]
    listed = f"the newest {'is' if len(newest) == 1 else 'are'} {', '.join(newest)}"
    close = nearest(version, releases, most=3)
    hint = f"{close} {listed}" if close else listed
    message = f"The package index has no release {version} of {project}."
    return fail("U002", message, wanted.mark, hint=hint)


def _unavailable(wanted: Wanted, where: Sources, tried: list[str]) -> BuildError:
    form = wanted.form or "sdist"
    name, choice = where.project.name, "only" if form == "wheel" else "no"
    command = f"pip download {name}=={wanted.value} --no-deps --{choice}-binary {name}"
    hints = [f"put the file that `{command}` gives elsewhere into {where.cache / form}"]
    others = [version for version in kept(name, where.cache) if version != wanted.value]
    if others:
        hints.insert(0, f"`dist pypi:{others[-1]}` works offline")
    if where.mirror is not None:
        hints.append("or build a commit of the mirror, `dist <sha>`")
    else:
        hints.append("or build a commit of a clone, `dist --mirror /path/to/clone.git <sha>`")
    message = f"Release {wanted.value} of {name} is unavailable: {'; '.join(tried)}."
    return fail("U001", message, wanted.mark, hint="; ".join(hints))


# -- the cache


def kept(project: str, cache_folder: Path) -> list[str]:
    """Versions of the releases of a project that the cache has, sorted by name."""
    sdists = (_sdist(path, project) for path in (cache_folder / "sdist").glob("*.tar.gz"))
    wheels = (_wheel(path, project) for path in (cache_folder / "wheel").rglob("*.whl"))
    return sorted({parsed[0] for parsed in (*sdists, *wheels) if parsed})


def _cached(
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


def _place(project: str, wanted: Wanted, file: ReleaseFile) -> str:
    """Where the cache keeps an archive that was downloaded for `wanted`, relative to the cache."""
    if file.form == "sdist":
        return f"sdist/{_escaped(project)}-{wanted.value}-{file.sha256}.tar.gz"
    return f"wheel/{_folder(wanted)}/{file.sha256}/{file.name}"


def _is_for(project: str, name: str, python: str) -> bool:
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
