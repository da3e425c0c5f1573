"""What became of the edits of one file: a record of each place that changed, a problem of each other edit."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from builder.errors import Mark, Problem
from builder.manifest.statements import BASE, AnchoredEdit, Edit, Patch, Rule, TomlEdit, WholeFile

_SHOWN = 6  # places listed in a message


@dataclass(frozen=True, slots=True)
class Record:
    """One place that one edit changed, with the sha256 of its source text before and after in hex digits
    (None where there is none)."""

    mark: Mark
    batch: str
    why: str
    kind: str
    file: str
    line: int  # in the file before the edit; 0: the whole file
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Placed:
    """The files that an overlay writes: their new bytes (None: removed) and modes."""

    files: Mapping[str, bytes | None]
    modes: Mapping[str, str]
    problems: tuple[Problem, ...] = ()
    records: tuple[Record, ...] = ()


#: An edit of one file that may match nothing, or several places.
FileEdit = Edit | TomlEdit | AnchoredEdit
Text = bytes | str | None


def record(
    edit: FileEdit | WholeFile | Patch, kind: str, file: str, line: int, before: Text, after: Text
) -> Record:
    """The record of an edit that replaced one text by another."""
    return Record(edit.mark, edit.batch, edit.why, kind, file, line, _digest(before), _digest(after))


def _digest(text: Text) -> str | None:
    """sha256 in hex; None for None."""
    if text is None:
        return None
    raw = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    return hashlib.sha256(raw).hexdigest()


def is_void(edit: FileEdit | Patch, rule: Rule, off_by_default: Collection[str]) -> bool:
    """Return whether an edit of a file that a rule removed has nothing to do: the rule is of a batch that is
    off by default, and the edit must match where that is off."""
    return rule.batch in off_by_default and rule.batch != edit.batch


def of_removed(edit: FileEdit | Patch, rule: Rule) -> str:
    """Return the hint for an edit of a file that a rule removed: the line that keeps the two apart."""
    if rule.verdict in ("reach", "follow"):
        return f"The file is removed because {rule.pattern}: remove the edit."
    if rule.batch in (BASE, edit.batch):
        return f"`{rule.stated}` ({rule.mark}) removes the file: remove the edit."
    batch = f"Batch `{rule.batch}` ({rule.mark}) removes the file"
    if isinstance(edit, Edit) and edit.kind in ("drop", "stub"):
        return f"{batch}: write `{{name: {edit.target}, without: {rule.batch}}}`, or remove the edit."
    return f"{batch}: add `without: {rule.batch}` to the edit, or remove the edit."


class Edited(NamedTuple):
    """The new bytes of a file, what is wrong, and what was done."""

    data: bytes
    problems: list[Problem]
    records: list[Record]


class Wrong(Exception):
    """An edit that cannot be carried out, with the line that shows why (0: the whole file); `absent`: only
    because what it names is not there, which an optional edit may do."""

    def __init__(
        self, code: str, message: str, line: int = 0, hint: str | None = None, absent: bool = False
    ) -> None:
        super().__init__(message)
        self.code, self.line, self.hint, self.absent = code, line, hint, absent


@dataclass(slots=True)
class Journal:
    """The problems and the records of the edits of one file."""

    path: str
    problems: list[Problem] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)

    @contextmanager
    def attempt(self, edit: FileEdit) -> Iterator[None]:
        """Note what is wrong with an edit; it then has no effect."""
        try:
            yield
        except Wrong as wrong:
            if not (edit.optional and wrong.absent):
                place = Mark(self.path, wrong.line)
                self.problems.append(
                    Problem(wrong.code, str(wrong), edit.mark, place, hint=wrong.hint, nothing=wrong.absent)
                )

    def note(self, edit: FileEdit, kind: str, line: int, before: Text, after: Text) -> None:
        """Record a place where an edit was carried out, by its text before and after."""
        self.records.append(record(edit, kind, self.path, line, before, after))


def require_count(
    path: str, edit: Edit | AnchoredEdit, lines: Sequence[int], shown: str, hint: Callable[[], str | None]
) -> None:
    """Raise Wrong unless an edit matched as often as it states; `hint` is for one that matched nothing."""
    if len(lines) == (edit.count or max(len(lines), 1)):
        return
    places = ", ".join(f"{path}:{line}" for line in lines[:_SHOWN])
    where = f": {places}{', ...' if len(lines) > _SHOWN else ''}." if lines else "."
    message = f"{shown} states {edit.count or 'all'} and matches {len(lines)}{where}"
    if lines:
        raise Wrong("R004", message, lines[0])
    # an optional edit that does not match is not reported, and the search for what is similar is slow
    raise Wrong("R004", message, hint=None if edit.optional else hint(), absent=True)
