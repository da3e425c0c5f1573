"""Checks a distribution without the builder: with git and the standard library alone.

    python3 verification/dist.py DIST UPSTREAM_GIT [ARCHIVE]

DIST is an output folder, UPSTREAM_GIT any git repository that has the upstream commit. No repository has that
of a release: release.py beside this program makes it from the archive whose digest the provenance states.
ARCHIVE is the wheel or sdist, or a folder that has it somewhere. Prints a line for each check, with the
differences; the exit status is 0 if all hold, 1 if one does not, 2 for the wrong arguments.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import os
import runpy
import stat
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SUMS, BUILD, LEDGER, PATCH = "SHA256SUMS", "build.json", "ledger.jsonl", "upstream.diff"
PROVENANCE, SBOM = "provenance.intoto.json", "sbom.cdx.json"
#: what a run of the builder keeps for itself: it states nothing about the distribution
OWN = {SUMS, "tree", ".sglang-deepseek", ".sglang-deepseek.index"}
GITLINK = b"160000"
MAX_LISTED = 20


class Missing(Exception):
    """What a check needs is not there or cannot be read."""


@dataclass(frozen=True)
class Dist:
    """An output folder, what its build.json states, and a repository that has the upstream commit; for a
    release, its archive instead, or a folder with it."""

    folder: Path
    build: Mapping[str, Any]
    upstream: str

    @property
    def release(self) -> bool:
        return bool(self.build["upstream"]["origin"] != "git")

    @property
    def tree_id(self) -> str:
        return str(self.build["output"]["tree"])

    @property
    def project(self) -> str:
        """The folder of the project: that of the uppermost pyproject.toml."""
        paths = (str(json.loads(line)["path"]) for line in self.read(LEDGER).splitlines())
        ours = (path.rpartition("/")[0] for path in paths if f"/{path}".endswith("/pyproject.toml"))
        return min(ours, key=len, default="")

    def read(self, name: str) -> bytes:
        return (self.folder / name).read_bytes()


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def sums(dist: Dist) -> Iterator[str]:
    """SHA256SUMS lists every file beside the tree, with its digest."""
    stated = dict(line.split("  ", 1)[::-1] for line in dist.read(SUMS).decode().splitlines())
    there = {name for name in os.listdir(dist.folder) if name not in OWN}
    yield from (f"{name} is not in {SUMS}" for name in sorted(there - stated.keys()))
    for name, digest in sorted(stated.items()):
        if name not in there:
            yield f"{name} is missing"
        elif sha256(dist.read(name)) != digest:
            yield f"{name} has another digest"


def tree(dist: Dist) -> Iterator[str]:
    """tree/ hashes to the id that build.json states."""
    found = _tree(os.fsencode(dist.folder / "tree"), b"", _modules(dist))
    actual = (found or _object(b"tree", b"")).hexdigest()
    if actual != dist.tree_id:
        yield f"tree/ is {actual}, and {BUILD} states {dist.tree_id}"


def _modules(dist: Dist) -> dict[bytes, bytes]:
    """Upstream's submodules, path -> commit: those that are kept are empty folders in tree/."""
    if dist.release:
        return {}
    rows = _git(dist.upstream, {}, "ls-tree", "-r", "-z", str(dist.build["upstream"]["commit"])).split(b"\0")
    parts = [row.partition(b"\t") for row in rows if row.startswith(GITLINK)]
    return {path: bytes.fromhex(head.split()[2].decode()) for head, _, path in parts}


def _tree(folder: bytes, prefix: bytes, modules: Mapping[bytes, bytes]) -> Any:
    """The id that git gives a folder, whatever attributes and filters say; None for an empty one."""
    rows = []
    with os.scandir(folder) as entries:
        for entry in entries:
            path = prefix + entry.name
            mode, found = _entry(entry, path, modules)
            digest = found.digest() if found is not None else modules.get(path)
            if digest is None:
                continue
            if found is None:
                mode = GITLINK
            # git sorts a folder as if its name ended with a slash
            order = entry.name + b"/" * (mode == b"40000")
            rows.append((order, b"%s %s\0%s" % (mode, entry.name, digest)))
    return _object(b"tree", b"".join(row for _, row in sorted(rows))) if rows else None


