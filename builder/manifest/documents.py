"""The files that make up one manifest, and which statements each of them may hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from builder.errors import Mark, Problem
from builder.manifest.nodes import Document, read
from builder.manifest.schema import Elsewhere, validate
from builder.manifest.statements import BASE
from builder.manifest.view import Findings, View
from builder.spelling import nearest

SCHEMA = "schema/manifest.schema.json"
SCOPE = "docs/scope.yaml"
_PART = re.compile(r"overlays/([^/]+)/(facts|edits)\.yaml")
_MISSING = Document("", None, {}, {})


def facts_file(batch: str) -> str:
    """The file of what a batch states about upstream; of `base`, what the top of the manifest states."""
    return f"overlays/{batch}/facts.yaml"


def is_part(path: str) -> bool:
    """Whether a file below overlays/ is part of the manifest itself rather than an overlay."""
    return _PART.fullmatch(path) is not None


@dataclass(frozen=True, slots=True)
class Documents:
    """A manifest's files, and what is found while their values are read.

    `parts`: batch id -> its files below overlays/, facts before edits; what `base` has belongs to the top of
    the manifest.
    """

    manifest: Document
    parts: Mapping[str, tuple[Document, ...]]
    scope: Document = _MISSING
    findings: Findings = field(default_factory=Findings)

    def __iter__(self) -> Iterator[Document]:
        yield self.manifest
        for parts in self.parts.values():
            yield from parts
        if self.scope is not _MISSING:
            yield self.scope

    @property
    def whole(self) -> bool:
        """Whether every file could be read."""
        return all(one.data is not None and not one.unknown for one in self)

    @property
    def root(self) -> View:
        """The manifest, with the facts of its top."""
        return self._with_parts(self.view(self.manifest), BASE)

    def view(self, document: Document) -> View:
        """One of these files."""
        return View(document, self.findings, document.data)

    def batches(self) -> Iterator[View]:
        """The batches of the manifest, each with its files."""
        for batch in self.root.alone().items("batches"):
            yield self._with_parts(batch, batch.text("id"))

    def _with_parts(self, whole: View, name: str) -> View:
        return whole.with_others(self.view(part) for part in self.parts.get(name, ()))

    def strays(self) -> Iterator[View]:
        """Parts of batches that do not exist."""
        for _, document in self._stray_parts():
            yield self.view(document)

    def problems(self, schema: Mapping[str, Any]) -> Iterator[Problem]:
        """Problems of files that do not fit their part of the schema, or add to what does not exist."""
        for document, part, elsewhere in self._kinds(schema):
            if document.data is not None:
                yield from validate(document, schema, part, elsewhere)
        if self.manifest.data is not None:
            yield from self._strays()

    def _kinds(self, schema: Mapping[str, Any]) -> Iterator[tuple[Document, Mapping[str, Any], Elsewhere]]:
        parts, whole, file = schema.get("definitions", {}), schema.get("properties", {}), self.manifest.file
        yield self.manifest, schema, {(): {"scope": SCOPE}}
        base = parts.get("base-facts", {})
        of_base = {
            (): _keys(schema) - _keys(base),
            ("kernel",): _keys(parts.get("kernel", {})) - _keys(parts.get("base-kernel", {})),
            ("guarantees",): _keys(whole.get("guarantees", {})) - _keys(parts.get("base-guarantees", {})),
        }
        for name, documents in self.parts.items():
            for document in documents:
                if document.file == facts_file(BASE):
                    yield document, base, {path: dict.fromkeys(keys, file) for path, keys in of_base.items()}
                    continue
                kind = _kind(document.file)
                other = "facts" if kind == "edits" else "edits"
                keys = dict.fromkeys(_keys(parts.get("batch", {})), file)
                keys |= dict.fromkeys(_keys(parts.get(f"batch-{other}", {})), f"overlays/{name}/{other}.yaml")
                yield document, parts.get(f"batch-{kind}", {}), {(): keys}
        yield self.scope, parts.get("scope", {}), {}

    def _strays(self) -> Iterator[Problem]:
        """M009 for parts of no batch; M012 for a pattern that only the facts of the top name."""
        known = self.ids()
        for name, document in self._stray_parts():
            close = nearest(name, known)
            how = f"the folder must have the id of a batch: {close or f'there is no batch `{name}`'}"
            yield Problem("M009", f"No batch uses `{document.file}`.", Mark(document.file), hint=how)
        manifest = self.root.alone()
        patterns = [text.text("pattern") for text in manifest.at("guarantees").items("absent_text")]
        for base in self.root.others:
            if base.has("kernel") and not manifest.has("kernel"):
                file = self.manifest.file
                message = f"`{base.document.file}` adds to `kernel`, which {file} does not have."
                yield Problem("M012", message, base.at("kernel").key_mark)
            for text in base.at("guarantees").items("absent_text"):
                if (pattern := text.text("pattern")) and pattern not in patterns:
                    message = f"There is no guarantee with the pattern `{pattern}`."
                    hint = nearest(pattern, patterns)
                    yield Problem("M012", message, text.at("pattern").mark, hint=hint)

    def _stray_parts(self) -> Iterator[tuple[str, Document]]:
        known = self.ids()
        for name, documents in self.parts.items():
            for document in documents:
                if name not in known and document.file != facts_file(BASE):
                    yield name, document

    def ids(self) -> list[str]:
        """The ids of the batches of the manifest."""
        return [batch.text("id") for batch in self.view(self.manifest).items("batches")]


def read_all(data: bytes, file: str, overlays: Mapping[str, bytes], scope: bytes | None) -> Documents:
    """The files of the manifest `data`, those among the overlays included; never raises for bad input."""
    parts: dict[str, tuple[Document, ...]] = {}
    for path in sorted(overlays):
        if match := _PART.fullmatch(path):
            document = read(overlays[path], path)
            others = parts.get(match[1], ())
            parts[match[1]] = (document, *others) if match[2] == "facts" else (*others, document)
    return Documents(read(data, file), parts, _MISSING if scope is None else read(scope, SCOPE))


def _kind(file: str) -> str:
    match = _PART.fullmatch(file)
    return match[2] if match else ""


def _keys(schema: Mapping[str, Any]) -> set[str]:
    return set(schema.get("properties", {}))
