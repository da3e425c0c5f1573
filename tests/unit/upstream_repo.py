"""Small real git repositories for the tests of builder.upstream."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from builder.manifest.model import Project

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


class Repo:
    """A bare repository that is written with plumbing, so that nothing is refused or normalised."""

    def __init__(self, path: Path) -> None:
        self.path = path
        git("init", "-q", "--bare", "-b", "main", str(path))

    def git(self, *args: str, stdin: bytes = b"") -> str:
        return git(f"--git-dir={self.path}", *args, stdin=stdin)

    def blob(self, data: bytes) -> str:
        return self.git("hash-object", "-w", "--stdin", "--no-filters", stdin=data)

    def tree(self, files: Mapping[str | bytes, bytes | tuple[str, str]]) -> str:
        """A tree with these files: bytes, or (mode, object id)."""
        here: list[bytes] = []
        below: dict[bytes, dict[str | bytes, bytes | tuple[str, str]]] = {}
        for path, value in files.items():
            raw = path if isinstance(path, bytes) else path.encode()
            folder, slash, rest = raw.partition(b"/")
            if slash:
                below.setdefault(folder, {})[rest] = value
            else:
                mode, oid = ("100644", self.blob(value)) if isinstance(value, bytes) else value
                kind = b"commit" if mode == "160000" else b"blob"
                here.append(b"%s %s %s\t%s\0" % (mode.encode(), kind, oid.encode(), raw))
        for folder, inside in below.items():
            here.append(b"040000 tree %s\t%s\0" % (self.tree(inside).encode(), folder))
        return self.git("mktree", "-z", "--missing", stdin=b"".join(here))

    def commit(
        self,
        files: Mapping[str | bytes, bytes | tuple[str, str]],
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
