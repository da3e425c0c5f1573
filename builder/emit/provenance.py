"""The provenance of a build: an unsigned in-toto statement (v1) with SLSA provenance (v1).

It holds only digests: no time, no invocation id, no path of the machine.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from builder.emit.build_json import Build

NAME = "provenance.intoto.json"
BUILD_TYPE = "urn:sglang-deepseek-builder:dist:1"


def provenance(build: Build, materials: Mapping[str, str], repository: str) -> bytes:
    """in-toto statement: the wheel and the tree, made from upstream, the manifest and the overlays.

    `materials` maps the manifest's path and those of the overlays to the sha256 of each file.
    """
    subject: list[dict[str, Any]] = [{"name": "tree", "digest": {"gitTree": build.output_tree}}]
    if build.wheel:
        subject.append({"name": build.wheel.name, "digest": {"sha256": build.wheel.sha256}})
    source = {"gitTree": build.upstream.tree}
    if build.upstream.commit:
        source["gitCommit"] = build.upstream.commit
    inputs: list[dict[str, Any]] = [{"uri": f"git+{repository}", "digest": source}]
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
            "runDetails": {
                "builder": {"id": "sglang-deepseek-builder", "version": {"builder": build.builder}}
            },
        },
    }
    return (json.dumps(statement, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()
