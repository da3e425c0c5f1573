"""The digests of a build: SHA256SUMS, and its provenance, an unsigned in-toto statement (v1) with SLSA
provenance (v1). No time, no invocation id, no path of the machine.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from builder.adapter import GENERATOR
from builder.emit.build_json import Build
from builder.manifest.model import Upstream

SUMS = "SHA256SUMS"
BUILD_TYPE = f"urn:{GENERATOR}:dist:1"


def provenance(
    build: Build,
    materials: Mapping[str, str],
    upstream: Upstream,
    files: Mapping[str, bytes] | None = None,
    source_sha256: str | None = None,
) -> bytes:
    """in-toto statement: the tree, the wheel and the files beside them, made from upstream, the manifest
    and the overlays by this builder. `upstream`: as the manifest states it.

    `materials` maps the manifest's path and those of the overlays to the sha256 of each file; `files` are
    the other files of the output; `source_sha256` is the digest of the builder's own source.
    """
    subject: list[dict[str, Any]] = [{"name": "tree", "digest": {"gitTree": build.output_tree}}]
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in (files or {}).items()}
    if build.wheel:
        digests[build.wheel.name] = build.wheel.sha256
    subject += [{"name": name, "digest": {"sha256": digest}} for name, digest in sorted(digests.items())]
    builder: dict[str, Any] = {"id": GENERATOR, "version": {"builder": build.builder}}
    if source_sha256:
        builder["builderDependencies"] = [{"name": "builder", "digest": {"sha256": source_sha256}}]
    inputs = [_upstream(build, upstream)]
    if archive := build.upstream.archive:
        release: dict[str, Any] = {"name": archive.name, "digest": {"sha256": archive.sha256}}
        if archive.written:
            # files of the upstream tree that the archive does not hold
            release["annotations"] = {"writtenByBuilder": list(archive.written)}
        inputs.append(release)
    inputs += [{"name": path, "digest": {"sha256": digest}} for path, digest in sorted(materials.items())]
    parameters = {
        "upstream": build.upstream.spec,
        "manifest": build.manifest_digest,
        "statements": build.manifest_statements,
        "scope": build.scope,
        "without": sorted(build.without),
    }
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subject,
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": parameters,
                "internalParameters": dict(sorted(build.tools.items())),
                "resolvedDependencies": inputs,
            },
            "runDetails": {"builder": builder},
        },
    }
    return (json.dumps(statement, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def _upstream(build: Build, stated: Upstream) -> dict[str, Any]:
    """Where upstream came from. No repository has the commit that is computed for a release."""
    upstream = build.upstream
    digest = {"gitTree": upstream.tree}
    if upstream.origin != "git":
        return {"uri": f"pkg:pypi/{stated.project.name}@{upstream.version}", "digest": digest}
    if upstream.commit:
        digest["gitCommit"] = upstream.commit
    return {"uri": f"git+{stated.repository}", "digest": digest}


def sha256sums(files: Mapping[str, bytes]) -> bytes:
    """One line a file, sorted by name, as `sha256sum -c` reads it. tree/ has none: its tree id covers it."""
    rows = (f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(files.items()))
    return "".join(rows).encode()
