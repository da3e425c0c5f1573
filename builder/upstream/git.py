"""Runs git, and reads trees and blobs in bulk.

GitPython is not used here: it passes git the caller's whole environment (a GIT_DIR or GIT_CONFIG_COUNT
in it would redirect git), it does not open a bare folder without a config file, it takes 60 ms to import,
and its object reading is three times slower than two `cat-file` processes.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from builder.errors import fail
from builder.manifest.paths import reserved_by_git
from builder.tree import Entry, Tree

#: The first version that obeys GIT_CONFIG_GLOBAL; older ones would read the user's configuration.
MINIMUM_GIT = (2, 32)

#: Protocols that a remote may use; `ext::` would run a command.
REMOTE_PROTOCOLS = "file:git:http:https:ssh"

#: what a path has that may not be plain; looked for first, since few paths have it
_SUSPECT = re.compile(r"(?:^|/)\.|git", re.IGNORECASE)

_CONFIG = (
    "safe.directory=*",  # the mirror may belong to another user; git only reads objects from it
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.useReplaceRefs=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.ext.allow=never",
    "http.lowSpeedLimit=1000",  # bytes a second, for
    "http.lowSpeedTime=30",  # seconds: then a transfer counts as stuck
)


class GitError(Exception):
    """git failed; `reason` is its last line."""

    def __init__(self, stderr: str, status: int = 1) -> None:
        lines = [line.strip() for line in stderr.splitlines() if line.strip()]
        fatal = [line for line in lines if line.startswith(("fatal:", "error:"))]
        # the first error line says what happened; the lines after it are advice
        first = (fatal or lines or [f"git exited with status {status}"])[0]
        self.reason = re.sub(r"^(fatal|error): ", "", first)
        self.stderr = stderr
        super().__init__(self.reason)


def environment(protocols: str = "none") -> dict[str, str]:
    """The environment for git: the caller's without any GIT_*, and without any configuration file.

    `protocols` is the value of GIT_ALLOW_PROTOCOL: with "none" not even the lazy fetch of a
    partial clone reaches the network.
    """
    env = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    for key in ("LANGUAGE", "LC_MESSAGES"):
        env.pop(key, None)
    return env | {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "",
        "SSH_ASKPASS": "",
        "GIT_SSH_COMMAND": "ssh -o BatchMode=yes -o ConnectTimeout=15",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_ALLOW_PROTOCOL": protocols,
        "LC_ALL": "C",
    }


def command(git_dir: Path | None, args: Sequence[str]) -> list[str]:
    """The command line of git for this repository, independent of the current folder."""
    where = [] if git_dir is None else [f"--git-dir={git_dir}"]
    return ["git", "--no-replace-objects", *(w for c in _CONFIG for w in ("-c", c)), *where, *args]


def run(
    git_dir: Path | None,
    *args: str,
    stdin: bytes = b"",
    protocols: str = "none",
    timeout: float | None = None,
) -> bytes:
    """The stdout of `git ARGS`; `timeout` is in seconds. Raises GitError, and BuildError E003 without git."""
    try:
        done = _process(command(git_dir, args), input=stdin, env=environment(protocols), timeout=timeout)
    except subprocess.TimeoutExpired:
        raise GitError(f"git did not finish within {timeout:.0f} seconds") from None
    if done.returncode:
        raise GitError(done.stderr.decode("utf-8", "replace"), done.returncode)
    return done.stdout


def in_folder(folder: str, *args: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """What `git ARGS` gives in a folder that is no repository. Raises BuildError E003 without git."""
    env = environment() | {"GIT_CEILING_DIRECTORIES": os.path.dirname(folder)}
    return _process(command(None, args), input=stdin, env=env, cwd=folder)


def _process(words: list[str], **more: Any) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(words, capture_output=True, check=False, **more)
    except FileNotFoundError:
        raise fail("E003", "git is not installed.", hint="install git 2.32 or newer") from None


def git_version() -> tuple[int, ...]:
    """The version of the installed git. Raises BuildError E003 without git."""
    match = re.search(rb"(\d+)\.(\d+)(?:\.(\d+))?", run(None, "--version"))
    return tuple(int(part) for part in match.groups() if part) if match else ()


def git_dir_of(path: Path) -> Path | None:
    """The git directory of a repository, given its work tree or itself; None if it is not a repository."""
    try:
        path = path.expanduser().resolve()
        for place in (path / ".git", path):
            with suppress(GitError):
                return Path(os.fsdecode(run(place, "rev-parse", "--absolute-git-dir").removesuffix(b"\n")))
    except (OSError, RuntimeError, ValueError):  # no home folder, symlink loop, NUL in the path
        pass
    return None


def read_object(git_dir: Path, name: str) -> tuple[str, str, bytes] | None:
    """(id, type, bytes) of one object, or None if there is no such object. `name`: hex digits or a ref
    (and perhaps a peel like `^{commit}`). Raises GitError for a damaged object."""
    out = run(git_dir, "cat-file", "--batch", stdin=name.encode("utf-8", "surrogateescape") + b"\n")
    listed = _object(out, 0)
    return listed[:3] if listed else None


def _object(out: bytes, at: int) -> tuple[str, str, bytes, int] | None:
    """(id, type, bytes, end) of the object at an offset of what `cat-file --batch` prints, or None if it is
    missing. Raises GitError for a damaged object."""
    head = out.find(b"\n", at)
    words = out[at:head].decode("utf-8", "replace").split()
    if len(words) != 3:
        return None
    oid, kind, end = words[0], words[1], head + 1 + int(words[2])
    data = out[head + 1 : end]
    digest = hashlib.sha1(f"{kind} {len(data)}\0".encode(), usedforsecurity=False)
    digest.update(data)
    if digest.hexdigest() != oid:
        raise GitError(f"{kind} {oid} is damaged: its bytes hash to another id")
    return oid, kind, data, end + 1  # a newline follows the bytes


def list_tree(git_dir: Path, tree_id: str) -> Tree:
    """All files below a tree object; names that are not UTF-8 have surrogates. Raises GitError."""
    out = run(git_dir, "ls-tree", "-r", "-z", "--full-tree", tree_id)
    entries: dict[str, Entry] = {}
    for row in out.split(b"\0"):
        if row:
            head, _, name = row.partition(b"\t")
            mode, _, oid = head.decode("ascii").split(" ")
            entries[name.decode("utf-8", "surrogateescape")] = Entry(mode, oid)
    bad = sorted(p for p in entries if _SUSPECT.search(p) and not _plain(p))
    if bad:
        raise GitError(f"the tree {tree_id} holds {bad[0]!r}, which is not a plain path")
    tree = Tree(entries)
    if tree.id != tree_id:
        raise GitError(f"the tree {tree_id} is damaged: its entries hash to {tree.id}")
    return tree


def _plain(path: str) -> bool:
    return not any(part in (".", "..") or reserved_by_git(part) for part in path.split("/"))


@dataclass(frozen=True)
class GitBlobs:
    """The blobs of a repository, read by two `cat-file` processes at once.

    Every blob is checked against its id: that costs a tenth of the reading, and git itself does not
    check what it reads from a pack. When reading fails, `repair` is called once and reading is retried.
    """

    git_dir: Path
    repair: Callable[[], None] | None = None

    def read(self, ids: Iterable[str]) -> dict[str, bytes]:
        wanted = list(dict.fromkeys(ids))
        try:
            return read_blobs(self.git_dir, wanted)
        except GitError as error:
            if self.repair is None:
                message = f"The repository {self.git_dir} is damaged or incomplete: {error.reason}."
                raise fail("U001", message, hint="run `git fsck` on it, or fetch it again") from None
        self.repair()
        return GitBlobs(self.git_dir).read(wanted)


def read_blobs(git_dir: Path, ids: Sequence[str]) -> dict[str, bytes]:
    """The bytes of these blobs, checked; fastest in path order, as deltas lie. Raises GitError."""
    if not ids:
        return {}
    # a second process does not pay off for small reads
    middle = len(ids) // 2 if len(ids) > 64 else len(ids)
    with ThreadPoolExecutor(2) as pool:
        parts = pool.map(lambda part: _read_part(git_dir, part), filter(None, (ids[:middle], ids[middle:])))
        return {oid: data for part in parts for oid, data in part.items()}


def _read_part(git_dir: Path, ids: Sequence[str]) -> dict[str, bytes]:
    out = run(git_dir, "cat-file", "--batch", "--buffer", stdin="".join(f"{i}\n" for i in ids).encode())
    blobs: dict[str, bytes] = {}
    at = 0
    for oid in ids:
        listed = _object(out, at)
        if listed is None or listed[0] != oid:
            raise GitError(f"blob {oid} is missing")
        _, kind, blobs[oid], at = listed
        if kind != "blob":
            raise GitError(f"object {oid} is a {kind}, not a blob")
    return blobs
