"""The repacked wheel as values: from a sound wheel and the manifest to the pieces of a new archive."""

from __future__ import annotations

import email
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from builder.adapter import GENERATOR
from builder.analysis.indexed_tree import world
from builder.emit.archive import deflate
from builder.emit.metadata import distribution_version
from builder.emit.wheel import content_digest, with_record
from builder.errors import BuildError, Mark, Problem, fail
from builder.gates.imports import STRING, dangling
from builder.kernel import names
from builder.kernel.plan import Plan, Source, plan
from builder.manifest.model import Kernel
from builder.manifest.spans import version
from builder.tree import Snapshot, Tree
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
class KernelWheel:
    """A new wheel that is not written yet. `summary`: what the verb prints, without what only the written
    file has (its sha256 and size)."""

    name: str
    members: Sequence[Packed]
    summary: Mapping[str, Any]


def repack(
    wheel: Archive,
    origin: Origin,
    kernel: Kernel,
    sources: Mapping[str, Source],
    only: Sequence[str] = (),
) -> KernelWheel:
    """The wheel without what the manifest removes, with the output's Python files.

    `sources` maps paths of the wheel to files of the trees; `only` names the architectures to keep,
    none for those of the manifest. Raises BuildError (K003 to K005, G002, M004).
    """
    name = names.parse(origin.name)
    _same(wheel, name)
    decided = plan(wheel, kernel, sources, only)
    removed = {f"{wheel.info}/RECORD", *(row["path"] for row in decided.removed)}
    kept = {p: m for p, m in wheel.members.items() if p not in removed}
    tops = sorted({p.partition("/")[0] for p in wheel.members if "/" in p and p.endswith(".py")})
    if problems := _lost(_modules(wheel.members, {}), _modules(kept, decided.changed), tops):
        raise BuildError(problems)
    # the version names the architectures, unless all of them stay
    label = ".".join((origin.label, *decided.architectures))
    new = replace(name, version=distribution_version(name.version, label))
    stem = f"{new.distribution}-{new.version}"
    texts = _about(wheel, new, decided, origin)
    rows = [
        *(replace(m, path=_moved(p, wheel.stem, stem)) for p, m in kept.items() if p not in texts),
        *(deflate(_moved(p, wheel.stem, stem), t, _executable(wheel, p)) for p, t in texts.items()),
    ]
    info = f"{stem}.dist-info"
    rows.sort(key=lambda row: (row.path.startswith(f"{info}/"), row.path))
    rows = with_record(rows, info)
    summary = {
        "wheel": {"name": str(new), "content_sha256": content_digest(rows)},
        "from": {"name": origin.name, "sha256": origin.sha256, "bytes": origin.size},
        "upstream": origin.upstream,
        "members": {"before": len(wheel.members), "after": len(rows)},
        "unpacked_bytes": {
            "before": sum(m.size for m in wheel.members.values()),
            "after": sum(row.size for row in rows),
        },
        "removed": [
            {**row, "packed_bytes": len(wheel.members[row["path"]].stream)} for row in decided.removed
        ],
        "changed": sorted(decided.changed),
    }
    return KernelWheel(str(new), rows, summary)


def _about(wheel: Archive, new: names.WheelName, decided: Plan, origin: Origin) -> dict[str, bytes]:
    """Members with new content under their old names; RECORD is not among them."""
    texts = dict(decided.changed)
    metadata, about = f"{wheel.info}/METADATA", f"{wheel.info}/WHEEL"
    texts[metadata] = names.with_version(wheel.members[metadata].data(), new.version)
    texts[about] = names.with_tags(wheel.members[about].data(), new.tags)
    notice = {
        "schema_version": SCHEMA_VERSION,
        "what": f"{origin.name}, changed by {GENERATOR}",
        "from": {"name": origin.name, "sha256": origin.sha256},
        "upstream": origin.upstream,
        "removed": [{key: row[key] for key in ("path", "why")} for row in decided.removed],
        "changed": sorted(decided.changed),
    }
    texts[f"{wheel.info}/{NOTICE}"] = (json.dumps(notice, indent=1, ensure_ascii=False) + "\n").encode()
    return texts


def _same(wheel: Archive, name: names.WheelName) -> None:
    """Raises BuildError (K003) when the file name and METADATA name different things."""
    from packaging.utils import canonicalize_name
    from packaging.version import Version

    metadata = email.message_from_bytes(wheel.members[f"{wheel.info}/METADATA"].data())
    inside = (str(metadata["Name"] or ""), str(metadata["Version"] or ""))
    same = version(inside[1]) == Version(name.version)
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


def _modules(members: Mapping[str, Packed], changed: Mapping[str, bytes]) -> dict[str, bytes]:
    """The Python files with their content, and an empty module for the name of each shared object."""
    modules = {p: m.data() for p, m in members.items() if p.endswith(".py") and p not in changed}
    modules |= {path: data for path, data in changed.items() if path.endswith(".py")}
    for path in (*members, *changed):
        folder, slash, name = path.rpartition("/")
        if name.endswith((".so", ".pyd")):
            modules.setdefault(f"{folder}{slash}{name.partition('.')[0]}.py", b"")
    return modules


def _lost(before: Mapping[str, bytes], after: Mapping[str, bytes], packages: Iterable[str]) -> list[Problem]:
    """Imports that the wheel satisfied and the repacked one does not (G002).

    Both are what `_modules` gives.
    """
    folders = {name: name for name in packages}
    before_tree, after_tree = (
        world(Snapshot(Tree({}), {}).replace(files), folders) for files in (before, after)
    )
    problems = []
    for path, summary in after_tree.summaries.items():
        missing_before = (
            {(d.module, d.name) for d in dangling(before_tree.summaries[path], before_tree.index)}
            if path in before_tree.summaries
            else ()
        )
        for item in sorted(set(dangling(summary, after_tree.index)), key=lambda d: (d.line, d)):
            if (item.module, item.name) in missing_before or item.how == STRING:
                continue
            what = f"{item.name!r} from {item.module}" if item.name else item.module
            message = f"'{path}' of the repacked wheel imports {what}, which left."
            hint = "remove the file too, or keep what it imports"
            problems.append(Problem("G002", message, upstream=Mark(path, item.line), hint=hint))
    return problems
