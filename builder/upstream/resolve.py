"""Resolves `UPSTREAM` to a commit or release: from the mirror, the cached clone, then the remote."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from builder.adapter import MIRROR
from builder.errors import BuildError, fail
from builder.manifest.model import Project
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
        raise fail(
            "U001",
            f"{wanted.spec!r} is unavailable: the {what} {path} is not a git repository.",
            wanted.mark,
            hint="give the folder of a clone, or of a bare repository",
        )
    return git_dir


@dataclass(slots=True)
class _Search:
    """Why each place tried so far failed, and the names that it does have, for suggestions."""

    tried: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)


def _search(wanted: Wanted, where: Sources) -> Upstream:
    search = _Search(names=list(where.pins))
    for look in (_in_mirror, _in_clone, _at_remote):
        upstream = look(wanted, where, search)
        if upstream is not None:
            return upstream
    raise _unavailable(wanted, where, search)


def _in_mirror(wanted: Wanted, where: Sources, search: _Search) -> Upstream | None:
    if where.mirror is None:
        search.tried.append(f"mirror: none given ({MIRROR} or --mirror)")
        return None
    git_dir = _opened(where.mirror, wanted, "mirror")
    try:
        match = commits.find(git_dir, wanted)
        if match is not None:
            return _upstream(wanted, git_dir, match, f"the mirror {where.mirror}", where.project)
        search.tried.append(f"mirror: {where.mirror} does not have it")
        search.names += commits.ref_names(git_dir)
    except git.GitError as error:
        search.tried.append(f"mirror: {where.mirror}: {error.reason}")
    return None


def _in_clone(wanted: Wanted, where: Sources, search: _Search) -> Upstream | None:
    git_dir = clone.location(where.cache)
    try:
        match = clone.find(where.cache, wanted, where.offline)
        if match is not None:
            place, repair = f"the cached clone {git_dir}", _repair(wanted, where)
            return _upstream(wanted, git_dir, match, place, where.project, repair)
        search.tried.append(f"cache: {git_dir} does not have it")
        search.names += commits.ref_names(git_dir) if git_dir.is_dir() else []
    except git.GitError as error:
        search.tried.append(f"cache: {git_dir} is damaged: {error.reason}")
        if not where.offline:
            clone.discard(where.cache)
    return None


def _at_remote(wanted: Wanted, where: Sources, search: _Search) -> Upstream | None:
    if where.offline:
        search.tried.append("remote: skipped (offline)")
        return None
    try:
        git_dir, match = clone.fetch(where.cache, where.repository, wanted, search.names)
        repair = _repair(replace(wanted, kind="commit", value=match.commit), where)
        return _upstream(wanted, git_dir, match, f"the remote {where.repository}", where.project, repair)
    except git.GitError as error:
        search.tried.append(f"remote: {where.repository}: {error.reason}")
    return None


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


def _repair(wanted: Wanted, where: Sources) -> Callable[[], None] | None:
    """A function that replaces a damaged cached clone by a fresh one with the commit; None when offline."""
    if where.offline:
        return None

    def repair() -> None:
        clone.discard(where.cache)
        _search(wanted, replace(where, mirror=None))

    return repair


def _unavailable(wanted: Wanted, where: Sources, search: _Search) -> BuildError:
    what = f"Commit {wanted.value}" if wanted.kind == "commit" else f"{wanted.value!r}"
    named = f" (the pin {wanted.pin!r})" if wanted.pin else ""
    hints = []
    close = specs.did_you_mean(wanted.value, search.names) if wanted.kind == "ref" else ""
    if close:
        hints.append(f"did you mean {close}?")
    if re.fullmatch(f"[0-9a-fA-F]{{4,{specs.MINIMUM_DIGITS - 1}}}", wanted.value):
        hints.append(f"a short commit has at least {specs.MINIMUM_DIGITS} digits")
    if where.mirror is None:
        hints.append(f"`{MIRROR}=/path/to/clone.git make dist UPSTREAM={wanted.spec}` works offline")
    for version in release.kept(where.project.name, where.cache)[-1:]:
        hints.append(f"`make dist UPSTREAM=pypi:{version}` works offline: it is in the cache")
    releases = [pin for pin in where.pins.values() if pin.release is not None]
    if releases and not where.offline:
        hints.append(f"`make dist UPSTREAM={releases[0].name}` needs only pip")
    if not where.offline and _RELEASE.fullmatch(wanted.value):
        hints.append(f"`make dist UPSTREAM=pypi:{wanted.value[1:]}` needs only pip")
    message = f"{what}{named} is unavailable: {'; '.join(search.tried)}."
    return fail("U001", message, wanted.mark, hint="; ".join(hints) or "fetch it into the mirror")
