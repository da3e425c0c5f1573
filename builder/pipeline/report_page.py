"""Everything that `report.html` shows, as values that JSON can hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from builder.emit.figures import CODE, is_text
from builder.emit.ledger import VERDICTS, Row, verdict
from builder.errors import CODES
from builder.graph.names import module_of, path_of
from builder.manifest.statements import BASE, Batch, Reason
from builder.pipeline.answers.context import Context, reasons_of, restore_path, restore_statement
from builder.pipeline.answers.readings import requirement_reasons
from builder.pipeline.answers.surface import item_answer
from builder.pipeline.attribution import RemovedLines
from builder.pipeline.measure import Figures
from builder.source.textdiff import hunks
from builder.source.words import defined_names
from builder.tree import GITLINK, SYMLINK
from builder.upstream.model import Upstream


def report_data(
    context: Context, figures: Figures, upstream: Upstream, wheel: str, version: str, without: Sequence[str]
) -> dict[str, Any]:
    """Return the page's data. Reasons and long sentences are numbers into `reasons` and `texts`.

    `wheel`: the name of its file; `without`: the batches that are off.
    """
    tables, cut, manifest = Tables(), context.cut, context.manifest
    files = file_rows(context, figures.rows, tables)
    numbers = {row.path: number for number, row in enumerate(figures.rows)}
    stated = {batch.id: batch for batch in manifest.batches}
    data = {
        "name": manifest.name,
        "build": {
            "spec": upstream.spec,
            "commit": upstream.commit,
            "upstream_tree": cut.upstream.tree.id,
            "repository": manifest.upstream.repository,
            "tree": cut.output.tree.id,
            "files": len(cut.output),
            "wheel": wheel,
            "version": version,
            "manifest": manifest.file,
            "scope": manifest.scope_name,
            "with": manifest.switched_on,
            "without": sorted(without),
            "rounds": cut.specialized.rounds,
        },
        "lines": figures.lines,
        "code": CODE,
        "states": VERDICTS,
        "files": files,
        "ways": ways(context, numbers),
        "batches": [asdict(one) | _stated(stated.get(one.id)) for one in figures.batches],
        "diffs": diffs(context, figures.rows, figures.blocks, tables),
        "definitions": definitions(context, numbers, tables),
        "server": manifest.roots.command_line,
        "models": manifest.roots.model_package,
        "surface": surface_rows(context, tables),
        "requirements": requirement_rows(context, tables),
        "uncertain": {
            "modules": [numbers[path] for _, path in context.graphs.unreached if path in numbers],
            "conditions": cut.specialized.uncertain,
        },
        "gates": [[code, meaning] for code, (_, meaning) in sorted(CODES.items()) if code.startswith("G")],
    }
    return data | {"reasons": list(tables.reasons), "texts": list(tables.texts)}


_WITHOUT_BATCH = "No batch: no root reaches it, or the manifest states it outside of the batches."
_SEVERAL_FACTS = "No batch: facts of several batches decide together."


def _stated(batch: Batch | None) -> dict[str, Any]:
    """Return what the page says of a batch that the manifest states, or of another source of reasons."""
    if batch is None or batch.id == BASE:
        return {"stated": False, "why": _WITHOUT_BATCH if batch is not None else _SEVERAL_FACTS}
    return {
        "stated": True,
        "why": batch.why,
        "mark": str(batch.mark),
        "kind": batch.kind,
        "needs": [name for name, _ in batch.needs],
        "follows": [name for name, _ in batch.follows],
    }


@dataclass(slots=True)
class Tables:
    """Numbers reasons (batch, rule, place) and sentences in the order in which they are first asked for."""

    reasons: dict[tuple[str, str, str], int] = field(default_factory=dict)
    texts: dict[str, int] = field(default_factory=dict)

    def of(self, reasons: Iterable[Reason]) -> list[int]:
        """The numbers of reasons, each once, in order."""
        rows = ((r.batch, r.rule, str(r.mark) if r.mark else "") for r in reasons)
        return list(dict.fromkeys(self.reasons.setdefault(row, len(self.reasons)) for row in rows))

    def text(self, sentence: str | None) -> int:
        """The number of a sentence; -1 for none."""
        return self.texts.setdefault(sentence, len(self.texts)) if sentence else -1


def surface_rows(context: Context, tables: Tables) -> list[list[Any]]:
    """For each thing of the surface: kind, group, name, state, place, the answer in one sentence, reasons,
    how to bring it back."""
    surfaces = context.cut.surfaces
    rows: list[list[Any]] = []
    for key, item in sorted({**surfaces.after, **surfaces.before}.items()):
        answer = item_answer(context, key, item)
        numbers = tables.of(answer.reasons), tables.text(answer.back)
        rows.append([*key, answer.state, str(item.places[0]), answer.headline, *numbers])
    return rows


def requirement_rows(context: Context, tables: Tables) -> list[list[Any]]:
    """For each requirement of a pyproject.toml: file, extra, name, what each side states (null: nothing),
    state, reasons, how to bring it back."""
    rows: list[list[Any]] = []
    guaranteed: dict[str, list[Reason]] = {}
    for one in context.manifest.guarantees.dependencies:
        guaranteed.setdefault(one.name, []).append(Reason("guarantees", f"stays: {one.why}", one.mark))
    for (file, extra, name), (before, after) in sorted(context.requirements.items()):
        state = verdict(before, after)
        reasons = requirement_reasons(context, name, {file}) if state != "kept" else ()
        back = restore_statement(context, (r.batch for r in reasons)) if state == "removed" else None
        stated = [*reasons, *(guaranteed.get(name, ()) if after else ())]
        old, new = (", ".join(side) or None for side in (before, after))
        rows.append([file, extra, name, old, new, state, tables.of(stated), tables.text(back)])
    return rows


#: How many lines a diff shows around a change; upstream.diff shows more.
_CONTEXT = 1
_HUNK = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+", re.MULTILINE)


def file_rows(context: Context, rows: Sequence[Row], tables: Tables) -> list[list[Any]]:
    """For each path: path, number of its state, lines before and after, bytes before and after, reasons, how
    to bring it back, and why it was emptied. Null for what a side does not have."""
    before, after = context.cut.upstream, context.cut.output
    result: list[list[Any]] = []
    for row in rows:
        back = emptied = None
        if row.verdict == "removed":
            rule = context.cut.decided.removed.get(row.path)
            back = restore_path(context, row.path, rule) if rule else None
            module = module_of(row.path, context.manifest.packages)
            emptied = context.cut.specialized.lost.get(module) if rule is None and module else None
        lines = row.lines_before, row.lines_after
        sizes = len(before[row.path]) if row.before else None, len(after[row.path]) if row.after else None
        numbers = tables.of((row.reason, *row.also)), tables.text(back), tables.text(emptied)
        result.append([row.path, VERDICTS.index(row.verdict), *lines, *sizes, *numbers])
    return result


def ways(context: Context, numbers: Mapping[str, int]) -> dict[str, Any]:
    """How each module of the output is reached.

    `starts`: the sorts of starts. `modules`: module, number of its path (-1: a folder), number of its
    sort, and the last step to it: number of the module that imports it (-1: it is a start), kind, line.
    """
    ways = context.graphs.ways
    sorts = [sort for sort, _ in ways]
    modules = sorted({module for _, reached in ways for module in reached})
    at = {module: number for number, module in enumerate(modules)}
    rows: list[list[Any]] = []
    for module in modules:
        sort, edge = next((n, edges[module]) for n, (_, edges) in enumerate(ways) if module in edges)
        step = [at[edge.source], edge.kind, edge.line] if edge else [-1, "", 0]
        # a package goes before a file
        paths = reversed(path_of(module, context.manifest.packages) or ())
        number = next((numbers[path] for path in paths if path in context.cut.output.tree), -1)
        rows.append([module, number, sort, *step])
    return {"starts": sorts, "modules": rows}


def diffs(
    context: Context, rows: Sequence[Row], blocks: Mapping[str, Sequence[RemovedLines]], tables: Tables
) -> list[list[Any]]:
    """For each edited text file: number of its path, and its hunks with the reasons of each.

    The reasons of a hunk are those of the blocks that left in it; without such a block, those of the file.
    """
    before, after = context.cut.upstream, context.cut.output
    result: list[list[Any]] = []
    for number, row in enumerate(rows):
        if row.verdict != "edited" or before.tree[row.path].mode in (SYMLINK, GITLINK):
            continue
        old, new = before[row.path], after[row.path]
        if not (is_text(old) and is_text(new)):
            continue
        pieces: list[list[Any]] = []
        for first, last, text in split_hunks(hunks(old, new, _CONTEXT)):
            within = [b for b in blocks.get(row.path, ()) if b.line < last and first < b.line + b.lines]
            within.sort(key=lambda b: -b.lines)
            # a block's lines count for the first of its reasons
            why = [reason for block in within for reason in block.reasons[:1]]
            why += [reason for block in within for reason in block.reasons[1:]]
            pieces.append([text, tables.of(why or (row.reason, *row.also))])
        result.append([number, pieces])
    return result


def split_hunks(text: bytes) -> Iterator[tuple[int, int, str]]:
    """The hunks of a diff: first line and the line after the last that each changes in the older file,
    and its text."""
    starts = [match.start() for match in re.finditer(rb"^@@ ", text, re.MULTILINE)]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        hunk = text[start:end]
        match = _HUNK.match(hunk)
        assert match is not None
        line = int(match[1]) + (match[2] == b"0")
        changed: list[int] = []
        for row in hunk.split(b"\n")[1:]:
            if row[:1] in (b"-", b"+"):
                changed.append(line)
            line += row[:1] in (b"-", b" ")
        yield changed[0], changed[-1] + 1, hunk.decode("utf-8", "replace")


def definitions(context: Context, numbers: Mapping[str, int], tables: Tables) -> list[list[Any]]:
    """For each Python file: number of its path, the public names that it defines (of a removed file those at
    its top), and those that left an edited file: name, statement that removed it, its reasons."""
    result: list[list[Any]] = []
    before, after = context.cut.upstream, context.cut.output
    for path in sorted(path for path in numbers if path.endswith(".py")):
        names, gone = defined_names(after.get(path) or before.get(path, b"")), []
        if context.state(path) == "edited":
            module = module_of(path, context.manifest.packages)
            for name in sorted(defined_names(before[path]) - names):
                removal = context.cut.removals.symbol(f"{module}.{name}") if module else None
                cause = tables.text(str(removal) if removal else None)
                gone.append([name, cause, tables.of(reasons_of(removal))])
        shown = sorted(name for name in names if _is_shown(name, whole=path in after.tree))
        if shown or gone:
            result.append([numbers[path], " ".join(shown), gone])
    return result


def _is_shown(name: str, whole: bool) -> bool:
    """Return whether the page lists a definition: a public one, of the top unless the file stays."""
    return not any(part.startswith("_") for part in name.split(".")) and (whole or "." not in name)
