"""What a build is made of: SHA256SUMS, an SBOM in CycloneDX 1.6, and its provenance, an unsigned in-toto
statement (v1) with SLSA provenance (v1). No time, no invocation id, no path of the machine.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Mapping, Sequence
from email import message_from_bytes
from typing import Any

from builder.adapter import GENERATOR
from builder.manifest.model import Upstream
from builder.upstream.model import ReleaseArchive

SUMS, SBOM = "SHA256SUMS", "sbom.cdx.json"
#: The classifiers of licences that stand for one SPDX identifier alone.
LICENSES = {
    "Apache Software License": "Apache-2.0",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
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
    return _as_json(statement)


def _as_json(document: Mapping[str, Any]) -> bytes:
    return (json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


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


def sbom(
    name: str,
    version: str,
    output_tree: str,
    upstream: str,
    upstream_tree: str,
    requirements: Sequence[str],
    license_id: str | None = None,
) -> bytes:
    """CycloneDX of the distribution: itself, the upstream tree it comes from, and what it requires.

    The serial number follows from the tree.

    `upstream` is upstream's repository URL; `requirements` are those of METADATA. Only a requirement
    that names one version has one here: nothing is resolved, so nothing is invented. `license_id`: an SPDX
    identifier, where upstream states one.
    """
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    parts: dict[str, dict[str, Any]] = {}
    for text in requirements:
        requirement = Requirement(text)
        name_of = canonicalize_name(requirement.name)
        exact = re.fullmatch(r"==([^*,]+)", str(requirement.specifier))
        purl = f"pkg:pypi/{name_of}" + (f"@{exact[1]}" if exact else "")
        part: dict[str, Any] = {"type": "library", "bom-ref": purl, "name": name_of, "purl": purl}
        part |= {"version": exact[1]} if exact else {}
        part["scope"] = "optional" if "extra" in str(requirement.marker or "") else "required"
        known = parts.get(purl)
        if known is None or known["scope"] == "optional":
            parts[purl] = part
    own = f"pkg:pypi/{canonicalize_name(name)}@{version.replace('+', '%2B')}"
    ancestor = {
        "type": "library",
        "bom-ref": f"upstream:{upstream_tree}",
        "name": name,
        "externalReferences": [{"type": "vcs", "url": upstream}],
        "properties": [{"name": "git:tree", "value": upstream_tree}],
    }
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{own}#{output_tree}')}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": own,
                "name": name,
                "version": version,
                "purl": own,
                **({"licenses": [{"license": {"id": license_id}}]} if license_id else {}),
                "pedigree": {"ancestors": [ancestor]},
                "properties": [{"name": "git:tree", "value": output_tree}],
            }
        },
        "components": [parts[purl] for purl in sorted(parts)],
        "dependencies": [{"ref": own, "dependsOn": sorted(parts)}],
    }
    return _as_json(document)


def with_extra(requirement: str, extra: str) -> str:
    """A requirement as METADATA states it: one of an extra has it in its marker."""
    if not extra:
        return requirement
    what, _, marker = (part.strip() for part in requirement.partition(";"))
    return f'{what}; ({marker}) and extra == "{extra}"' if marker else f'{what}; extra == "{extra}"'


def license_of(project: Mapping[str, Any]) -> str | None:
    """The SPDX identifier that [project] of a pyproject.toml states, itself or by a classifier."""
    stated = project.get("license")
    if isinstance(stated, str) and re.fullmatch(r"[A-Za-z0-9.+-]+", stated):
        return stated
    names = (LICENSES.get(str(text).rpartition(" :: ")[2]) for text in project.get("classifiers", ()))
    return next((name for name in names if name), None)


def requirements(metadata: bytes) -> list[str]:
    """The Requires-Dist values of a METADATA file."""
    return message_from_bytes(metadata).get_all("Requires-Dist", [])
