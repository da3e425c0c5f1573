"""Two digests of a manifest: of the bytes of its files, and of their meaning."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from builder.manifest.documents import Documents
from builder.manifest.nodes import Node, real
from builder.manifest.values import TRUTH


def of_statements(
    documents: Documents, overlays: Mapping[str, bytes], scope: str, off: Collection[str]
) -> str:
    """sha256 over the statements of the manifest and its parts, and the bytes of its overlays.

    Comments, layout and the order of mappings do not count. The order of lists does: the last rule that
    matches a path decides. Every key counts, even `why`. Items of docs/scope.yaml do not: they decide
    nothing. Of the named scopes only the one of this name counts; batches that are `off` in it do not.
    """
    files = {"manifest": documents.manifest}
    for name, some in documents.parts.items():
        files |= {part.mark.file: part for part in some if name not in off}
    contents = {name: _stated(file, scope, off) for name, file in files.items()}
    canonical = json.dumps(contents, sort_keys=True, separators=(",", ":"))
    folders = tuple(f"overlays/{name}/" for name in off)
    return of_files(
        canonical.encode(), {path: data for path, data in overlays.items() if not path.startswith(folders)}
    )


def _stated(file: Node, scope: str, off: Collection[str]) -> dict[str, Any]:
    batches = [batch for batch in file.items("batches") if batch.text("id") not in off]
    scopes = [one for one in file.at("scopes").parts if one.key == scope]
    stated = dict(file.data)
    if batches:
        stated["batches"] = [batch.data for batch in batches]
    if "scopes" in stated:
        stated["scopes"] = {one.key: one.data for one in scopes}
    left = {
        "batches": [replace(batch, key=number) for number, batch in enumerate(batches)],
        "scopes": scopes,
    }
    parts = [replace(part, parts=left.get(str(part.key), part.parts)) for part in file.parts]
    return {
        "statements": stated,
        # where a value of a program is stated, these mean something else than with quotes
        "unquoted": sorted(
            json.dumps(path)
            for path, one in replace(file, parts=parts).walk()
            if one.plain and (one.data in TRUTH or real(one.data) is not None)
        ),
    }


def of_files(data: bytes, overlays: Mapping[str, bytes]) -> str:
    """sha256 over the bytes of the manifest and of its overlays."""
    # each input is hashed on its own, so that the boundaries between inputs count
    total = hashlib.sha256(hashlib.sha256(data).digest())
    for path, content in sorted(overlays.items()):
        name = path.encode("utf-8", "surrogateescape")
        total.update(hashlib.sha256(name).digest() + hashlib.sha256(content).digest())
    return total.hexdigest()