def _entry(entry: os.DirEntry[bytes], path: bytes, modules: Mapping[bytes, bytes]) -> tuple[bytes, Any]:
    if entry.is_symlink():
        return b"120000", _object(b"blob", os.readlink(entry.path))
    if entry.is_dir():
        cache = entry.name == b"__pycache__"
        return b"40000", None if cache else _tree(entry.path, path + b"/", modules)
    mode = entry.stat().st_mode
    if not stat.S_ISREG(mode):
        raise Missing(f"{os.fsdecode(entry.path)} is neither a file nor a link")
    with open(entry.path, "rb") as file:
        return b"100755" if mode & 0o100 else b"100644", _object(b"blob", file.read())


def _object(kind: bytes, data: bytes) -> Any:
    return hashlib.sha1(b"%s %d\0" % (kind, len(data)) + data)


def patch(dist: Dist) -> Iterator[str]:
    """upstream.diff turns the upstream commit into the tree that build.json states."""
    commit = str(dist.build["upstream"]["commit"])
    with tempfile.TemporaryDirectory() as name:
        index, objects = Path(name, "index"), Path(name, "objects")
        objects.mkdir()
        upstream = _made(dist, Path(name, "release")) if dist.release else dist.upstream
        where = _git(upstream, {}, "rev-parse", "--absolute-git-dir").decode().strip()
        if dist.release and (made := _git(upstream, {}, "rev-parse", "main").decode().strip()) != commit:
            yield f"the archive gives the commit {made}, and {BUILD} states {commit}"
            commit = made
        # new objects go to a folder of their own, so that the repository is only read
        own = {
            "GIT_INDEX_FILE": str(index),
            "GIT_OBJECT_DIRECTORY": str(objects),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(Path(_common(where), "objects")),
        }
        _git(where, own, "read-tree", commit)
        before = _git(where, own, "write-tree").decode().strip()
        if before != dist.build["upstream"]["tree"]:
            yield f"the commit {commit} has the tree {before}, and {BUILD} states another"
        _git(where, own, "apply", "--cached", str((dist.folder / PATCH).resolve()))
        after = _git(where, own, "write-tree").decode().strip()
        if after != dist.tree_id:
            yield f"{PATCH} gives the tree {after}, and {BUILD} states {dist.tree_id}"


def _made(dist: Dist, repository: Path) -> str:
    """The repository, made from the archive of the release."""
    inputs = json.loads(dist.read(PROVENANCE))["predicate"]["buildDefinition"]["resolvedDependencies"]
    name, digest = inputs[1]["name"], inputs[1]["digest"]["sha256"]
    place = Path(dist.upstream)
    stem = name.removesuffix(".whl").removesuffix(".tar.gz")
    files = [place] if place.is_file() else place.rglob(f"{stem}*")
    archive = next((file for file in files if file.is_file() and sha256(file.read_bytes()) == digest), None)
    if archive is None:
        said = f"{name} with sha256 {digest}, which the package index has, is not in {place}"
        raise Missing(f"{said}: name the file as ARCHIVE")
    make = runpy.run_path(str(Path(__file__).with_name("release.py")))["make"]
    try:
        make(archive, repository, dist.project)
    except Exception as error:  # an archive may be anything
        raise Missing(f"no commit can be made from {archive}: {error}") from None
    print(f"--  the upstream commit is made from {name}, sha256 {digest}")
    return str(repository)


def _common(git_dir: str) -> str:
    file = Path(git_dir, "commondir")
    return str(Path(git_dir, file.read_text().strip())) if file.is_file() else git_dir


