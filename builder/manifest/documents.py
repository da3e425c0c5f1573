"""The files that make up one manifest, and which statements each of them may hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from builder.errors import Mark, Problem
from builder.manifest.nodes import Document, read
from builder.manifest.schema import Elsewhere, validate
from builder.manifest.view import Findings, View
from builder.spelling import nearest

SCHEMA = "schema/manifest.schema.json"
HISTORY = "overlays/history.yaml"
SCOPE = "docs/scope.yaml"
_EDITS = re.compile(r"overlays/([^/]+)/edits\.yaml")
_MISSING = Document("", None, {}, {})


def is_part(path: str) -> bool:
    """Whether a file below overlays/ is part of the manifest itself rather than an overlay."""
    return path == HISTORY or _EDITS.fullmatch(path) is not None


@dataclass(frozen=True, slots=True)
class Documents:
    """A manifest's files, and what is found while their values are read. `edits`: batch id -> the file of its
    edits."""

    manifest: Document
    edits: Mapping[str, Document]
    history: Document = _MISSING
    scope: Document = _MISSING
    findings: Findings = field(default_factory=Findings)

    def __iter__(self) -> Iterator[Document]:
        yield self.manifest
        yield from self.edits.values()
        yield from (one for one in (self.history, self.scope) if one is not _MISSING)

    @property
    def whole(self) -> bool:
        """Whether every file could be read."""
        return all(one.data is not None and not one.unknown for one in self)

    @property
    def root(self) -> View:
        """The manifest, with what the history adds to it."""
        return self.view(self.manifest).with_others([self.view(self.history)])

    def view(self, document: Document) -> View:
        """One of these files."""
        return View(document, self.findings, document.data)

    def batches(self) -> Iterator[View]:
        """The batches of the manifest, each with its file of edits and what the history adds to it."""
        for batch in self.root.alone().items("batches"):
            name = batch.text("id")
            own = [self.view(self.edits[name])] if name in self.edits else []
            yield batch.with_others([*own, *(one for one in self._past() if one.text("id") == name)])

    def strays(self) -> Iterator[View]:
        """Additions of the history to batches that do not exist."""
        known = self.ids()
        for name, document in self.edits.items():
            if name not in known:
                yield self.view(document)
        yield from (one for one in self._past() if one.text("id") not in known)

    def problems(self, schema: Mapping[str, Any]) -> Iterator[Problem]:
        """Problems of files that do not fit their part of the schema, or add to what does not exist."""
        for document, part, elsewhere in self._kinds(schema):
            if document.data is not None:
                yield from validate(document, schema, part, elsewhere)
        if self.manifest.data is not None:
            yield from self._strays()

    def _kinds(self, schema: Mapping[str, Any]) -> Iterator[tuple[Document, Mapping[str, Any], Elsewhere]]:
        parts = schema.get("definitions", {})
        batch, file = _keys(parts.get("batch", {})), self.manifest.file
        yield self.manifest, schema, {(): {"scope": SCOPE}}
        edits = parts.get("batch-edits", {})
        for document in self.edits.values():
            yield document, edits, {(): dict.fromkeys(batch - _keys(edits), file)}
        past, whole = parts.get("history", {}), schema.get("properties", {})
        added = {
            (): _keys(schema) - _keys(past),
            ("roots",): _keys(whole.get("roots", {})) - {"dynamic"},
            ("batches",): batch - _keys(parts.get("history-batch", {})),
            ("kernel",): _keys(parts.get("kernel", {})) - _keys(parts.get("history-kernel", {})),
            ("guarantees",): _keys(whole.get("guarantees", {})) - _keys(parts.get("history-guarantees", {})),
        }
        yield self.history, past, {path: dict.fromkeys(keys, file) for path, keys in added.items()}
        yield self.scope, parts.get("scope", {}), {}

    def _strays(self) -> Iterator[Problem]:
        """M009 for edits of no batch; M006 and M012 for a batch or pattern that only the history names."""
        known = self.ids()
        for name, document in self.edits.items():
            if name not in known:
                close = nearest(name, known)
                how = f"the folder must have the id of a batch: {close or f'there is no batch `{name}`'}"
                yield Problem("M009", f"No batch uses `{document.file}`.", Mark(document.file), hint=how)
        marks: dict[str, Mark] = {}
        for one in self._past():
            name, mark = one.text("id"), one.at("id").mark
            if name in marks:
                yield Problem("M006", f"The batch `{name}` is already on line {marks[name].line}.", mark)
            elif name and name not in known:
                hint = nearest(name, known)
                yield Problem("M006", f"There is no batch `{name}`.", mark, hint=hint)
            marks.setdefault(name, mark)
        manifest, history = self.root.alone(), self.view(self.history)
        if history.has("kernel") and not manifest.has("kernel"):
            message = f"The history adds to `kernel`, which {self.manifest.file} does not have."
            yield Problem("M012", message, history.at("kernel").key_mark)
        patterns = [text.text("pattern") for text in manifest.at("guarantees").items("absent_text")]
        for text in history.at("guarantees").items("absent_text"):
            if (pattern := text.text("pattern")) and pattern not in patterns:
                message = f"There is no guarantee with the pattern `{pattern}`."
                hint = nearest(pattern, patterns)
                yield Problem("M012", message, text.at("pattern").mark, hint=hint)

    def _past(self) -> Iterator[View]:
        """The additions of the history to batches."""
        return self.view(self.history).items("batches")

    def ids(self) -> list[str]:
        """The ids of the batches of the manifest."""
        return [batch.text("id") for batch in self.root.alone().items("batches")]


def read_all(data: bytes, file: str, overlays: Mapping[str, bytes], scope: bytes | None) -> Documents:
    """The files of the manifest `data`, those among the overlays included; never raises for bad input."""
    parts = ((path, match[1]) for path in sorted(overlays) if (match := _EDITS.fullmatch(path)))
    edits = {name: read(overlays[path], path) for path, name in parts}
    history = read(overlays[HISTORY], HISTORY) if HISTORY in overlays else _MISSING
    return Documents(read(data, file), edits, history, _MISSING if scope is None else read(scope, SCOPE))


def _keys(schema: Mapping[str, Any]) -> set[str]:
    return set(schema.get("properties", {}))
