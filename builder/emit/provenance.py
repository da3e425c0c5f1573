"""The digests of a build: SHA256SUMS, and its provenance, an unsigned in-toto statement (v1) with SLSA
provenance (v1). No time, no invocation id, no path of the machine.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from builder.adapter import GENERATOR
from builder.manifest.model import Upstream
from builder.upstream.model import ReleaseArchive

SUMS = "SHA256SUMS"
BUILD_TYPE = f"urn:{GENERATOR}:dist:1"


def provenance(
    record: Mapping[str, Any],
    archive: ReleaseArchive | None,
    materials: Mapping[str, str],
    stated: Upstream,
    files: Mapping[str, bytes],
    source_sha256: str,
) -> bytes:
    """in-toto statement: the tree, the wheel and the files beside them, made from upstream, the manifest
    and the overlays by this builder.

    `record`: the content of build.json; `archive`: what a release was imported from; `stated`: upstream as
    the manifest states it. `materials` maps the manifest's path and those of the overlays to the sha256 of
    each file; `files` are the other files of the output; `source_sha256` is the digest of the builder's own
    source.
    """
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    if wheel := record["wheel"]:
        digests[wheel["name"]] = wheel["sha256"]
    subject: list[dict[str, Any]] = [{"name": "tree", "digest": {"gitTree": record["output"]["tree"]}}]
    subject += [{"name": name, "digest": {"sha256": digest}} for name, digest in sorted(digests.items())]
    inputs = [_upstream(record["upstream"], stated)]
    if archive:
        release: dict[str, Any] = {"name": archive.name, "digest": {"sha256": archive.sha256}}
        if archive.written:
            # files of the upstream tree that the archive does not hold
            release["annotations"] = {"writtenByBuilder": list(archive.written)}
        inputs.append(release)
    inputs += [{"name": path, "digest": {"sha256": digest}} for path, digest in sorted(materials.items())]
    manifest = record["manifest"]
    parameters = {
        "upstream": record["upstream"]["spec"],
        "manifest": manifest["digest"],
        **{key: manifest[key] for key in ("statements", "scope", "with", "without")},
    }
    builder = {
        "id": GENERATOR,
        "version": {"builder": record["builder"]},
        "builderDependencies": [{"name": "builder", "digest": {"sha256": source_sha256}}],
    }
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subject,
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": parameters,
                "internalParameters": record["tools"],
                "resolvedDependencies": inputs,
            },
            "runDetails": {"builder": builder},
        },
    }
    return (json.dumps(statement, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def _upstream(upstream: Mapping[str, Any], stated: Upstream) -> dict[str, Any]:
    """Where upstream came from. No repository has the commit that is computed for a release."""
    digest = {"gitTree": upstream["tree"]}
    if upstream["origin"] != "git":
        return {"uri": f"pkg:pypi/{stated.project.name}@{upstream['version']}", "digest": digest}
    if upstream["commit"]:
        digest["gitCommit"] = upstream["commit"]
    return {"uri": f"git+{stated.repository}", "digest": digest}


def sha256sums(files: Mapping[str, bytes]) -> bytes:
    """One line a file, sorted by name, as `sha256sum -c` reads it. tree/ has none: its tree id covers it."""
    rows = (f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(files.items()))
    return "".join(rows).encode()
