"""Digests of a manifest: of the bytes of its files, of their meaning, and of its statements alone.

Manifests with the same statements in the same order decide the same, whatever their comments, layout or
reasons: the outcome of one is then that of the other, with the other's places and reasons.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from builder.errors import Mark
from builder.manifest.documents import Documents
from builder.manifest.model import Manifest
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


# -- statements without their places and reasons


#: The fields of a manifest that hold its texts, and what follows from these alone.
FROM_TEXT = frozenset(["texts", "digest", "statements", "scope_statements", "marks", "overlays"])


@dataclass(frozen=True, slots=True)
class Places:
    """`marks`: all places, sorted. `whys`: the reason of the statement at each place that has one.

    `stated` is a digest of everything else: of the statements, which of them share a place, and the order of
    the places. With the same digest, the place of the same number has the same statement.
    `reasons` is a digest that includes the reasons.
    """

    marks: tuple[Mark, ...]
    whys: Mapping[Mark, str]
    stated: str
    reasons: str


def places(manifest: Manifest) -> Places:
    """Return the places of a manifest and of its parts."""
    values = {
        field.name: getattr(manifest, field.name)
        for field in dataclasses.fields(manifest)
        if field.name not in FROM_TEXT
    }
    stating: dict[Mark, int] = defaultdict(int)
    _plain(values, stating, {})  # for the places alone
    # a value without a place of its own is at the file itself
    every = {*manifest.marks.values(), Mark(manifest.file), *stating}
    marks = tuple(sorted(every, key=lambda mark: (mark.file, mark.line, mark.column)))
    numbers = {mark: number for number, mark in enumerate(marks)}
    whys: dict[Mark, str] = {}
    overlays = [(path, hashlib.sha256(data).hexdigest()) for path, data in manifest.overlays.items()]
    at = [(path, numbers[mark]) for path, mark in manifest.marks.items()]
    files = [mark.file for mark in marks]  # a message may say in which of them a statement stands
    parts = (_plain(values, numbers, whys), at, files, overlays)
    stated = _digest(parts)
    return Places(
        marks, whys, stated, _digest((stated, sorted((numbers[m], why) for m, why in whys.items())))
    )


def _digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode("utf-8", "surrogateescape")).hexdigest()


def _plain(value: Any, numbers: Mapping[Mark, int], whys: dict[Mark, str]) -> Any:
    """Return a value with numbers for places, and without the reasons, which `whys` receives.

    Equal values have the same `repr`. A second reason at one place is part of the statement.
    """
    if isinstance(value, Mark):
        return "mark", numbers[value]
    if dataclasses.is_dataclass(value):
        why, mark = getattr(value, "why", None), getattr(value, "mark", None)
        own = False
        if isinstance(why, str) and isinstance(mark, Mark):
            own = whys.setdefault(mark, why) == why
        return [
            type(value).__name__,
            *(
                (field.name, "why" if own and field.name == "why" else _plain(item, numbers, whys))
                for field in dataclasses.fields(value)
                for item in [getattr(value, field.name)]
            ),
        ]
    if isinstance(value, Mapping):
        return [(key, _plain(item, numbers, whys)) for key, item in value.items()]
    if isinstance(value, tuple):
        return [_plain(item, numbers, whys) for item in value]
    assert not isinstance(value, (set, frozenset)), "a set has no order, and so no digest"
    return value
