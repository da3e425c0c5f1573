"""Small real git repositories and package indexes for the tests of builder.upstream."""

from __future__ import annotations

import hashlib
import os
import subprocess
import zlib
from collections.abc import Mapping
from pathlib import Path

import pytest

from builder.errors import BuildError, Problem
from builder.manifest.model import Project
from builder.upstream.archive import SDIST_TIME, ReleaseTree
from builder.upstream.model import Sources
from builder.upstream.resolve import resolve

#: what the repositories and archives of the tests hold
PROJECT = Project("sglang", "python")
PYPROJECT = """\
[project]
name = "thing"
dynamic = ["version"]

[tool.setuptools_scm]
version_file = "thing/_version.py"
fallback_version = "0.0.0.dev0"
"""
#: path -> the bytes of a regular file, or its mode with its bytes or the id of an object
Files = Mapping[str | bytes, bytes | tuple[str, bytes | str]]


class Repo:
    """A bare repository that is written with plumbing, so that nothing is refused or normalised."""

    def __init__(self, path: Path) -> None:
        self.path = path
        git("init", "-q", "--bare", "-b", "main", str(path))

    def git(self, *args: str, stdin: bytes = b"") -> str:
        return git(f"--git-dir={self.path}", *args, stdin=stdin)

    def blob(self, data: bytes) -> str:
        return self._store(b"blob", data)

    def tree(self, files: Files) -> str:
        """A tree with these files."""
        here: list[tuple[bytes, bytes]] = []
        below: dict[bytes, dict[str | bytes, bytes | tuple[str, bytes | str]]] = {}
        for path, value in files.items():
            raw = path if isinstance(path, bytes) else path.encode()
            folder, slash, rest = raw.partition(b"/")
            if slash:
                below.setdefault(folder, {})[rest] = value
            else:
                mode, data = ("100644", value) if isinstance(value, bytes) else value
                oid = data if isinstance(data, str) else self.blob(data)
                here.append((raw, b"%s %s\0" % (mode.encode(), raw) + bytes.fromhex(oid)))
        for folder, inside in below.items():
            entry = b"40000 %s\0" % folder + bytes.fromhex(self.tree(inside))
            here.append((folder + b"/", entry))  # git sorts a folder as if its name ended so
        return self._store(b"tree", b"".join(entry for _, entry in sorted(here)))

    def _store(self, kind: bytes, data: bytes) -> str:
        """Write a loose object, as `git hash-object -w --literally` does, without a process for each."""
        whole = b"%s %d\0" % (kind, len(data)) + data
        oid = hashlib.sha1(whole).hexdigest()
        path = self.path / "objects" / oid[:2] / oid[2:]
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(zlib.compress(whole, 1))
            path.chmod(0o444)
        return oid

    def commit(
        self,
        files: Files,
        *refs: str,
        time: int = 1_700_000_000,
        parent: str | None = None,
        subject: str = "a commit",
    ) -> str:
        more = ["-p", parent] if parent else []
        oid = git(f"--git-dir={self.path}", "commit-tree", self.tree(files), *more, "-m", subject, time=time)
        for ref in refs:
            self.git("update-ref", ref, oid)
        return oid


def git(*args: str, stdin: bytes = b"", time: int = 1_700_000_000) -> str:
    env = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    who = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "A"), ("EMAIL", "a@example.org"), ("DATE", f"{time} +0000"))
    }
    env |= {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"} | who
    done = subprocess.run(["git", *args], input=stdin, env=env, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def snapshot_of(root: Path) -> dict[str, bytes]:
    """Everything below a folder, to see that nothing was written."""
    return {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def ids_of_git(imported: ReleaseTree, form: str, data: bytes, folder: Path) -> tuple[str, str]:
    """The ids that git gives the tree and the commit of a release that was read from an archive."""
    repo = Repo(folder / "ids.git")
    tree = repo.tree({p: (e.mode, repo.blob(imported.contents[e.blob])) for p, e in imported.tree.items()})
    stamp = f"sglang-deepseek-builder <builder@localhost> {SDIST_TIME} +0000"
    message = f"sglang 1.0\n\nThe {form} with sha256 {digest(data)}.\n"
    body = f"tree {tree}\nauthor {stamp}\ncommitter {stamp}\n\n{message}"
    return tree, repo.git("hash-object", "-t", "commit", "--stdin", stdin=body.encode())


def problem(wanted: str, where: Sources) -> Problem:
    """The only problem of an upstream that cannot be had."""
    with pytest.raises(BuildError) as error:
        resolve(wanted, where)
    (found,) = error.value.problems
    return found


def only_index(folder: Path, monkeypatch: pytest.MonkeyPatch, *pythons: str) -> Path:
    """A new folder that pip takes for the whole world, asked for wheels of these versions of Python."""
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setattr("builder.upstream.download.PYTHONS", pythons)
    return folder
