"""Resolves `UPSTREAM` to a commit or release: from the mirror, the cached clone, then the remote."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from builder.errors import BuildError, fail
from builder.manifest.model import Project
from builder.spelling import nearest
from builder.upstream import clone, commits, git, release
from builder.upstream import spec as specs
from builder.upstream.commits import CommitMatch
from builder.upstream.model import Sources, Upstream
from builder.upstream.spec import Wanted

#: v1.2, v1.2.3 and v1.2.3.post1: neither candidates nor the tags of other parts
_RELEASE = re.compile(r"v\d+(\.\d+)+(\.post\d+)?")


def resolve(spec: str, where: Sources) -> Upstream:
    """The upstream that `spec` names; its tree is read, its blobs are not yet.

    Raises BuildError: U001 if it is unavailable, U002 if it names nothing, U003 if a download does not have
    its digest, E002 if the cache is unusable, E003 without git or pip.
    """
    wanted = specs.parse(spec, where.pins)
    if wanted.kind == "release":
        return release.resolve(wanted, where)
    if wanted.repository is not None:
        return _from_repository(wanted, wanted.repository, where.project)
    return _search(wanted, where)


def _from_repository(wanted: Wanted, path: Path, project: Project) -> Upstream:
    git_dir = _opened(path, wanted, "repository")
    try:
        match = commits.find(git_dir, wanted)
        if match is None:
            near = commits.ref_names(git_dir)
            raise specs.unknown(wanted.value, f"is no commit, tag or branch of {path}", near=near)
        return _upstream(wanted, git_dir, match, f"the repository {path}", project)
    except git.GitError as error:
        raise fail("U001", f"{wanted.spec!r} cannot be read from {path}: {error.reason}.") from None


def _opened(path: Path, wanted: Wanted, what: str) -> Path:
    git_dir = git.git_dir_of(path)
    if git_dir is None:
        message = f"{wanted.spec!r} is unavailable: the {what} {path} is not a git repository."
        hint = "give the folder of a clone, or of a bare repository"
        raise fail("U001", message, wanted.mark, hint=hint)
    return git_dir


def _search(wanted: Wanted, where: Sources) -> Upstream:
    tried: list[str] = []  # why each place failed
    names = list(where.pins)  # what these places do have, for suggestions
    if where.mirror is None:
        tried.append("mirror: none given (--mirror)")
    else:
        git_dir = _opened(where.mirror, wanted, "mirror")
        try:
            if match := commits.find(git_dir, wanted):
                return _upstream(wanted, git_dir, match, f"the mirror {where.mirror}", where.project)
            tried.append(f"mirror: {where.mirror} does not have it")
            names += commits.ref_names(git_dir)
        except git.GitError as error:
            tried.append(f"mirror: {where.mirror}: {error.reason}")
    git_dir = clone.location(where.cache)
    try:
        if match := clone.find(where.cache, wanted, where.offline):
            repair = None if where.offline else partial(_repair, wanted, where)
            return _upstream(wanted, git_dir, match, f"the cached clone {git_dir}", where.project, repair)
        tried.append(f"cache: {git_dir} does not have it")
        names += commits.ref_names(git_dir) if git_dir.is_dir() else []
    except git.GitError as error:
        tried.append(f"cache: {git_dir} is damaged: {error.reason}")
        if not where.offline:
            clone.discard(where.cache)
    if where.offline:
        raise _unavailable(wanted, where, [*tried, "remote: skipped (offline)"], names)
    try:
        git_dir, match = clone.fetch(where.cache, where.repository, wanted, names)
        repair = partial(_repair, replace(wanted, kind="commit", value=match.commit), where)
        return _upstream(wanted, git_dir, match, f"the remote {where.repository}", where.project, repair)
    except git.GitError as error:
        tried.append(f"remote: {where.repository}: {error.reason}")
    raise _unavailable(wanted, where, tried, names)


def _upstream(
    wanted: Wanted,
    git_dir: Path,
    match: CommitMatch,
    place: str,
    project: Project,
    repair: Callable[[], None] | None = None,
) -> Upstream:
    via = f" ({commits.short_ref(match.ref)})" if match.ref else ""
    return replace(
        commits.read(git_dir, match.commit, project),
        spec=wanted.spec,
        origin=f"commit {match.commit}{via} from {place}",
        blobs=git.GitBlobs(git_dir, repair),
    )


def _repair(wanted: Wanted, where: Sources) -> None:
    """Replace a damaged cached clone by a fresh one with the commit."""
    clone.discard(where.cache)
    _search(wanted, replace(where, mirror=None))


def _unavailable(wanted: Wanted, where: Sources, tried: list[str], names: list[str]) -> BuildError:
    what = f"Commit {wanted.value}" if wanted.kind == "commit" else f"{wanted.value!r}"
    named = f" (the pin {wanted.pin!r})" if wanted.pin else ""
    hints = []
    if wanted.kind == "ref" and (close := nearest(wanted.value, names, most=3)):
        hints.append(close)
    if re.fullmatch(f"[0-9a-fA-F]{{4,{specs.MINIMUM_DIGITS - 1}}}", wanted.value):
        hints.append(f"a short commit has at least {specs.MINIMUM_DIGITS} digits")
    if where.mirror is None:
        hints.append(f"`dist --mirror /path/to/clone.git {wanted.spec}` works offline")
    for version in release.kept(where.project.name, where.cache)[-1:]:
        hints.append(f"`dist pypi:{version}` works offline: it is in the cache")
    releases = [pin for pin in where.pins.values() if pin.release is not None]
    if releases and not where.offline:
        hints.append(f"`dist {releases[0].name}` needs only pip")
    if not where.offline and _RELEASE.fullmatch(wanted.value):
        hints.append(f"`dist pypi:{wanted.value[1:]}` needs only pip")
    message = f"{what}{named} is unavailable: {'; '.join(tried)}."
    return fail("U001", message, wanted.mark, hint="; ".join(hints) or "fetch it into the mirror")
