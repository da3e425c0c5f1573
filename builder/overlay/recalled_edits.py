"""Edits of one file, as they are remembered from earlier runs.

The result does not depend on the places, reasons and versions that the manifest states, so edits are
remembered without them, with numbers for their places. Edits that match nothing are remembered too, but not
those with another problem, whose message may name a place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from builder.errors import Mark
from builder.manifest.statements import ALWAYS, AnchoredEdit, Edit, TomlEdit
from builder.memo import recall
from builder.overlay.record import Edited

One = TypeVar("One", Edit, TomlEdit, AnchoredEdit)


class _Unrepeatable(Exception):
    """The edits have problems that are not remembered."""


def edit_or_recall(
    kind: str, given: tuple[object, ...], edits: Sequence[One], edit: Callable[[Sequence[One]], Edited]
) -> Edited:
    """`edit(edits)`, or its result for equal edits elsewhere; `kind`, `given`: as for `memo.recall`."""
    stated = list({one.mark: one for one in edits}.values())
    numbers = {one.mark: Mark("", number) for number, one in enumerate(stated)}
    numbered = [
        replace(
            one,
            mark=numbers[one.mark],
            why="",
            span=ALWAYS,
            optional="it may match nothing" if one.optional else None,
        )
        for one in edits
    ]

    def make() -> Edited:
        data, problems, records = edit(numbered)
        if not all(problem.nothing and problem.mark in numbers.values() for problem in problems):
            raise _Unrepeatable
        return data, problems, records

    try:
        data, problems, records = recall(kind, (*given, numbered), make)
    except _Unrepeatable:
        return edit(edits)
    problems = [replace(p, mark=stated[p.mark.line].mark) for p in problems if p.mark]
    records = [replace(r, mark=stated[r.mark.line].mark, why=stated[r.mark.line].why) for r in records]
    return data, problems, records
