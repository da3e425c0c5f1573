"""Two digests of a manifest: of the bytes of its files, and of their meaning."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from builder.manifest.documents import Documents
from builder.manifest.nodes import Document, Path, real
from builder.manifest.view import TRUTH


def of_files(data: bytes, overlays: Mapping[str, bytes]) -> str:
    """sha256 over the bytes of the manifest and of its overlays."""
    return _together(data, overlays)


def of_statements(
    documents: Documents, overlays: Mapping[str, bytes], scope: str = "", off: Collection[str] = ()
) -> str:
    """sha256 over the statements of the manifest and its parts, and the bytes of its overlays.

    Comments, layout and the order of mappings do not count. The order of lists does: of the rules that
    match a path the last one decides. Every key counts, even `why`. Items of docs/scope.yaml do not: they
    decide nothing. Of the named scopes that of this name counts alone; batches that are `off` in it do not.
    """
    parts = {"manifest": documents.manifest}
    for name, some in documents.parts.items():
        parts |= {document.file: document for document in some if name not in off}
    contents = {name: _stated(document, scope, off) for name, document in parts.items()}
    canonical = json.dumps(contents, sort_keys=True, separators=(",", ":"))
    folders = tuple(f"overlays/{name}/" for name in off)
    return _together(
        canonical.encode(), {path: data for path, data in overlays.items() if not path.startswith(folders)}
    )


def _stated(document: Document, scope: str, off: Collection[str]) -> dict[str, Any]:
    data = document.data
    if not isinstance(data, dict):
        return {"statements": data, "unquoted": []}
    batches = data.get("batches", [])
    left = [number for number, batch in enumerate(batches) if batch.get("id") not in off]
    stated = dict(data)
    if batches:
        stated["batches"] = [batches[number] for number in left]
    if "scopes" in data:
        stated["scopes"] = {name: said for name, said in data["scopes"].items() if name == scope}
    return {
        "statements": stated,
        # where a value of a program is stated, these mean something else than with quotes
        "unquoted": sorted(
            json.dumps(_renumbered(path, left))
            for path in document.plain
            if (document.value(path) in TRUTH or real(document.value(path)) is not None)
            and _counts(path, scope, left)
        ),
    }


def _counts(path: Path, scope: str, left: Sequence[int]) -> bool:
    if path[:1] == ("scopes",):
        return path[1:2] == (scope,)
    return path[:1] != ("batches",) or path[1] in left


def _renumbered(path: Path, left: Sequence[int]) -> Path:
    """The path where only these batches are left."""
    return ("batches", left.index(path[1]), *path[2:]) if path[:1] == ("batches",) else path


def _together(first: bytes, overlays: Mapping[str, bytes]) -> str:
    """Hashes each input on its own, so that the boundaries between inputs count."""
    total = hashlib.sha256(hashlib.sha256(first).digest())
    for path, content in sorted(overlays.items()):
        name = path.encode("utf-8", "surrogateescape")
        total.update(hashlib.sha256(name).digest() + hashlib.sha256(content).digest())
    return total.hexdigest()
