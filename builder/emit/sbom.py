"""An SBOM in CycloneDX 1.6. It has no time, and its serial number follows from the tree."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping, Sequence
from email import message_from_bytes
from typing import Any

NAME = "sbom.cdx.json"

#: The classifiers of licences that stand for one SPDX identifier alone.
LICENSES = {
    "Apache Software License": "Apache-2.0",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}


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
    return (json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


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
