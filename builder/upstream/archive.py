"""A release's sdist as a tree: read in memory, member by member, with git's own view of it restored.

    ROOT/README.md, LICENSE   -> README.md, LICENSE    (upstream copies them from there)
    ROOT/*                    -> the same in the folder of the project
    what the build made       -> removed: PKG-INFO, egg-info, setuptools' setup.cfg, the version
                                 file of setuptools-scm, *_pb2* next to its .proto

ROOT is NAME-VERSION in any spelling of the name, or the one folder that the archive has.

So the blobs equal those of git, but for what the release process itself changes in files.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
import tarfile
import zlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from io import BytesIO

from builder.adapter import GENERATOR
from builder.manifest.model import Project
from builder.manifest.paths import path_fault
from builder.tree import EXECUTABLE, FILE, SYMLINK, Entry, Tree, blob_id
from builder.upstream.commits import project_table, value_at

#: Committer time of every release: 1980-01-01 00:00 UTC, the first that a zip file can hold. The archive
#: has times of its own, but they are those of the machine that packed it.
SDIST_TIME = 315532800

MAX_BYTES = 512 * 1024 * 1024  # unpacked
MAX_MEMBERS = 100_000

_AUTHOR = f"{GENERATOR} <builder@localhost>"
_SETUPTOOLS_CFG = b"[egg_info]\ntag_build = \ntag_date = 0\n\n"
_FROM_ROOT = ("README.md", "LICENSE")


class ArchiveError(Exception):
    """The archive is not what an sdist may be; `reasons` lists everything that is wrong with it."""

    def __init__(self, reasons: Iterable[str]) -> None:
        self.reasons = tuple(reasons)
        super().__init__("; ".join(self.reasons[:3]))


@dataclass(frozen=True, slots=True)
class ReleaseTree:
    tree: Tree
    contents: Mapping[str, bytes]  # blob id -> bytes
    commit: str


#: path -> mode and content
Files = Mapping[str, tuple[str, bytes]]


def read(data: bytes, project: Project, version: str, sha256: str) -> ReleaseTree:
    """An sdist as a tree with blobs, and the commit id computed for it. Raises ArchiveError."""
    members = _members(_unpack(data), project.name, version)
    generated = _generated(members)
    files = {
        path if path in _FROM_ROOT else f"{project.prefix}{path}": member
        for path, member in members.items()
        if path not in generated
    }
    return release_tree(files, project.name, version, sha256, "source distribution")


def release_tree(files: Files, project: str, version: str, sha256: str, form: str) -> ReleaseTree:
    """The files of a release as a tree. `form`: what the archive with this digest is."""
    blobs = {path: blob_id(data) for path, (_, data) in files.items()}
    tree = Tree({path: Entry(mode, blobs[path]) for path, (mode, _) in files.items()})
    contents = {blobs[path]: data for path, (_, data) in files.items()}
    # the commit has no parents; its id is the same on every machine
    stamp = f"{_AUTHOR} {SDIST_TIME} +0000"
    message = f"{project} {version}\n\nThe {form} with sha256 {sha256}.\n"
    body = f"tree {tree.id}\nauthor {stamp}\ncommitter {stamp}\n\n{message}".encode()
    commit = hashlib.sha1(b"commit %d\0" % len(body) + body, usedforsecurity=False).hexdigest()
    return ReleaseTree(tree, contents, commit)


def clashes(paths: Collection[str]) -> list[str]:
    """The reasons why these files cannot be in one tree."""
    folders = {path[:at] for path in paths for at, char in enumerate(path) if char == "/"}
    return [f"member {path!r} is a file and a folder" for path in sorted(folders & set(paths))]


def _unpack(data: bytes) -> bytes:
    try:
        unpack = zlib.decompressobj(wbits=31)
        raw = unpack.decompress(data, MAX_BYTES)
    except zlib.error as error:
        raise ArchiveError([f"it is not a gzip file ({error})"]) from None
    if unpack.unconsumed_tail:
        raise ArchiveError([f"it unpacks to more than {MAX_BYTES} bytes"])
    if not unpack.eof:
        raise ArchiveError(["it is cut off"])
    if unpack.unused_data.strip(b"\0"):
        raise ArchiveError(["something follows its end, which other programs would read"])
    return raw


def _members(raw: bytes, name: str, version: str) -> dict[str, tuple[str, bytes]]:
    """Path below the root -> mode and content; only plain files and links that stay inside."""
    members: dict[str, tuple[str, bytes]] = {}
    hard: dict[str, str] = {}
    reasons: list[str] = []
    infos: list[tarfile.TarInfo] = []
    try:
        with tarfile.open(fileobj=BytesIO(raw), mode="r:") as archive:
            for info in archive:
                infos.append(info)
                if len(infos) > MAX_MEMBERS:
                    raise ArchiveError([f"it has more than {MAX_MEMBERS} members"])
            root = _root((info.name for info in infos), name, version)
            for info in infos:
                path, why = _inside(info.name, root)
                if why is None and not info.isdir():
                    why = "occurs twice" if path in members or path in hard else _fault(info, path, root, raw)
                    if why is None and info.islnk():
                        hard[path] = _inside(info.linkname, root)[0]
                    elif why is None:
                        members[path] = _content(info, raw)
                if why is not None:
                    reasons.append(f"member {info.name[:200]!r} {why}")
            # tarfile takes a header that it cannot read for the end
            if raw[archive.offset :].strip(b"\0"):
                reasons.append(f"what follows byte {archive.offset} of the tar file is no member")
    except (tarfile.TarError, EOFError, ValueError, OverflowError) as error:
        raise ArchiveError([*reasons, f"it is not a tar file ({error})"]) from None
    for path, target in hard.items():
        if target in members:
            members[path] = members[target]
        else:
            reasons.append(f"member {path!r} is a hard link to {target!r}, which is no file of the archive")
    reasons += clashes(members)
    if not members and not reasons:
        reasons.append(f"it has no files below {root}/")
    if reasons:
        raise ArchiveError(reasons)
    return members


def _root(names: Iterable[str], project: str, version: str) -> str:
    """The folder in which everything should be: the one named like the release, else the only one; the usual
    name where there is none."""
    from packaging.utils import canonicalize_name

    tops = dict.fromkeys(name.split("/")[0] for name in names)
    usual = f"{project}-{version}"
    alike = [top for top in tops if canonicalize_name(top) == canonicalize_name(usual)]
    only = [top for top in tops if top.strip(".")]
    if usual in tops or not (alike or len(only) == len(tops) == 1):
        return usual
    return (alike or only)[0]


def _inside(name: str, root: str) -> tuple[str, str | None]:
    """(path below the root, what is wrong with it)."""
    first, _, rest = name.rstrip("/").partition("/")
    if first != root:
        return "", f"is outside {root}/"
    return rest, path_fault(rest) if rest else None


def _fault(info: tarfile.TarInfo, path: str, root: str, raw: bytes) -> str | None:
    """What is wrong with a member that is no folder."""
    if not path:
        return "is no folder"
    if info.sparse is not None:
        return "has holes"
    if info.type in (tarfile.REGTYPE, tarfile.AREGTYPE):
        return None if 0 <= info.size <= len(raw) - info.offset_data else "is cut off"
    target = info.linkname
    if info.issym():
        place = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        stays = target and "\0" not in target and place.split("/")[0] not in ("", "..")
        return None if stays else f"is a link out of the tree, to {target[:200]!r}"
    if info.islnk():
        below, why = _inside(target, root)
        return None if below and why is None else f"is a hard link out of the tree, to {target[:200]!r}"
    return "is neither a file, nor a folder, nor a link"


def _content(info: tarfile.TarInfo, raw: bytes) -> tuple[str, bytes]:
    if info.issym():
        return SYMLINK, info.linkname.encode("utf-8", "surrogateescape")
    data = raw[info.offset_data : info.offset_data + info.size]
    return EXECUTABLE if info.mode & 0o100 else FILE, data


def _generated(members: Files) -> set[str]:
    """The files that the build made: they are in the archive and not in git."""
    eggs = tuple(path.removesuffix("PKG-INFO") for path in members if path.endswith(".egg-info/PKG-INFO"))
    generated = {"PKG-INFO"} | {
        p for p in members if p.split("/")[0].endswith(".egg-info") or p.startswith(eggs)
    }
    if "setup.cfg" in members and members["setup.cfg"][1] == _SETUPTOOLS_CFG:
        generated.add("setup.cfg")
    if "pyproject.toml" in members:
        table = project_table(members["pyproject.toml"][1])
        generated.add(str(value_at(table, "tool", "setuptools_scm", "version_file") or ""))
    for path in members:
        stem = re.fullmatch(r"(.*)_pb2(?:_grpc)?\.pyi?", path)
        if stem and f"{stem.group(1)}.proto" in members:
            generated.add(path)
    return generated
