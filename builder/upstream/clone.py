"""The cached bare clone, and the remote that fills it, one commit at a time."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from builder.errors import fail
from builder.upstream import commits, git, spec
from builder.upstream.cache import scratch, writing
from builder.upstream.commits import CommitMatch
from builder.upstream.spec import Wanted

#: Seconds after which a silent remote counts as unreachable.
LIST_TIMEOUT = 60.0
FETCH_TIMEOUT = 900.0

_NOT_THERE = re.compile(r"not our ref|no such remote ref|couldn't find remote ref|unadvertised object", re.I)


def location(cache: Path) -> Path:
    """Where the clone is, or would be."""
    return cache.absolute() / "upstream.git"


def find(cache: Path, wanted: Wanted, offline: bool) -> CommitMatch | None:
    """A commit that is completely in the clone, or None.

    A branch counts only when offline: online the remote knows where it is now. Raises GitError for a
    damaged clone, BuildError U002 for a name that is certainly wrong.
    """
    git_dir = location(cache)
    if not git_dir.is_dir():
        return None
    match = commits.find(git_dir, wanted)
    if match is None and wanted.kind == "commit" and _complete(git_dir, wanted.value):
        raise git.GitError(f"commit {wanted.value} is damaged")
    is_branch = match and match.ref and match.ref.startswith("refs/remotes/")
    return match if match and _complete(git_dir, match.commit) and (offline or not is_branch) else None


def _complete(git_dir: Path, commit: str) -> bool:
    # objects may exist without the ref: from a killed fetch, or from another commit
    return bool(git.run(git_dir, "for-each-ref", "--", f"refs/builder/{commit}").strip())


def fetch(cache: Path, repository: str, wanted: Wanted, near: Iterable[str] = ()) -> tuple[Path, CommitMatch]:
    """Fetch one commit from the remote into the clone; returns the clone and the commit.

    The clone is a temporary one if the cache is read-only, and a fresh one if it was damaged. `near`
    are further names to suggest, besides those of the remote. Raises GitError if the remote is unreachable,
    BuildError U002 if it does not have `wanted`.
    """
    if repository.startswith("-") or not repository.isprintable() or not repository:
        raise git.GitError(f"{repository!r} is not the address of a repository")
    match = CommitMatch(wanted.value) if wanted.kind == "commit" else _look_up(repository, wanted, near)
    with writing(cache) as folder:
        git_dir = location(folder)
        try:
            _fetch_into(git_dir, folder, repository, wanted, match.commit)
        except git.GitError:
            if _sound(git_dir):
                raise
            shutil.rmtree(git_dir, ignore_errors=True)
            _fetch_into(git_dir, folder, repository, wanted, match.commit)
        if match.ref is not None and match.ref.startswith(("refs/tags/", "refs/heads/")):
            local = match.ref.replace("refs/heads/", "refs/remotes/origin/", 1)
            git.run(git_dir, "update-ref", "--", local, match.commit)
    return git_dir, match


def discard(cache: Path) -> None:
    """Remove a damaged clone."""
    with writing(cache) as folder:
        shutil.rmtree(location(folder), ignore_errors=True)


def _look_up(repository: str, wanted: Wanted, near: Iterable[str]) -> CommitMatch:
    exact = wanted.value.startswith("refs/") or wanted.value == "HEAD"
    ask = ["--heads", "--tags", "--", repository]
    if exact:
        ask = ["--", repository, wanted.value, f"{wanted.value}^{{}}"]
    out = git.run(None, "ls-remote", "--quiet", *ask, protocols=git.REMOTE_PROTOCOLS, timeout=LIST_TIMEOUT)
    lines = out.decode("utf-8", "replace").splitlines()
    refs = dict(line.split("\t")[::-1] for line in lines if "\t" in line)
    tips = {ref: refs.get(f"{ref}^{{}}", oid) for ref, oid in refs.items() if not ref.endswith("^{}")}
    named = {ref: tips[ref] for ref in commits.refs_for(wanted.value) if ref in tips}
    if match := commits.of_refs(wanted, named):
        return match
    digits = spec.short(wanted.value)
    starts = sorted({oid for oid in tips.values() if digits and oid.startswith(digits)})
    if match := commits.of_digits(wanted, starts):
        return match
    if digits:
        message = f"{wanted.spec!r} is not a tip of the remote, which cannot look up abbreviated commits."
        raise fail("U002", message, wanted.mark, hint="give all 40 digits, or a mirror that has the commit")
    near = [*near, *(commits.short_ref(ref) for ref in tips)]
    raise spec.unknown(wanted.spec, f"is not a tag or branch of {repository}", wanted.mark, near=near)


def _fetch_into(git_dir: Path, folder: Path, repository: str, wanted: Wanted, commit: str) -> None:
    if not git_dir.is_dir():
        with scratch(folder) as temporary:
            # no template: hooks and descriptions of the system are not wanted
            git.run(None, "init", "--quiet", "--bare", "--template=", "--", str(temporary / "new"))
            (temporary / "new").rename(git_dir)
    # we hold the cache's lock, so no running git can own these
    for pattern in ("*.lock", "refs/**/*.lock", "objects/pack/tmp_*"):
        for left_over in git_dir.glob(pattern):
            left_over.unlink(missing_ok=True)
    if not _complete(git_dir, commit):
        _fetch_commit(git_dir, repository, wanted, commit)


def _sound(git_dir: Path) -> bool:
    """Whether everything reachable from the refs exists: tells a damaged clone from a failing remote."""
    try:
        git.run(git_dir, "fsck", "--connectivity-only", "--no-dangling", "--no-progress")
    except git.GitError:
        return False
    return True


def _fetch_commit(git_dir: Path, repository: str, wanted: Wanted, commit: str) -> None:
    ref = f"refs/builder/{commit}"
    flags = ("--quiet", "--depth=1", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules")
    fetch = ("fetch", *flags, "--", repository, f"+{commit}:{ref}")
    try:
        git.run(git_dir, *fetch, protocols=git.REMOTE_PROTOCOLS, timeout=FETCH_TIMEOUT)
    except git.GitError as error:
        if not _NOT_THERE.search(error.stderr):
            raise
        message = f"{wanted.spec!r}: {repository} has no commit {commit}."
        hint = "check the digits; the commit may belong to a fork"
        raise fail("U002", message, wanted.mark, hint=hint) from None
    fetched = git.read_object(git_dir, commit)
    if fetched is None or fetched[1] != "commit":
        git.run(git_dir, "update-ref", "-d", "--", ref)
        kind = fetched[1] if fetched else "missing object"
        raise fail("U002", f"{wanted.spec!r} is a {kind}, not a commit.", wanted.mark)
