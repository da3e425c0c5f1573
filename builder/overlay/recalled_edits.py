"""Edits of one file, as they are remembered from earlier runs.

What edits make of a file does not depend on where the manifest states them, why, and for which versions. So
they are remembered without that, and with numbers for their places. Edits that match nothing, as those for
other versions do, are remembered too; those with another problem are not, since its sentence may name a
place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from builder.errors import Mark, Problem
from builder.manifest.statements import ALWAYS, AnchoredEdit, Edit, TomlEdit
from builder.memo import recall
from builder.overlay.record import Record

#: The new bytes of a file, what is wrong, and what was done.
Edited = tuple[bytes, list[Problem], list[Record]]
One = TypeVar("One", Edit, TomlEdit, AnchoredEdit)


class _Wrong(Exception):
    """The edits have problems that are not remembered."""


def edit_or_recall(
    kind: str, given: tuple[object, ...], edits: Sequence[One], edit: Callable[[Sequence[One]], Edited]
) -> Edited:
    """`edit(edits)`, or what it gave for equal edits elsewhere in the manifest.

    `kind` and `given` are all else that it depends on: see `memo.recall`.
    """
    stated = {one.mark: one for one in edits}
    marks = list(stated)
    numbers = {mark: Mark("", number) for number, mark in enumerate(marks)}
    numbered = [
        replace(one, mark=numbers[one.mark], why="", span=ALWAYS, optional=_may_miss(one)) for one in edits
    ]

    def make() -> Edited:
        data, problems, records = edit(numbered)
        if not all(problem.nothing and problem.mark in numbers.values() for problem in problems):
            raise _Wrong
        return data, problems, records

    try:
        data, problems, records = recall(kind, (*given, numbered), make)
    except _Wrong:
        return edit(edits)
    return (
        data,
        [replace(one, mark=marks[one.mark.line]) for one in problems if one.mark is not None],
        [_told(one, stated[marks[one.mark.line]]) for one in records],
    )


def _may_miss(edit: One) -> str | None:
    return "it may match nothing" if edit.optional else None


def _told(record: Record, edit: One) -> Record:
    """The record of an edit as the manifest states it."""
    return replace(record, mark=edit.mark, why=edit.why)
