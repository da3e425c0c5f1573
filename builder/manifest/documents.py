"""The files that make up one manifest, and which statements each of them may hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from builder.errors import Mark, Problem
from builder.manifest.nodes import Findings, Node, read
from builder.manifest.schema import Elsewhere, validate
from builder.manifest.statements import BASE
from builder.spelling import nearest

SCHEMA = "schema/manifest.schema.json"
SCOPE = "docs/scope.yaml"
_PART = re.compile(r"overlays/([^/]+)/(facts|edits)\.yaml")


def facts_file(batch: str) -> str:
    """The file of the facts of a batch; the facts of `base` belong to the top of the manifest."""
    return f"overlays/{batch}/facts.yaml"


def is_part(path: str) -> bool:
    """Whether a file below overlays/ is part of the manifest itself rather than an overlay."""
    return _PART.fullmatch(path) is not None


@dataclass(frozen=True, slots=True)
class Documents:
    """The files of a manifest.

    `parts`: batch id -> its files below overlays/, facts before edits; those of `base` belong to the top of
    the manifest.
    """

    manifest: Node
    parts: Mapping[str, tuple[Node, ...]]
    scope: Node | None
    findings: Findings

    def __iter__(self) -> Iterator[Node]:
        yield self.manifest
        for parts in self.parts.values():
            yield from parts
        if self.scope is not None:
            yield self.scope

    @property
    def whole(self) -> bool:
        """Whether every file could be read."""
        return all(file.data is not None and not any(one.unknown for _, one in file.walk()) for file in self)

    @property
    def root(self) -> Node:
        """The manifest, with the facts of its top."""
        return self.manifest.with_others(self.parts.get(BASE, ()))

    @property
    def ids(self) -> list[str]:
        """The ids of the batches of the manifest."""
        return [batch.text("id") for batch in self.manifest.items("batches")]

    @property
    def batches(self) -> list[Node]:
        """The batches of the manifest, each with its files."""
        return [
            batch.with_others(self.parts.get(batch.text("id"), ()))
            for batch in self.manifest.items("batches")
        ]

    @property
    def strays(self) -> list[Node]:
        """Parts of batches that do not exist."""
        ids = self.ids
        return [
            part
            for name, parts in self.parts.items()
            for part in parts
            if name not in ids and part.mark.file != facts_file(BASE)
        ]

    def problems(self, schema: Mapping[str, Any]) -> Iterator[Problem]:
        """The problems of files that do not fit their part of the schema, or add to what does not exist."""
        for file, part, elsewhere in self._kinds(schema):
            if file.data is not None:
                yield from validate(file, schema, part, elsewhere)
        if self.manifest.data is not None:
            yield from self._additions()

    def _kinds(self, schema: Mapping[str, Any]) -> Iterator[tuple[Node, Mapping[str, Any], Elsewhere]]:
        """Yield each file with its part of the schema, and those of the files where other keys belong."""
        definitions, file = schema.get("definitions", {}), self.manifest.mark.file
        yield self.manifest, schema, {SCOPE: {"properties": {"scope": {}}}}
        for name, parts in self.parts.items():
            for part in parts:
                if part.mark.file == facts_file(BASE):
                    yield part, definitions.get("base-facts", {}), {file: schema}
                    continue
                kind, other = ("facts", "edits") if part.mark.file == facts_file(name) else ("edits", "facts")
                elsewhere = {f"overlays/{name}/{other}.yaml": definitions.get(f"batch-{other}", {})}
                elsewhere[file] = definitions.get("batch", {})
                yield part, definitions.get(f"batch-{kind}", {}), elsewhere
        if self.scope is not None:
            yield self.scope, definitions.get("scope", {}), {}

    def _additions(self) -> Iterator[Problem]:
        """M009 for parts of no batch; M012 for a kernel or a pattern that only the facts of the top name."""
        for part in self.strays:
            file = part.mark.file
            name = file.split("/")[1]
            how = nearest(name, self.ids) or f"there is no batch `{name}`"
            hint = f"the folder must have the id of a batch: {how}"
            yield Problem("M009", f"No batch uses `{file}`.", Mark(file), hint=hint)
        patterns = [text.text("pattern") for text in self.manifest.at("guarantees").items("absent_text")]
        for base in self.parts.get(BASE, ()):
            if base.has("kernel") and not self.manifest.has("kernel"):
                message = (
                    f"`{base.mark.file}` adds to `kernel`, which {self.manifest.mark.file} does not have."
                )
                yield Problem("M012", message, base.at("kernel").key_mark)
            for text in base.at("guarantees").items("absent_text"):
                if (pattern := text.text("pattern")) and pattern not in patterns:
                    message = f"There is no guarantee with the pattern `{pattern}`."
                    close = nearest(pattern, patterns)
                    yield Problem("M012", message, text.at("pattern").mark, hint=close)


def read_all(data: bytes, file: str, overlays: Mapping[str, bytes], scope: bytes | None) -> Documents:
    """The files of the manifest `data`, those among the overlays included; never raises for bad input."""
    findings = Findings()
    parts: dict[str, tuple[Node, ...]] = {}
    manifest = read(data, file, findings)
    for path in sorted(overlays):
        if match := _PART.fullmatch(path):
            parts[match[1]] = (read(overlays[path], path, findings), *parts.get(match[1], ()))
    rows = None if scope is None else read(scope, SCOPE, findings)
    return Documents(manifest, parts, rows, findings)
