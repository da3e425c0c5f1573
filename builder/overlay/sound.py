"""What is wrong with the overlay files by themselves, before any upstream is at hand."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator

from builder.errors import Mark, Problem
from builder.manifest.model import Manifest
from builder.overlay import patch as patches
from builder.source.parse import parse


def problems(manifest: Manifest) -> Iterator[Problem]:
    """At most one for a file: G001 for Python that does not parse, R007 for a patch that cannot be read."""
    sources = manifest.overlays
    for file in (file for batch in manifest.batches for file in batch.files):
        try:
            if file.path.endswith(".py"):
                parse(sources.get(file.overlay, b""), file.overlay)
        except (SyntaxError, ValueError) as error:
            yield _unparsed(file.overlay, file.mark, error, 0)
    for edit in (edit for batch in manifest.batches for edit in batch.edits if edit.kind == "body"):
        text = sources.get(edit.by or "", b"").decode("utf-8", "replace")
        try:
            ast.parse(f"async def body():\n{textwrap.indent(text, '    ')}\n    return")
        except (SyntaxError, ValueError) as error:
            yield _unparsed(edit.by or "", edit.mark, error, 1)
    for patch in (patch for batch in manifest.batches for patch in batch.patches):
        try:
            patches.read(sources.get(patch.overlay, b""))
        except patches.Broken as broken:
            yield patches.problem(patch.overlay, patch.mark, broken)


def _unparsed(overlay: str, mark: Mark, error: Exception, lines_before: int) -> Problem:
    line = max((getattr(error, "lineno", None) or 0) - lines_before, 0)
    reason = getattr(error, "msg", None) or str(error)
    return Problem("G001", f"{overlay} does not parse: {reason}.", mark, overlay=Mark(overlay, line))
