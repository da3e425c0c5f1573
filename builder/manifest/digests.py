"""Two digests of a manifest: of the bytes of its files, and of their meaning."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import reduce
from typing import Any

from builder.manifest.documents import Documents
from builder.manifest.findings import TRUTH
from builder.manifest.nodes import Document, Path, real


def of_files(data: bytes, overlays: Mapping[str, bytes]) -> str:
    """sha256 over the bytes of the manifest and of its overlays."""
    return _together(data, overlays)


def of_statements(documents: Documents, overlays: Mapping[str, bytes]) -> str:
    """sha256 over the statements of the manifest, its edits and its history, and the bytes of its overlays.

    Comments, layout and the order of mappings do not count. The order of lists does: of the rules that
    match a path the last one decides. Every key counts, even `why`. The scope does not: it decides nothing.
    """
    parts = {"manifest": documents.manifest, **documents.edits}
    if documents.history is not None:
        parts["history"] = documents.history
    contents = {name: _stated(document) for name, document in parts.items()}
    canonical = json.dumps(contents, sort_keys=True, separators=(",", ":"))
    return _together(canonical.encode(), overlays)


def _stated(document: Document) -> dict[str, Any]:
    return {
        "statements": document.data,
        # where a value of a program is stated, these mean something else than with quotes
        "unquoted": sorted(
            json.dumps(path) for path in document.plain if _means_a_value(document.data, path)
        ),
    }


def _means_a_value(data: Any, path: Path) -> bool:
    text = reduce(lambda value, key: value[key], path, data)
    return text in TRUTH or real(text) is not None


def _together(first: bytes, overlays: Mapping[str, bytes]) -> str:
    """Hashes each input on its own, so that the boundaries between inputs count."""
    total = hashlib.sha256(hashlib.sha256(first).digest())
    for path, content in sorted(overlays.items()):
        name = path.encode("utf-8", "surrogateescape")
        total.update(hashlib.sha256(name).digest() + hashlib.sha256(content).digest())
    return total.hexdigest()