def _git(git_dir: str, own: Mapping[str, str], *args: str) -> bytes:
    env = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    env |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_NO_REPLACE_OBJECTS": "1", **own}
    config = ("-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")
    where = ("--git-dir", git_dir) if own else ("-C", git_dir)
    done = subprocess.run(["git", *config, *where, *args], env=env, capture_output=True)
    if done.returncode:
        raise Missing(f"git {args[0]}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def wheel(dist: Dist) -> Iterator[str]:
    """The wheel is the one of build.json; its RECORD is true; its files are those of the tree."""
    if dist.build["wheel"] is None:
        return  # a build without one has nothing to compare
    name = dist.build["wheel"]["name"]
    data = dist.read(name)
    if sha256(data) != dist.build["wheel"]["sha256"]:
        yield f"{name} has another digest than {BUILD} states"
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {path: archive.read(path) for path in archive.namelist()}
        lines = sorted(
            f"{info.filename}\t{info.external_attr >> 16:o}\t{sha256(members[info.filename])}\n"
            for info in archive.infolist()
        )
    if sha256("".join(lines).encode()) != dist.build["wheel"]["content_sha256"]:
        yield f"{name} has another content digest than {BUILD} states"
    yield from _record(members)
    project = dist.project
    for path, content in sorted(members.items()):
        source = Path("tree", project, path)
        if (dist.folder / source).is_file() and dist.read(str(source)) != content:
            yield f"{path} of the wheel differs from {source}"
    bills = [content for path, content in members.items() if path.endswith(f".dist-info/sboms/{SBOM}")]
    if bills != [dist.read(SBOM)]:
        yield f"{SBOM} is not the one in the wheel"


def _record(members: Mapping[str, bytes]) -> Iterator[str]:
    (own,) = (path for path in members if path.endswith(".dist-info/RECORD"))
    rows = {row[0]: row[1:] for row in csv.reader(io.StringIO(members[own].decode()))}
    yield from (f"RECORD does not list {path}" for path in sorted(members.keys() - rows.keys()))
    for path, (digest, size) in sorted(rows.items()):
        content = members.get(path)
        if content is None:
            yield f"RECORD lists {path}, which is not in the wheel"
        elif path != own:
            true = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            if (digest, size) != (f"sha256={true}", str(len(content))):
                yield f"{path} of the wheel is not what RECORD says"


def provenance(dist: Dist) -> Iterator[str]:
    """The subjects of the provenance are the tree and the files that are here, and upstream is the same."""
    statement = json.loads(dist.read(PROVENANCE))
    for subject in statement["subject"]:
        name, digest = subject["name"], subject["digest"]
        if "gitTree" in digest:
            if digest["gitTree"] != dist.tree_id:
                yield f"{PROVENANCE} states another tree"
        elif sha256(dist.read(name)) != digest["sha256"]:
            yield f"{PROVENANCE} states another digest of {name}"
    source = statement["predicate"]["buildDefinition"]["resolvedDependencies"][0]["digest"]
    if source["gitTree"] != dist.build["upstream"]["tree"]:
        yield f"{PROVENANCE} states another upstream than {BUILD}"


def main(words: list[str]) -> int:
    if len(words) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(words[0])
    try:
        build = json.loads((folder / BUILD).read_bytes())
        dist = Dist(folder, build, words[1])
        if dist.release:
            dist = Dist(folder, build, words[-1])
    except (OSError, ValueError, LookupError, TypeError) as error:
        print(f"NO  {folder} is no distribution: {error}")
        return 1
    checks = sums, tree, wheel, provenance, patch
    held = [_told(check, dist) for check in checks]  # all of them, also after one that does not hold
    return int(not all(held))


def _told(check: Callable[[Dist], Iterator[str]], dist: Dist) -> bool:
    try:
        differences = list(check(dist))
    except (Missing, OSError, ValueError, LookupError, TypeError, zipfile.BadZipFile) as error:
        differences = [f"{type(error).__name__}: {error}"]
    print(f"{'NO ' if differences else 'ok '} {check.__doc__}")
    for line in differences[:MAX_LISTED]:
        print(f"      {line}")
    if len(differences) > MAX_LISTED:
        print(f"      and {len(differences) - MAX_LISTED} more")
    return not differences


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
