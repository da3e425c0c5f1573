"""An upstream as a value: its commit, its tree, and where its bytes are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from builder.manifest.model import NO_PROJECT, Manifest, Pin, Project
from builder.tree import GITLINK, Snapshot, Tree
from builder.upstream.git import GitBlobs


@dataclass(frozen=True, slots=True)
class Sources:
    """Where to get upstreams from, in the order in which they are tried."""

    mirror: Path | None  # a local git repository, bare or not
    cache: Path  # the builder's own folder: cached clone and archives of releases
    repository: str  # URL or path of the remote
    offline: bool  # True: neither git nor pip may use the network
    pins: Mapping[str, Pin]
    python: str | None = None  # the version of Python that a wheel must be for; None: the newest
    project: Project = NO_PROJECT

    @classmethod
    def of(
        cls, manifest: Manifest, mirror: Path | None, cache: Path, offline: bool, python: str | None = None
    ) -> Sources:
        """The sources of the pins and the project of a manifest."""
        known = manifest.upstream
        return cls(mirror, cache, known.repository, offline, known.pins, python, known.project)


@dataclass(frozen=True, slots=True)
class ReleaseArchive:
    """The file that a release was imported from; `written`: paths of the tree that the builder wrote."""

    name: str
    sha256: str
    written: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MemoryBlobs:
    """Blobs that are in memory already, checked when they were put there."""

    contents: Mapping[str, bytes]

    def read(self, ids: Iterable[str]) -> dict[str, bytes]:
        return {blob: self.contents[blob] for blob in ids}


@dataclass(frozen=True, slots=True)
class Upstream:
    """An upstream tree and where it came from."""

    spec: str  # as the user named it
    commit: str  # 40 hex digits; for a release a computed one, the same on every machine
    tree: Tree
    origin: str  # one sentence for people: where it came from
    time: int  # committer time in epoch seconds; for a release archive.SDIST_TIME
    version: str | None  # upstream's own version
    blobs: GitBlobs | MemoryBlobs
    version_origin: str = ""  # what the version was read from
    kind: Literal["git", "sdist", "wheel"] = "git"
    archive: ReleaseArchive | None = None  # of a release


def snapshot(upstream: Upstream, paths: Iterable[str] | None = None) -> Snapshot:
    """The upstream with the bytes of these paths (of all, for None); gitlinks have no bytes.

    Raises KeyError for a path that the tree lacks, BuildError U001 for a blob that cannot be read.
    """
    chosen = upstream.tree if paths is None else Tree({p: upstream.tree[p] for p in paths})
    return Snapshot(chosen, upstream.blobs.read(e.blob for e in chosen.values() if e.mode != GITLINK))


def deferred(upstream: Upstream) -> Snapshot:
    """The whole upstream; its bytes are read on access, which raises BuildError U001 if they cannot be."""
    return Snapshot(upstream.tree, _Deferred(upstream))


#: So many blobs are read one by one; the next one brings all, because each reading starts two processes.
_FEW = 8


class _Deferred(Mapping[str, bytes]):
    """The blobs of an upstream, read when they are asked for."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._read: dict[str, bytes] = {}

    @cached_property
    def _blobs(self) -> frozenset[str]:
        return frozenset(e.blob for e in self._upstream.tree.values() if e.mode != GITLINK)

    def __getitem__(self, blob: str) -> bytes:
        if blob not in self._read:
            wanted = {blob} if len(self._read) < _FEW else self._blobs
            self._read |= self._upstream.blobs.read(sorted(wanted))
        return self._read[blob]

    def __iter__(self) -> Iterator[str]:
        return iter(self._blobs)

    def __len__(self) -> int:
        return len(self._blobs)
