"""`build.json`: what was built from what, in figures. No time, no path of the machine."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from builder.emit.figures import BatchFigures
from builder.emit.wheel import Wheel
from builder.manifest.model import DEFAULT_SCOPE
from builder.upstream.model import ReleaseArchive

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class UpstreamFacts:
    """The requested upstream, and what it resolved to."""

    spec: str
    commit: str | None  # None for a release without one
    tree: str  # git tree id
    origin: str  # git, sdist or wheel
    version: str  # upstream's own
    archive: ReleaseArchive | None = None  # the file that a release was imported from


@dataclass(frozen=True, slots=True)
class Build:
    """The content of `build.json`. `figures` are in the order of the manifest's batches."""

    builder: str
    upstream: UpstreamFacts
    manifest_file: str
    manifest_digest: str  # of its files
    manifest_statements: str  # the digest of what it says
    output_tree: str
    output_files: int
    lines: Mapping[str, Mapping[str, int]]  # extension -> {before, after}
    verdicts: Mapping[str, int]
    figures: Sequence[BatchFigures]
    rounds: int
    wheel: Wheel | None = None
    scope: str = DEFAULT_SCOPE
    without: tuple[str, ...] = ()  # on top of what the scope leaves out
    tools: Mapping[str, str] = field(default_factory=dict)
    surface: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # kind -> counts
    units: Mapping[str, Mapping[str, int]] | None = None  # translation units of both sides
    families: Mapping[str, str] = field(default_factory=dict)  # batch -> what its patterns matched


def build_json(build: Build) -> bytes:
    """The file, indented, keys in the order of schema/build.schema.json."""
    return (json.dumps(as_record(build), indent=2, ensure_ascii=False) + "\n").encode()


def as_record(build: Build) -> dict[str, Any]:
    """`build.json` as plain values."""
    wheel = build.wheel
    return {
        "schema_version": SCHEMA_VERSION,
        "builder": build.builder,
        "upstream": {key: value for key, value in asdict(build.upstream).items() if key != "archive"},
        "manifest": {
            "file": build.manifest_file,
            "digest": build.manifest_digest,
            "statements": build.manifest_statements,
            "scope": build.scope,
            "without": sorted(build.without),
        },
        "output": {"tree": build.output_tree, "files": build.output_files},
        "wheel": wheel
        and {
            "name": wheel.name,
            "sha256": wheel.sha256,
            "content_sha256": wheel.content_sha256,
            "bytes": len(wheel.data),
            "files": wheel.files,
        },
        "lines": build.lines,
        "verdicts": build.verdicts,
        "batches": [asdict(figures) for figures in build.figures],
        "surface": build.surface,
        "units": build.units,
        "families": dict(sorted(build.families.items())),
        "rounds": build.rounds,
        "tools": dict(sorted(build.tools.items())),
    }
