"""Edits of a source text that leave no traces: no orphaned comment, no half line, no run of blank lines.

Texts are bytes decoded as latin-1, so that offsets are byte offsets and nothing is lost.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_OPEN, _CLOSE = "([{", ")]}"
_VISIBLE = re.compile(r"[^\n]")


@dataclass(frozen=True, slots=True, order=True)
class TextEdit:
    """Replaces the text between two offsets by `by`."""

    start: int
    end: int
    by: str = ""


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment; `heading` says that it heads a section, not only the paragraph below it."""

    start: int
    end: int
    heading: bool = False


@dataclass(frozen=True, slots=True)
class Scanned:
    """A text and its masks, all of one length.

    `bare` has blanks for comments; `code` has blanks for comments and for what is inside strings.
    """

    text: str
    bare: str
    code: str
    comments: tuple[Comment, ...]

    def line(self, offset: int) -> int:
        """The 1-based line of an offset."""
        return self.text.count("\n", 0, offset) + 1


def decode(data: bytes) -> str:
    return data.decode("latin-1")


def encode(text: str) -> bytes:
    return text.encode("latin-1")


def wide(text: str) -> str:
    """Text written in the manifest (Unicode) as it looks in a decoded file."""
    return text.encode("utf-8").decode("latin-1")


