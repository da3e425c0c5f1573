"""Releases: the sdist from the package index, kept in the cache under its sha256."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from builder.errors import BuildError, Problem, fail
from builder.upstream import archive, cache, download, spec
from builder.upstream.model import MemoryBlobs, Sources, Upstream
from builder.upstream.spec import Wanted

PROJECT = "sglang"


def resolve(wanted: Wanted, where: Sources) -> Upstream:
    """A release as an upstream: from the cache, else through pip.

    Raises BuildError: U001 if it is unavailable, U002 if there is no such release, U003 for a wrong digest.
    """
    data, sha256, place = _bytes(wanted, where)
    version = wanted.value
    try:
        imported = archive.read(data, PROJECT, version, sha256)
    except archive.ArchiveError as error:
        raise BuildError(
            Problem("U001", f"The sdist of {PROJECT} {version} cannot be used: {reason}.", wanted.mark)
            for reason in error.reasons[:20]
        ) from None
    pinned = "as pinned" if wanted.sha256 else "not pinned in the manifest"
    return Upstream(
        spec=wanted.spec,
        commit=imported.commit,
        tree=imported.tree,
        origin=f"release {version} {place}, sha256 {sha256} ({pinned})",
        time=archive.SDIST_TIME,
        version=version,
        blobs=MemoryBlobs(imported.contents),
        version_origin=f"release {version}",
        kind="release",
    )


def kept(cache_folder: Path) -> list[str]:
    """Versions of the releases that the cache has, sorted by name."""
    names = (_NAME.fullmatch(path.name) for path in _folder(cache_folder).glob("*.tar.gz"))
    return sorted({match.group(1) for match in names if match})


_NAME = re.compile(re.escape(PROJECT) + r"-([^-]+)(?:-([0-9a-f]{64}))?\.tar\.gz")


def _folder(cache_folder: Path) -> Path:
    return cache_folder / "sdist"


def _bytes(wanted: Wanted, where: Sources) -> tuple[bytes, str, str]:
    """(bytes, sha256, where from)."""
    tried: list[str] = []
    cached = _cached(wanted, where.cache, tried)
    if cached is not None:
        return *cached, "from the cache"
    if where.offline:
        tried.append("package index: skipped (offline)")
        raise _unavailable(wanted, where, tried)
    with cache.writing(where.cache) as folder:
        # another builder may have downloaded it while we waited for the lock
        cached = _cached(wanted, folder, [])
        if cached is not None:
            return *cached, "from the cache"
        try:
            with cache.scratch(folder) as temporary:
                data = download.sdist(PROJECT, wanted.value, temporary)
        except download.PipError as error:
            if error.releases and error.releases != ("none",) and wanted.value not in error.releases:
                close = spec.did_you_mean(wanted.value, error.releases)
                hint = f"did you mean {close}?" if close else f"the newest is {error.releases[-1]}"
                message = f"The package index has no release {wanted.value} of {PROJECT} as an sdist."
                raise fail("U002", message, wanted.mark, hint=hint) from None
            tried.append(f"package index: {error.reason}")
            raise _unavailable(wanted, where, tried) from None
        sha256 = hashlib.sha256(data).hexdigest()
        if wanted.sha256 is not None and sha256 != wanted.sha256:
            raise fail(
                "U003",
                f"The sdist of {PROJECT} {wanted.value} has sha256 {sha256}, and the pin {wanted.pin!r} "
                f"says {wanted.sha256}.",
                wanted.mark,
                hint="the download was altered, or the pin is wrong; the download was discarded",
            )
        cache.store(folder, f"sdist/{PROJECT}-{wanted.value}-{sha256}.tar.gz", data)
        return data, sha256, "from the package index, through pip"


def _cached(wanted: Wanted, folder: Path, tried: list[str]) -> tuple[bytes, str] | None:
    """A sound copy in the cache. A file without a digest in its name was put there by hand; it is treated
    like a download."""
    seen = False
    for path in sorted(_folder(folder).glob(f"{PROJECT}-{wanted.value}*.tar.gz")):
        name = _NAME.fullmatch(path.name)
        if name is None or name.group(1) != wanted.value:
            continue
        seen = True
        try:
            data = path.read_bytes()
        except OSError as error:
            tried.append(f"cache: {path} cannot be read ({error.strerror})")
            continue
        sha256 = hashlib.sha256(data).hexdigest()
        if name.group(2) is not None and sha256 != name.group(2):
            tried.append(f"cache: {path} is damaged (its sha256 is {sha256})")
        elif wanted.sha256 is not None and sha256 != wanted.sha256:
            tried.append(f"cache: {path} is not the file that is pinned (its sha256 is {sha256})")
        else:
            return data, sha256
    if not seen:
        tried.append(f"cache: {_folder(folder)} does not have it")
    return None


def _unavailable(wanted: Wanted, where: Sources, tried: list[str]) -> BuildError:
    command = download.documented(PROJECT, wanted.value)
    hints = [f"put the file that `{command}` gives elsewhere into {_folder(where.cache)}"]
    others = [version for version in kept(where.cache) if version != wanted.value]
    if others:
        hints.insert(0, f"`make dist UPSTREAM=pypi:{others[-1]}` works offline")
    if where.mirror is not None:
        hints.append("or build a commit of the mirror, `make dist UPSTREAM=<sha>`")
    else:
        hints.append(
            "or build a commit of a clone, `SGLANG_MIRROR=/path/to/sglang.git make dist UPSTREAM=<sha>`"
        )
    message = f"Release {wanted.value} of {PROJECT} is unavailable: {'; '.join(tried)}."
    return fail("U001", message, wanted.mark, hint="; ".join(hints))
