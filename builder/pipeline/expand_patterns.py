"""Absent symbols that are named by a pattern stand for each definition of upstream that it matches."""

from __future__ import annotations

import re
from dataclasses import replace

from builder.errors import Problem
from builder.graph.resolve import Index
from builder.manifest.model import Manifest
from builder.manifest.statements import Absent, Batch


def expand_patterns(manifest: Manifest, index: Index) -> tuple[Manifest, list[Problem]]:
    """The manifest with one absent symbol for each definition that a pattern matches.

    `*` stands for any part of one name, `**` for names with dots too. `index`: the modules that no
    rule removes. R009 for a pattern that matches nothing.
    """
    if not any("*" in a.name for b in manifest.batches for a in b.absent):
        return manifest, []
    names = sorted(
        f"{module}.{name}" for module, summary in index.modules.items() for name in summary.definitions
    )
    problems: list[Problem] = []
    batches = tuple(_expanded(batch, names, problems) for batch in manifest.batches)
    return replace(manifest, batches=batches), problems


def _expanded(batch: Batch, names: list[str], problems: list[Problem]) -> Batch:
    found: dict[str, Absent] = {}
    for absent in batch.absent:
        if "*" not in absent.name:
            found[absent.name] = absent
            continue
        pattern = _compiled(absent.name)
        matched = [name for name in names if pattern.fullmatch(name)]
        if not matched:
            message = f"The absent symbol `{absent.name}` matches no definition of a file that stays."
            hint = "Remove it, or say by `since` or `until` which versions have it."
            problems.append(Problem("R009", message, absent.mark, hint=hint, nothing=True))
        for name in matched:
            found.setdefault(name, replace(absent, name=name))
    return replace(batch, absent=tuple(found.values()))


def _compiled(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*|\*)", pattern)
    return re.compile("".join({"**": ".*", "*": "[^.]*"}.get(part, re.escape(part)) for part in parts))