def blank(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text with blanks in the spans; ends of lines stay."""
    parts, at = [], 0
    for start, end in spans:
        parts.append(text[at:start])
        parts.append(_VISIBLE.sub(" ", text[start:end]))
        at = end
    parts.append(text[at:])
    return "".join(parts)


def apply(scanned: Scanned, cuts: Iterable[TextEdit]) -> str:
    """The text after all edits, tidied around those that only remove.

    A comment leaves when all the code that it heads has left; a line on which no code is left
    leaves; blank lines on both sides of a removal become one run.
    """
    todo = _disjoint(cuts)
    text = scanned.text
    if not todo:
        return text
    removed = bytearray(len(text))
    for cut in todo:
        if not cut.by:
            removed[cut.start : cut.end] = b"\1" * (cut.end - cut.start)
    for start, end in _orphans(scanned, removed):
        removed[start:end] = b"\1" * (end - start)
    return _render(scanned, removed, [c for c in todo if c.by])


def _disjoint(cuts: Iterable[TextEdit]) -> list[TextEdit]:
    """The edits in order, without those that lie inside another."""
    disjoint: list[TextEdit] = []
    for cut in sorted(set(cuts), key=lambda c: (c.start, -c.end, c.by)):
        if disjoint and cut.start < disjoint[-1].end:
            if cut.end > disjoint[-1].end:
                raise ValueError(f"two cuts overlap at offset {cut.start}")
            continue
        disjoint.append(cut)
    return disjoint


def _lines(text: str) -> list[int]:
    starts = [0]
    at = text.find("\n")
    while at >= 0:
        starts.append(at + 1)
        at = text.find("\n", at + 1)
    if starts[-1] != len(text):
        starts.append(len(text))
    return starts


def _orphans(scanned: Scanned, removed: bytearray) -> list[tuple[int, int]]:
    """Comments whose scope held code and holds none any more."""
    units = _units(scanned)
    starts = [u.start for u in units]
    orphans = []
    for index, unit in enumerate(units):
        end = _scope_end(scanned, units, starts, index)
        code = [at for at in range(unit.end, end) if not scanned.bare[at].isspace()]
        if code and all(removed[at] for at in code):
            orphans.append((unit.start, unit.end))
    return orphans


def _units(scanned: Scanned) -> list[Comment]:
    """Comments that own their lines; a run of line comments is one unit."""
    units: list[Comment] = []
    text = scanned.text
    for comment in scanned.comments:
        start = text.rfind("\n", 0, comment.start) + 1
        end = text.find("\n", comment.end)
        end = len(text) if end < 0 else end
        if scanned.bare[start:end].strip():
            continue
        last = units[-1] if units else None
        if last and start <= last.end + 1 and not comment.heading and not last.heading:
            units[-1] = Comment(last.start, end, False)
        else:
            units.append(Comment(start, end, comment.heading))
    return units


def _scope_end(scanned: Scanned, units: Sequence[Comment], starts: Sequence[int], index: int) -> int:
    unit, code = units[index], scanned.code
    limit = len(code)
    for later in units[index + 1 :]:
        if later.heading or not unit.heading:
            limit = later.start
            break
    depth, at, blank_so_far = 0, unit.end, True
    first = code.find("\n", at) + 1 or len(code)
    while at < limit:
        char = code[at]
        if char in _OPEN:
            depth += 1
        elif char in _CLOSE:
            depth -= 1
            if depth < 0:
                return at
        elif char == "\n" and not unit.heading:
            if at >= first and blank_so_far and not _inside_comment(scanned, at):
                return at
            blank_so_far = True
            at += 1
            continue
        if not char.isspace():
            blank_so_far = False
        at += 1
    return limit


def _inside_comment(scanned: Scanned, at: int) -> bool:
    """Whether the line that ends at this offset holds a comment (it is not a blank line)."""
    start = scanned.text.rfind("\n", 0, at) + 1
    return bool(scanned.text[start:at].strip())


def _render(scanned: Scanned, removed: bytearray, replacements: list[TextEdit]) -> str:
    text, starts = scanned.text, _lines(scanned.text)
    replaced = {
        bisect_right(starts, at) - 1 for c in replacements for at in (c.start, max(c.start, c.end - 1))
    }
    whole = _whole_lines(scanned, removed, starts, replaced)
    _tidy_blank_runs(scanned, starts, whole)
    out: list[str] = []
    queue, at = list(reversed(replacements)), 0
    while at < len(text):
        if queue and queue[-1].start == at:
            cut = queue.pop()
            out.append(cut.by)
            at = max(cut.end, at)
            if cut.end > cut.start:
                continue
        row = bisect_right(starts, at) - 1
        end = starts[row + 1] if row + 1 < len(starts) else len(text)
        stop = min(end, queue[-1].start) if queue else end
        if not whole[row]:
            out.append(_survivors(text, removed, at, stop))
        at = stop
    out.extend(cut.by for cut in reversed(queue))
    return "".join(out)


def _survivors(text: str, removed: bytearray, start: int, stop: int) -> str:
    """What remains of part of a line; a blank before removed text is removed with it."""
    out: list[str] = []
    at = start
    while at < stop:
        if removed[at]:
            while at < stop and removed[at]:
                at += 1
            if text[at : at + 1] in ("", " ", "\t", "\n", "\r", ")"):
                while out and out[-1] in " \t" and "".join(out).strip():
                    out.pop()
            continue
        out.append(text[at])
        at += 1
    return "".join(out)


def _whole_lines(scanned: Scanned, removed: bytearray, starts: list[int], replaced: set[int]) -> list[bool]:
    """For every line, whether it is removed whole: some of its text was removed, and no code remains."""
    whole = []
    for row, start in enumerate(starts[:-1] if starts[-1] == len(scanned.text) else starts):
        end = starts[row + 1] if row + 1 < len(starts) else len(scanned.text)
        touched = any(removed[start:end]) and row not in replaced
        has_code = touched and any(
            not removed[at] and not scanned.bare[at].isspace() for at in range(start, end)
        )
        spans = touched and any(
            c.start < end <= c.end and not removed[c.start] for c in scanned.comments if c.end > end - 1
        )
        whole.append(touched and not has_code and not spans)
    return [*whole, False]


def _tidy_blank_runs(scanned: Scanned, starts: list[int], whole: list[bool]) -> None:
    """Mark the blank lines that a removal doubled, or left beside a bracket, a heading or an end."""
    rows: list[int] = []
    gap = False
    for row in range(len(whole) - 1):
        if whole[row]:
            gap = True
            continue
        line = _line(scanned, starts, row)
        if gap and not line.strip():
            if not rows or _opens(scanned, starts, rows[-1]):
                whole[row] = True
                continue
        elif gap and line.strip()[0] in _CLOSE:
            _drop_blanks(scanned, starts, whole, rows)
        rows.append(row)
        gap = False
    if gap:
        _drop_blanks(scanned, starts, whole, rows)


def _opens(scanned: Scanned, starts: list[int], row: int) -> bool:
    """Whether a blank line below this line is superfluous: it is blank, opens a bracket or is a heading."""
    span = slice(starts[row], starts[row] + len(_line(scanned, starts, row)))
    code = scanned.code[span]
    opened = sum(map(code.count, _OPEN)) > sum(map(code.count, _CLOSE))
    return opened or not scanned.bare[span].strip()


def _drop_blanks(scanned: Scanned, starts: list[int], whole: list[bool], rows: list[int]) -> None:
    while rows and not _line(scanned, starts, rows[-1]).strip():
        whole[rows.pop()] = True


def _line(scanned: Scanned, starts: list[int], row: int) -> str:
    end = starts[row + 1] if row + 1 < len(starts) else len(scanned.text)
    return scanned.text[starts[row] : end]
