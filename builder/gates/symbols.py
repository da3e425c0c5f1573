"""G005: no function, class, method or constant of a kept file vanishes without a rule that names it."""

from __future__ import annotations

import re

from builder.analysis.indexed_tree import IndexedTree
from builder.analysis.removals import Removals
from builder.errors import Mark, Problem
from builder.graph.modules import Definition, Summary
from builder.manifest.model import Manifest

_HEADING = re.compile(rb"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.MULTILINE)

#: Share of a file's definitions whose loss is reported first, as one problem about the file.
MAX_SHARE_LOST = 0.5


def check(before: IndexedTree, after: IndexedTree, manifest: Manifest, removals: Removals) -> list[Problem]:
    """One problem for each definition of a kept file that was removed unexplained, and first one for a file
    of which this is more than half.

    An overlay that replaces a whole file explains what is removed from it; other gates check its users.
    """
    whole = {f.path for b in manifest.batches for f in b.files}
    problems: list[Problem] = []
    for path, new in after.summaries.items():
        old = before.summaries.get(path)
        if old is None or old is new or path in whole or old.error:
            continue
        if before.snapshot.tree[path].blob == after.snapshot.tree[path].blob:
            continue
        lost = _lost(old, new, after.snapshot[path], removals)
        if not lost:
            continue
        total = sum(not new.error or d.kind in ("function", "class") for d in old.definitions.values())
        if len(lost) > MAX_SHARE_LOST * total:
            was, now = (tree.snapshot[path].count(b"\n") for tree in (before, after))
            message = f"{path}: the file lost {len(lost)} of its {total} definitions and {was - now} of its "
            message += f"{was} lines unexplained: it looks truncated"
            hint = (
                f"remove the file by a rule, replace it by an overlay, or restore it ({old.module or path})"
            )
            problems.append(Problem("G005", message, upstream=Mark(path), hint=hint))
        # the members of a lost class are lost with it
        outermost = sorted((d.line, name) for name, d in lost.items() if name.rpartition(".")[0] not in lost)
        problems += [_problem(old, name, lost[name]) for _, name in outermost]
    return problems


def _prefix(summary: Summary) -> str:
    return f"{summary.module}." if summary.module else f"{summary.path}:"


def _lost(old: Summary, new: Summary, data: bytes, removals: Removals) -> dict[str, Definition]:
    """The definitions removed unexplained; of a file that does not parse, those without a heading."""
    if new.error:
        headings = {heading.decode() for heading in _HEADING.findall(data)}
        headed = (name for name, one in old.definitions.items() if one.kind in ("function", "class"))
        names = {name for name in headed if name.rpartition(".")[2] not in headings}
    else:
        # a definition that became an import of the same name still exists
        imported = {name for name, definition in new.names.items() if definition.kind == "import"}
        names = {name for name in old.definitions if name.partition(".")[0] not in imported}
        names -= set(new.definitions)
    unexplained = {name for name in names if removals.symbol(_prefix(old) + name) is None}
    return {name: definition for name, definition in old.definitions.items() if name in unexplained}


def _problem(old: Summary, name: str, definition: Definition) -> Problem:
    qualified = _prefix(old) + name
    kind = "method" if "." in name and definition.kind == "function" else definition.kind
    message = f"{old.path}:{definition.line}: {kind} {name} vanished and no rule names it"
    hint = f"if it should go, say so: `drop: [{qualified}]` in the batch"
    return Problem("G005", message, upstream=Mark(old.path, definition.line), hint=hint)
