"""Everything that `report.html` shows, as values that JSON can hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from builder.emit.build_json import batch_record
from builder.emit.figures import CODE
from builder.errors import CODES
from builder.manifest.model import Manifest
from builder.manifest.statements import BASE, Batch
from builder.pipeline.answers.context import Context
from builder.pipeline.measure import Figures
from builder.pipeline.report_page.files import STATES, definitions, diffs, file_rows, ways
from builder.pipeline.report_page.surface import requirement_rows, surface_rows
from builder.pipeline.report_page.tables import Tables
from builder.pipeline.uncertain import Uncertain
from builder.upstream.model import Upstream


@dataclass(frozen=True, slots=True)
class Build:
    """What the page says of the build itself."""

    upstream: Upstream
    wheel: str  # file name
    version: str
    without: Sequence[str]


def report_data(
    build: Build, context: Context, figures: Figures, uncertain: Uncertain, manifest: Manifest
) -> dict[str, Any]:
    """The page's data. Reasons and long sentences are numbers into `reasons` and `texts`."""
    tables = Tables()
    files = file_rows(context, figures.rows, tables)
    numbers = {row.path: number for number, row in enumerate(figures.rows)}
    data = {
        "name": manifest.name,
        "build": _build(build, context, manifest),
        "lines": figures.lines,
        "code": CODE,
        "states": STATES,
        "files": files,
        "ways": ways(context, numbers),
        "batches": _batches(figures, manifest),
        "diffs": diffs(context, figures.rows, figures.blocks, tables),
        "definitions": definitions(context, numbers, tables),
        "server": manifest.roots.command_line,
        "surface": surface_rows(context, tables),
        "requirements": requirement_rows(context, tables),
        "uncertain": {
            "modules": [numbers[path] for _, path, _ in uncertain.modules if path in numbers],
            "conditions": [list(row) for row in uncertain.conditions],
        },
        "gates": [[code, meaning] for code, (_, meaning) in sorted(CODES.items()) if code.startswith("G")],
    }
    return data | {"reasons": tables.reasons.rows, "texts": tables.texts.rows}


def _build(build: Build, context: Context, manifest: Manifest) -> dict[str, Any]:
    upstream = build.upstream
    return {
        "spec": upstream.spec,
        "commit": upstream.commit,
        "upstream_tree": context.cut.upstream.tree.id,
        "repository": manifest.upstream.repository,
        "tree": context.cut.output.tree.id,
        "files": len(context.cut.output),
        "wheel": build.wheel,
        "version": build.version,
        "manifest": manifest.file,
        "scope": manifest.scope_name,
        "without": sorted(build.without),
        "rounds": context.cut.specialized.rounds,
    }


def _batches(figures: Figures, manifest: Manifest) -> list[dict[str, Any]]:
    """The batches that the manifest states, and what else reasons name, each with its figures."""
    stated = {batch.id: batch for batch in manifest.batches}
    return [batch_record(one) | _stated(stated.get(one.id)) for one in figures.batches]


def _stated(batch: Batch | None) -> dict[str, Any]:
    if batch is None or batch.id == BASE:
        return {"stated": False}
    return {
        "stated": True,
        "why": batch.why,
        "mark": str(batch.mark),
        "kind": batch.kind,
        "needs": [name for name, _ in batch.needs],
        "follows": [name for name, _ in batch.follows],
    }
