"""Finds commits of a local repository by name, and reads them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from builder.errors import fail
from builder.manifest.model import Project
from builder.tree import GITLINK, Tree
from builder.upstream import git, spec
from builder.upstream.model import Upstream
from builder.upstream.spec import Wanted


@dataclass(frozen=True, slots=True)
class CommitMatch:
    """A commit of one repository, and the ref that led to it, if one did."""

    commit: str
    ref: str | None = None


def find(git_dir: Path, wanted: Wanted) -> CommitMatch | None:
    """The commit that `wanted` names, or None if this repository does not have it.

    A tag or branch takes precedence over an abbreviated commit. Raises BuildError U002 for a name
    that is ambiguous, or names a blob or a tree; GitError for a damaged repository.
    """
    if wanted.kind == "commit":
        return _by_digits(git_dir, wanted, wanted.value)
    if match := of_refs(wanted, _refs_named(git_dir, wanted.value)):
        return match
    digits = spec.short(wanted.value)
    return _by_digits(git_dir, wanted, digits) if digits else None


def of_refs(wanted: Wanted, refs: Mapping[str, str]) -> CommitMatch | None:
    """The commit of the refs (name -> commit) that `wanted` names. Raises BuildError U002 for several."""
    if len(set(refs.values())) > 1:
        message = f"{wanted.spec!r} is ambiguous: {' and '.join(refs)} are different commits."
        raise fail("U002", message, wanted.mark, hint="give the full name, refs/tags/... or refs/heads/...")
    return next((CommitMatch(commit, ref) for ref, commit in refs.items()), None)


def of_digits(wanted: Wanted, commits: Sequence[str]) -> CommitMatch | None:
    """The commit of those that begin as `wanted` does. Raises BuildError U002 for several."""
    if len(commits) > 1:
        listed = ", ".join(commits[:4]) + (", ..." if len(commits) > 4 else "")
        raise fail("U002", f"{wanted.spec!r} is ambiguous: it may be {listed}.", hint="give more digits")
    return CommitMatch(commits[0]) if commits else None


def ref_names(git_dir: Path) -> list[str]:
    """Short names of all tags and branches, sorted."""
    out = git.run(
        git_dir, "for-each-ref", "--format=%(refname)", "refs/tags", "refs/heads", "refs/remotes/origin"
    )
    return sorted({short_ref(line) for line in out.decode("utf-8", "replace").splitlines()})


def short_ref(ref: str) -> str:
    """A ref without the prefix for its kind."""
    return re.sub(r"^refs/(tags|heads|remotes/origin)/", "", ref)


def refs_for(name: str) -> list[str]:
    """The refs that a name may stand for; a local branch takes precedence over the remote's of that name."""
    if name == "HEAD" or name.startswith("refs/"):
        return [name]
    refs = [f"refs/{kind}/{name}" for kind in ("tags", "heads", "remotes/origin")]
    return [*refs, f"refs/remotes/{name}"] if name.startswith("origin/") else refs


def _refs_named(git_dir: Path, name: str) -> dict[str, str]:
    refs: dict[str, str] = {}
    for ref in refs_for(name):
        if ref.startswith("refs/remotes/origin/") and refs:
            continue
        if commit := git.read_object(git_dir, f"{ref}^{{commit}}"):
            refs[ref] = commit[0]
        elif git.read_object(git_dir, ref):
            raise fail("U002", f"{ref} does not point to a commit.", hint="name a tag or branch of commits")
    return refs


def _by_digits(git_dir: Path, wanted: Wanted, digits: str) -> CommitMatch | None:
    ids = git.run(git_dir, "rev-parse", f"--disambiguate={digits}").decode().split()
    kinds = {listed[0]: listed[1] for one in ids if (listed := git.read_object(git_dir, one))}
    commits = {
        commit[0]
        for one, kind in kinds.items()
        if kind in ("commit", "tag") and (commit := git.read_object(git_dir, f"{one}^{{commit}}"))
    }
    match = of_digits(wanted, sorted(commits))
    if match is None and kinds:
        kind = next(iter(kinds.values()))
        hint = "`git log --oneline` lists commits"
        raise fail("U002", f"{wanted.spec!r} is a {kind}, not a commit.", wanted.mark, hint=hint)
    return match


