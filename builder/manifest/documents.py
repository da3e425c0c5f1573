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


def is_part(path: str) -> bool:
    """Whether a file below overlays/ is part of the manifest itself rather than an overlay."""
    return path == HISTORY or _EDITS.fullmatch(path) is not None


@dataclass(frozen=True, slots=True)
class Documents:
    """A manifest's files as they were read. `edits`: batch id -> the file of its edits."""

    manifest: Document
    edits: Mapping[str, Document]
    history: Document | None = None
    scope: Document | None = None
    findings: Findings = field(default_factory=Findings)  # of what is read of them

    def __iter__(self) -> Iterator[Document]:
        yield self.manifest
        yield from self.edits.values()
        yield from (one for one in (self.history, self.scope) if one is not None)

    @property
    def whole(self) -> bool:
        """Whether every file could be read."""
        return all(one.data is not None and not one.unknown for one in self)

    @property
    def root(self) -> View:
        """The manifest, with what the history adds to it."""
        view = self._view(self.manifest)
        return view if self.history is None else view.with_others([self._view(self.history)])

    @property
    def scope_view(self) -> View:
        """docs/scope.yaml; a view of nothing when there is none."""
        return self._view(self.scope or Document(SCOPE, None, {}, {}))

    def _view(self, document: Document) -> View:
        return View(document, self.findings, document.data)

    def batches(self) -> Iterator[View]:
        """The batches of the manifest, each with its file of edits and what the history adds to it."""
        past: dict[str, list[View]] = {}
        for one in self._past():
            past.setdefault(one.text("id"), []).append(one)
        for batch in self.root.alone().items("batches"):
            name = batch.text("id")
            own = [self._view(self.edits[name])] if name in self.edits else []
            yield batch.with_others([*own, *past.get(name, ())])

    def strays(self) -> Iterator[View]:
        """Additions of the history to batches that do not exist."""
        known = self._ids()
        for name, document in self.edits.items():
            if name not in known:
                yield self._view(document)
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
        top, batch = _keys(schema), _keys(parts.get("batch", {}))
        yield self.manifest, schema, {(): {"scope": SCOPE}}
        edits = parts.get("batch-edits", {})
        for document in self.edits.values():
            yield document, edits, {(): dict.fromkeys(batch - _keys(edits), self.manifest.file)}
        if self.history is not None:
            past = parts.get("history", {})
            added = {
                (): top - _keys(past),
                ("roots",): _keys(schema.get("properties", {}).get("roots", {})) - {"dynamic"},
                ("batches",): batch - _keys(parts.get("history-batch", {})),
                ("kernel",): _keys(parts.get("kernel", {})) - _keys(parts.get("history-kernel", {})),
                ("guarantees",): _keys(schema.get("properties", {}).get("guarantees", {}))
                - _keys(parts.get("history-guarantees", {})),
            }
            yield (
                self.history,
                past,
                {path: dict.fromkeys(keys, self.manifest.file) for path, keys in added.items()},
            )
        if self.scope is not None:
            yield self.scope, parts.get("scope", {}), {}

    def _strays(self) -> Iterator[Problem]:
        """M009 for edits of no batch; M006 and M012 for a batch or pattern that only the history names."""
        known = self._ids()
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
        if self.history is None:
            return
        manifest, history = self.root.alone(), self._view(self.history)
        if history.has("kernel") and not manifest.has("kernel"):
            message = f"The history adds to `kernel`, which {self.manifest.file} does not have."
            yield Problem("M012", message, history.at("kernel").key_mark)
        patterns = [text.text("pattern") for text in manifest.at("guarantees").items("absent_text")]
        for text in history.at("guarantees").items("absent_text"):
            if (pattern := text.text("pattern")) and pattern not in patterns:
                message = f"There is no guarantee with the pattern `{pattern}`."
                hint = nearest(pattern, patterns)
                yield Problem("M012", message, text.at("pattern").mark, hint=hint)

    def _past(self) -> list[View]:
        """The additions of the history to batches."""
        return list(self._view(self.history).items("batches")) if self.history else []

    def _ids(self) -> list[str]:
        return [batch.text("id") for batch in self.root.alone().items("batches")]


def read_all(data: bytes, file: str, overlays: Mapping[str, bytes], scope: bytes | None) -> Documents:
    """The files of the manifest `data`, those among the overlays included; never raises for bad input."""
    parts = ((path, match[1]) for path in sorted(overlays) if (match := _EDITS.fullmatch(path)))
    edits = {name: read(overlays[path], path) for path, name in parts}
    history = read(overlays[HISTORY], HISTORY) if HISTORY in overlays else None
    return Documents(read(data, file), edits, history, None if scope is None else read(scope, SCOPE))


def _keys(schema: Mapping[str, Any]) -> set[str]:
    return set(schema.get("properties", {}))
