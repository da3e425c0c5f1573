"""Finds the upstream that a first manifest is for: a commit of a repository, or a release."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from packaging.version import Version

from builder.errors import BuildError, fail
from builder.manifest.model import Project
from builder.scaffold.text import NO_REPOSITORY, Source
from builder.upstream import git, release, spec
from builder.upstream.model import Sources, Upstream
from builder.upstream.resolve import resolve

_RELEASE = re.compile(r"pypi:(?P<name>[A-Za-z0-9][\w.-]*)(?:==(?P<version>[\w.!+-]+))?")
_ADDRESS = re.compile(r"(?:https|ssh|file)://\S+")
_SCP = re.compile(r"(?:[\w.-]+@)?[\w.-]+:(?!//)\S+")


def find(
    asked: str, cache: Path, offline: bool, python: str | None
) -> tuple[Upstream, Source, str, Path | None]:
    """The upstream, how a manifest names it, the project's name if that is known, and the repository.

    `asked`: the folder of a repository (`PATH` or `PATH@REF`), or `pypi:NAME==VERSION`.
    Raises BuildError U001, U002, U003.
    """
    if asked.startswith("pypi:"):
        upstream, source, name = _release(asked, cache, offline, python)
        return upstream, source, name, None
    path = asked if asked.startswith(("/", "./", "../", "~")) else f"./{asked}"
    wanted = spec.parse(path, {})
    repository = wanted.repository or Path(path)
    try:
        upstream = resolve(path, Sources(None, cache, "", True, {}))
    except BuildError as error:
        raise _hinted(error, "give the folder of a clone, or a release: `init pypi:NAME==VERSION`") from None
    return upstream, Source("seed", {"commit": upstream.commit}, _address(repository)), "", repository


def _release(asked: str, cache: Path, offline: bool, python: str | None) -> tuple[Upstream, Source, str]:
    match = _RELEASE.fullmatch(asked)
    if match is None:
        raise fail("U002", f"{asked!r} does not name a release.", hint="write pypi:NAME==VERSION")
    name = match["name"]
    where = Sources(None, cache, "", offline, {}, python, Project(name))
    if match["version"] is None:
        known = [Version(text) for text in release.versions(where)]
        final = [version for version in known if not version.is_prerelease] or known
        hint = f"write pypi:{name}=={max(final)}" if final else "write pypi:NAME==VERSION"
        raise fail("U002", f"{asked!r} names no version.", hint=hint)
    try:
        upstream = release.resolve(spec.parse(f"pypi:{match['version']}", {}), where)
    except BuildError as error:
        if offline:
            raise
        raise _hinted(error, "look at the name, or give the folder of a clone: `init PATH`") from None
    assert upstream.archive is not None
    fields = {upstream.kind: upstream.version or "", "sha256": upstream.archive.sha256}
    if python is not None and upstream.kind == "wheel":
        fields["python"] = python
    return replace(upstream, spec="release"), Source("release", fields, NO_REPOSITORY), name


def _hinted(error: BuildError, hint: str) -> BuildError:
    """The error with a hint for what is unavailable: what helps other verbs does not help here."""
    return BuildError(replace(p, hint=hint) if p.code == "U001" else p for p in error.problems)


def _address(repository: Path) -> str:
    """Where others find a repository: its `origin`, or itself."""
    git_dir = git.git_dir_of(repository)
    try:
        origin = git.run(git_dir, "config", "--get", "remote.origin.url").decode("utf-8", "replace").strip()
    except git.GitError:
        origin = ""
    if _ADDRESS.fullmatch(origin):
        return origin
    if _SCP.fullmatch(origin):
        host, _, path = origin.partition(":")
        return f"ssh://{host}/{path.lstrip('/')}"
    return repository.expanduser().resolve().as_uri()