def read(git_dir: Path, commit: str, project: Project) -> Upstream:
    """A commit as an upstream. Raises GitError if any object but a blob is missing or damaged."""
    object_ = git.read_object(git_dir, commit)
    if object_ is None or object_[1] != "commit":
        raise git.GitError(f"commit {commit} is missing")
    head = object_[2].partition(b"\n\n")[0]
    tree_id = re.search(rb"^tree ([0-9a-f]{40})$", head, re.M)
    time = re.search(rb"^committer .*> (\d+) [-+]\d+$", head, re.M)
    if tree_id is None or time is None:
        raise git.GitError(f"commit {commit} is malformed")
    tree = git.list_tree(git_dir, tree_id.group(1).decode())
    version, place = _version(git_dir, tree, project)
    blobs = git.GitBlobs(git_dir)
    return Upstream(commit, commit, tree, f"commit {commit}", int(time.group(1)), version, blobs, place)


#: Where a pyproject.toml states the version.
_STATED = ("project.version", "tool.poetry.version")
#: The version in a module, or as the whole text of a file.
_VERSION = re.compile(
    r"""^(?:(?:__version__|VERSION|version)\b[^=\n]*=\s*["']|\A\s*)"""
    r"""v?(\d[\d.]*(?:(?:a|b|rc|[.](?:post|dev))\d+)*)(?:["']|\s*\Z)""",
    re.M,
)


def _version(git_dir: Path, tree: Tree, project: Project) -> tuple[str | None, str]:
    """The version stated in the commit itself, and where. Tags are not used: a clone may lack them."""

    def read(path: str) -> bytes:
        entry = tree.get(path)
        plain = entry is not None and entry.mode != GITLINK
        return git.read_blobs(git_dir, [entry.blob])[entry.blob] if entry is not None and plain else b""

    table = project_table(read(project.pyproject))
    for key in _STATED:
        if isinstance(version := value_at(table, *key.split(".")), str):
            return version, f"{project.pyproject}, {key}"
    for path in _version_files(table):
        if stated := _VERSION.search(read(f"{project.prefix}{path}").decode("utf-8", "replace")):
            return stated[1], f"{project.prefix}{path}, which {project.pyproject} names"
    none = f"{project.pyproject} states none; the `version` of a pin would count"
    fallback = value_at(table, "tool", "setuptools_scm", "fallback_version")
    return (fallback, f"the fallback_version, as {none}") if isinstance(fallback, str) else (None, none)


def _version_files(table: Mapping[str, Any]) -> Iterator[str]:
    """The files that a pyproject.toml names for the version, relative to the project."""
    for tool in ("hatch", "pdm"):
        if isinstance(path := value_at(table, "tool", tool, "version", "path"), str):
            yield path
    dynamic = value_at(table, "tool", "setuptools", "dynamic", "version")
    files = value_at(dynamic, "file")
    yield from [files] if isinstance(files, str) else files if isinstance(files, list) else []
    if isinstance(name := value_at(dynamic, "attr"), str):
        module = name.rpartition(".")[0].replace(".", "/")
        yield from (f"{top}{module}{end}" for top in ("", "src/") for end in (".py", "/__init__.py"))


def project_table(data: bytes) -> Mapping[str, Any]:
    """A pyproject.toml as plain values; empty if it is invalid, which the gates report."""
    try:
        text = data.decode("utf-8")
        if sys.version_info >= (3, 11):  # five times faster than tomlkit
            import tomllib

            return tomllib.loads(text)
        import tomlkit
        from tomlkit.exceptions import TOMLKitError
    except (ValueError, RecursionError):
        return {}
    try:
        return tomlkit.parse(text).unwrap()
    except (ValueError, RecursionError, TOMLKitError):
        return {}


def value_at(table: Any, *keys: str) -> Any:
    """A value of nested tables; None where a key or a table is missing."""
    for key in keys:
        if not isinstance(table, Mapping):
            return None
        table = table.get(key)
    return table
