"""Builds the wheel in memory from the output tree: no build backend, no staging folder, no clock."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from zlib import ZLIB_RUNTIME_VERSION

from builder.emit.archive import deflate, join
from builder.emit.members import read_pyproject, wheel_members
from builder.emit.metadata import (
    PURE,
    About,
    entry_points,
    licenses,
    metadata,
    version_file,
    version_module,
    wheel_file,
)
from builder.errors import Mark, fail
from builder.manifest.model import Project
from builder.memo import recall_each
from builder.tree import EXECUTABLE, Snapshot
from builder.upstream.wheel import TAGS, TOOL
from builder.upstream.wheel_archive import Packed

_COMPILED = re.compile(r"\.(?:so(?:\.\d+)*|pyd|dylib)$")


@dataclass(frozen=True, slots=True)
class Wheel:
    """A finished wheel. `content_sha256` is the same on any machine; `sha256` needs the same zlib too."""

    name: str
    data: bytes
    sha256: str
    content_sha256: str
    files: int


def build_wheel(
    snapshot: Snapshot,
    version: str,
    commit: str | None,
    *,
    project: Project,
    sboms: Mapping[str, bytes] | None = None,
    about: About | None = None,
) -> Wheel:
    """The wheel of the tree's Python project: its files by path, then dist-info with RECORD at the end.

    `version` is the distribution's (see `distribution_version`), `commit` upstream's; `sboms` are files
    for dist-info/sboms (PEP 770); `about` is what the wheel says of itself, by default what upstream says.
    Raises BuildError (G008) when pyproject.toml cannot be followed.
    """
    pyproject = read_pyproject(snapshot, project)
    files = {
        path: (snapshot[source], snapshot.tree[source].mode == EXECUTABLE)
        for path, source in wheel_members(snapshot, project).items()
    }
    if generated := version_file(pyproject):
        files[generated] = (version_module(version, commit), False)
    name = re.sub(r"[-_.]+", "_", str(pyproject.get("project", {}).get("name", "unknown"))).lower()
    stem = f"{name}-{version.replace('-', '_')}"
    info = f"{stem}.dist-info"
    tags = _tags(files, pyproject, project)
    texts = licenses(snapshot, pyproject, project)
    own = {
        f"{info}/METADATA": metadata(snapshot, pyproject, version, list(texts), project, about),
        f"{info}/WHEEL": wheel_file(tags),
        **{f"{info}/licenses/{path}": text for path, text in texts.items()},
        **{f"{info}/sboms/{path}": text for path, text in (sboms or {}).items()},
    }
    if points := entry_points(pyproject):
        own[f"{info}/entry_points.txt"] = points
    rows = [(path, *files[path]) for path in sorted(files)] + [
        (path, own[path], False) for path in sorted(own)
    ]
    members = with_record(_deflated(rows), info)
    data = b"".join(join(members))
    return Wheel(
        name=f"{stem}-{_compressed(tags)}.whl",
        data=data,
        sha256=hashlib.sha256(data).hexdigest(),
        content_sha256=content_digest(members),
        files=len(members),
    )


def _deflated(rows: Sequence[tuple[str, bytes, bool]]) -> list[Packed]:
    """The members with these paths, bytes and executable bits; most files are as in an earlier wheel."""

    def deflate_each(numbers: Sequence[int]) -> list[Packed]:
        # zlib releases the GIL, so threads are enough
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(lambda number: deflate(*rows[number]), numbers))

    return recall_each(f"member of a wheel (zlib {ZLIB_RUNTIME_VERSION})", rows, deflate_each)


def _tags(files: Iterable[str], pyproject: Mapping[str, Any], project: Project) -> list[str]:
    """The tags of a wheel with these files: with compiled ones, those of the wheel that they come from."""
    compiled = sorted(path for path in files if _COMPILED.search(path))
    if not compiled:
        return [PURE]
    tags = pyproject.get("tool", {}).get(TOOL, {}).get(TAGS, [])
    if not tags or tags == [PURE]:
        where = project.pyproject
        raise fail(
            "G008",
            f"The output has {compiled[0]}, and {where} does not say for which platform it is compiled.",
            upstream=Mark(where),
            hint=f"remove it by a rule, or state `{TAGS}` in the table tool.{TOOL}",
        )
    return sorted(str(tag) for tag in tags)


def _compressed(tags: Iterable[str]) -> str:
    """The tags as a file name states them: each part with all of its values."""
    return "-".join(".".join(sorted(set(part))) for part in zip(*(t.split("-") for t in tags), strict=True))


def with_record(members: Sequence[Packed], info: str) -> list[Packed]:
    """The members, and behind them RECORD of the dist-info folder `info`: path, sha256 and size of each in
    this order, and of itself only the path."""
    own = f"{info}/RECORD"
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    for member in members:
        digest = base64.urlsafe_b64encode(member.sha256).rstrip(b"=")
        table.writerow((member.path, f"sha256={digest.decode()}", member.size))
    table.writerow((own, "", ""))
    return [*members, deflate(own, out.getvalue().encode())]


def content_digest(members: Iterable[Packed]) -> str:
    """sha256 over a sorted line per member: path, mode (octal), sha256. Independent of compression."""
    lines = sorted(f"{one.path}\t{one.mode:o}\t{one.sha256.hex()}\n" for one in members)
    return hashlib.sha256("".join(lines).encode()).hexdigest()
