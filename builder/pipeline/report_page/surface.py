"""What users select by name, and what the distribution requires, for the page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from builder.analysis.projects import projects
from builder.emit.ledger import Reason
from builder.pipeline.answers.answer import State
from builder.pipeline.answers.context import Context
from builder.pipeline.answers.recipes import restore_statement
from builder.pipeline.answers.statements import requirement_reasons
from builder.pipeline.answers.surface import item_answer
from builder.pipeline.report_page.tables import Tables


def surface_rows(context: Context, tables: Tables) -> list[list[Any]]:
    """For each thing of the surface: kind, group, name, state, place, the answer in one sentence, reasons,
    how to bring it back."""
    surfaces = context.cut.surfaces
    rows: list[list[Any]] = []
    for key, item in sorted({**surfaces.after, **surfaces.before}.items()):
        answer = item_answer(context, key, item)
        place = item.places[0]
        rows.append(
            [
                *key,
                answer.state,
                f"{place.path}:{place.line}",
                answer.headline,
                tables.of(answer.reasons),
                tables.text(answer.back),
            ]
        )
    return rows


def requirement_rows(context: Context, tables: Tables) -> list[list[Any]]:
    """For each requirement of a pyproject.toml: file, extra, name, what each side states (null: nothing),
    state, reasons, how to bring it back."""
    rows: list[list[Any]] = []
    for (file, extra, name), (before, after) in sorted(_requirements(context).items()):
        state: State = "kept" if before == after else "edited" if before and after else "added"
        if not after:
            state = "removed"
        reasons = requirement_reasons(context, name, {file}) if state != "kept" else ()
        back = restore_statement(context, (r.batch for r in reasons)) if state == "removed" else None
        said = [*reasons, *_guaranteed(context, name)] if after else reasons
        old, new = (", ".join(side) or None for side in (before, after))
        rows.append([file, extra, name, old, new, state, tables.of(said), tables.text(back)])
    return rows


def _guaranteed(context: Context, name: str) -> Iterator[Reason]:
    for one in context.manifest.guarantees.dependencies:
        if one.name == name:
            yield Reason("guarantees", f"stays: {one.why}", one.mark)


def _requirements(context: Context) -> dict[tuple[str, str, str], tuple[list[str], list[str]]]:
    """(file, extra, name) -> what upstream and the output state."""
    found: dict[tuple[str, str, str], tuple[list[str], list[str]]] = {}
    for side, tree in enumerate((context.cut.upstream, context.cut.output)):
        for project in projects(tree, context.manifest.packages):
            for one in project.requirements:
                both = found.setdefault((project.path, one.extra, one.name), ([], []))
                both[side].append(one.text)
    return found
