"""The repacked wheel as values: from a sound wheel and the manifest to the pieces of a new archive."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from builder.adapter import GENERATOR
from builder.emit.archive import deflate, join
from builder.emit.wheel import content_digest, with_record
from builder.errors import BuildError, fail
from builder.kernel import modules, names
from builder.kernel.plan import Plan, Source, plan
from builder.manifest.model import Kernel
from builder.upstream.wheel_archive import Archive, Packed

#: in dist-info: what was done to the wheel (the licence asks that changes be stated)
NOTICE = "MODIFICATIONS.json"
SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Origin:
    """The wheel that is repacked: file name, sha256 and size in bytes; and the build that changes it."""

    name: str
    sha256: str
    size: int
    label: str  # the local part of the new version
    upstream: str  # the commit, or the release


@dataclass(frozen=True, slots=True)
class Repacked:
    """A new wheel that is not written yet. Sizes are in bytes."""

    name: str
    origin: Origin
    plan: Plan
    packed: tuple[Packed, ...]
    content_sha256: str
    removed: tuple[Mapping[str, Any], ...]  # path, why, by, and the size packed
    unpacked: tuple[int, int]  # of all members, before and after
    files: tuple[int, int]

    def pieces(self) -> Iterator[bytes | memoryview]:
        """The archive, piece by piece."""
        return join(self.packed)

    def described(self) -> dict[str, Any]:
        """The summary, but for what only the written file has (its sha256 and size)."""
        return {
            "wheel": {"name": self.name, "content_sha256": self.content_sha256},
            "from": {"name": self.origin.name, "sha256": self.origin.sha256, "bytes": self.origin.size},
            "upstream": self.origin.upstream,
            "members": {"before": self.files[0], "after": self.files[1]},
            "unpacked_bytes": {"before": self.unpacked[0], "after": self.unpacked[1]},
            "removed": [dict(row) for row in self.removed],
            "changed": sorted(self.plan.changed),
        }


def repack(
    wheel: Archive,
    origin: Origin,
    kernel: Kernel,
    sources: Mapping[str, Source],
    only: Sequence[str] = (),
) -> Repacked:
    """The wheel without what the manifest removes, with the output's Python files.

    `sources` maps paths of the wheel to files of the trees; `only` names the architectures to keep,
    none for those of the manifest. Raises BuildError (K003 to K005, G002, M004).
    """
    name = names.parse(origin.name)
    _same(wheel, name)
    decided = plan(wheel, kernel, sources, only)
    leaving = {f"{wheel.info}/RECORD", *(item.path for item in decided.removed)}
    kept = {p: m for p, m in wheel.members.items() if p not in leaving}
    if problems := modules.lost(_code(wheel.members, {}), _code(kept, decided.changed), _tops(wheel)):
        raise BuildError(problems)
    new = names.renamed(name, origin.label, decided.architectures)
    stem = f"{new.distribution}-{new.version}"
    removed = tuple(
        {"path": r.path, "why": r.why, "by": r.by, "packed_bytes": len(wheel.members[r.path].stream)}
        for r in decided.removed
    )
    texts = _about(wheel, new, decided, origin, removed)
    rows = [
        *(replace(m, path=_moved(p, wheel.stem, stem)) for p, m in kept.items() if p not in texts),
        *(deflate(_moved(p, wheel.stem, stem), t, _executable(wheel, p)) for p, t in texts.items()),
    ]
    info = f"{stem}.dist-info"
    rows.sort(key=lambda row: (row.path.startswith(f"{info}/"), row.path))
    rows = with_record(rows, info)
    return Repacked(
        name=str(new),
        origin=origin,
        plan=decided,
        packed=tuple(rows),
        content_sha256=content_digest(rows),
        removed=removed,
        unpacked=(sum(m.size for m in wheel.members.values()), sum(row.size for row in rows)),
        files=(len(wheel.members), len(rows)),
    )


def _about(
    wheel: Archive, new: names.WheelName, decided: Plan, origin: Origin, removed: Sequence[Mapping[str, Any]]
) -> dict[str, bytes]:
    """Members with new content under their old names; RECORD is not among them."""
    texts = dict(decided.changed)
    metadata, about = f"{wheel.info}/METADATA", f"{wheel.info}/WHEEL"
    texts[metadata] = names.with_version(wheel.members[metadata].data(), new.version)
    texts[about] = names.with_tags(wheel.members[about].data(), new.expanded())
    notice = {
        "schema_version": SCHEMA_VERSION,
        "what": f"{origin.name}, changed by {GENERATOR}",
        "from": {"name": origin.name, "sha256": origin.sha256},
        "upstream": origin.upstream,
        "removed": [{key: row[key] for key in ("path", "why")} for row in removed],
        "changed": sorted(decided.changed),
    }
    texts[f"{wheel.info}/{NOTICE}"] = (json.dumps(notice, indent=1, ensure_ascii=False) + "\n").encode()
    return texts


def _same(wheel: Archive, name: names.WheelName) -> None:
    """Raises BuildError (K003) when the file name and METADATA name different things."""
    from packaging.utils import canonicalize_name
    from packaging.version import InvalidVersion, Version

    metadata = wheel.members[f"{wheel.info}/METADATA"].data()
    inside = (names.field(metadata, "Name"), names.field(metadata, "Version"))
    try:
        same = Version(inside[1]) == Version(name.version)
    except InvalidVersion:
        same = False
    if not same or canonicalize_name(inside[0]) != canonicalize_name(name.distribution):
        raise fail(
            "K003",
            f"The wheel is named {name.distribution} {name.version}, and says that it is "
            f"{inside[0] or 'nothing'} {inside[1]}.",
            hint="give it the name it had",
        )


def _moved(path: str, old: str, new: str) -> str:
    """The path with dist-info and data folders under the new version's name."""
    for kind in (".dist-info/", ".data/"):
        if path.startswith(old + kind):
            return new + path[len(old) :]
    return path


def _executable(wheel: Archive, path: str) -> bool:
    return path in wheel.members and wheel.members[path].executable


def _code(members: Mapping[str, Packed], changed: Mapping[str, bytes]) -> dict[str, bytes]:
    """Python files with their content, shared objects without."""
    contents = {p: m.data() if p.endswith(".py") else b"" for p, m in members.items() if p not in changed}
    return {p: d for p, d in (contents | dict(changed)).items() if p.endswith((".py", ".so", ".pyd"))}


def _tops(wheel: Archive) -> list[str]:
    return sorted({p.partition("/")[0] for p in wheel.members if "/" in p and p.endswith(".py")})
