"""What became of each path, for the page: sizes, reasons, ways from a root, diffs and definitions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from builder.emit.figures import is_text
from builder.emit.ledger import Row
from builder.graph.names import module_of, path_of
from builder.pipeline.answers.context import Context, reasons_of
from builder.pipeline.answers.recipes import restore_path
from builder.pipeline.attribution import RemovedLines
from builder.pipeline.report_page.tables import Tables
from builder.source.headings import defined_names
from builder.source.textdiff import hunks
from builder.tree import GITLINK, SYMLINK

STATES = ("kept", "edited", "removed", "added")
_HUNK = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+", re.MULTILINE)


def file_rows(context: Context, rows: Sequence[Row], tables: Tables) -> list[list[Any]]:
    """For each path: path, number of its state, lines before and after, bytes before and after, reasons,
    how to bring it back, and why it was emptied. Null for what a side does not have."""
    before, after = context.cut.upstream, context.cut.output
    found: list[list[Any]] = []
    for row in rows:
        back = emptied = None
        if row.verdict == "removed":
            rule = context.cut.decided.removed.get(row.path)
            back = restore_path(context, row.path, rule) if rule else None
            module = module_of(row.path, context.manifest.packages)
            emptied = context.cut.specialized.lost.get(module) if rule is None and module else None
        found.append(
            [
                row.path,
                STATES.index(row.verdict),
                row.lines_before,
                row.lines_after,
                len(before[row.path]) if row.before else None,
                len(after[row.path]) if row.after else None,
                tables.of((row.reason, *row.also)),
                tables.text(back),
                tables.text(str(emptied) if emptied else None),
            ]
        )
    return found


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
        sort, reached = next((n, found) for n, (_, found) in enumerate(ways) if module in found)
        edge = reached[module]
        step = [at[edge.source], edge.kind, edge.line] if edge else [-1, "", 0]
        rows.append([module, _number_of(module, context, numbers), sort, *step])
    return {"starts": sorts, "modules": rows}


def _number_of(module: str, context: Context, numbers: Mapping[str, int]) -> int:
    """The number of a module's path in the output, where a package goes before a file; -1 for a folder."""
    paths = reversed(path_of(module, context.manifest.packages) or ())
    return next((numbers[path] for path in paths if path in context.cut.output.tree), -1)


def diffs(
    context: Context, rows: Sequence[Row], blocks: Mapping[str, Sequence[RemovedLines]], tables: Tables
) -> list[list[Any]]:
    """For each edited text file: number of its path, and its hunks with the reasons of each.

    The reasons of a hunk are those of the blocks that left in it; without such a block, those of the file.
    """
    before, after = context.cut.upstream, context.cut.output
    found: list[list[Any]] = []
    for number, row in enumerate(rows):
        if row.verdict != "edited" or before.tree[row.path].mode in (SYMLINK, GITLINK):
            continue
        old, new = before[row.path], after[row.path]
        if not (is_text(old) and is_text(new)):
            continue
        told = blocks.get(row.path, ())
        pieces: list[list[Any]] = []
        for first, last, text in split_hunks(hunks(old, new)):
            within = [b for b in told if b.line < last and first < b.line + b.lines]
            within.sort(key=lambda b: -b.lines)
            # a block's lines count for the first of its reasons
            why = [reason for block in within for reason in block.reasons[:1]]
            why += [reason for block in within for reason in block.reasons[1:]]
            why = why or [row.reason, *row.also]
            pieces.append([text, tables.of(why)])
        found.append([number, pieces])
    return found


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
    """For each Python file: number of its path, the names that it defines (upstream's, of a removed file),
    and those that left an edited file: name, statement that removed it, its reasons."""
    found: list[list[Any]] = []
    before, after = context.cut.upstream, context.cut.output
    for path in sorted(path for path in numbers if path.endswith(".py")):
        names, gone = defined_names(after.get(path) or before.get(path, b"")), []
        if context.state(path) == "edited":
            module = module_of(path, context.manifest.packages)
            for name in sorted(defined_names(before[path]) - names):
                removal = context.cut.removals.symbol(f"{module}.{name}") if module else None
                said = tables.text(str(removal) if removal else None)
                gone.append([name, said, tables.of(reasons_of(removal))])
        if names or gone:
            found.append([numbers[path], " ".join(sorted(names)), gone])
    return found
