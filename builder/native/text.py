"""Edits of a source text that leave no traces: no orphaned comment, no half line, no run of blank lines.

Texts are bytes decoded as latin-1, so that offsets are byte offsets and nothing is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_OPEN, _CLOSE = "([{", ")]}"
_VISIBLE = re.compile(r"[^\n]")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")
_BRACKET = re.compile(r"[][(){}]")
_PAIRS = {pair[0]: re.compile(f"[{re.escape(pair)}]") for pair in ("()", "[]", "{}", "<>")}
_RUN = re.compile(rb"\x00+|\x01+")


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


@dataclass(frozen=True, slots=True)
class Arm:
    """One arm of a conditional: its head from `start` to `body`, and its body from there to `end`."""

    keyword: str
    condition: str
    start: int
    body: int
    end: int


@dataclass(frozen=True, slots=True)
class Conditional:
    """#if to #endif, or if() to endif(); what closes it lies between `last` and `end`."""

    arms: tuple[Arm, ...]
    last: int
    end: int


def conditionals(directives: Iterable[tuple[str, str, int, int]]) -> list[Conditional]:
    """Every complete conditional, inner ones included, ordered by their start; `directives`: (keyword,
    condition, start, end) in order."""
    blocks: list[Conditional] = []
    stack: list[list[tuple[str, str, int, int]]] = []
    for directive in directives:
        keyword, _, start, end = directive
        if keyword in ("if", "ifdef", "ifndef"):
            stack.append([directive])
        elif keyword in ("elif", "elseif", "else") and stack:
            stack[-1].append(directive)
        elif keyword == "endif" and stack:
            heads = stack.pop()
            ends = [*(head[2] for head in heads[1:]), start]
            arms = tuple(Arm(*head, stop) for head, stop in zip(heads, ends, strict=True))
            blocks.append(Conditional(arms, start, end))
    return sorted(blocks, key=lambda block: block.arms[0].start)


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


def closing(code: str, at: int) -> int:
    """After the bracket that closes the one at an offset; the end of the text when none does."""
    depth = 0
    for match in _PAIRS[code[at]].finditer(code, at):
        depth += 1 if match.group() == code[at] else -1
        if depth == 0:
            return match.end()
    return len(code)


def apply(scanned: Scanned, cuts: Iterable[TextEdit]) -> str:
    """The text after all edits, tidied around those that only remove.

    A comment is removed with all the code that it heads, and a line with all of its code; the blank lines on
    both sides of a removal become one run.
    """
    todo = _disjoint(cuts)
    text = scanned.text
    if not todo:
        return text
    spans = [(cut.start, cut.end) for cut in todo if not cut.by]
    left = blank(scanned.bare, spans)
    removed = bytearray(len(text))
    for start, end in (*spans, *_orphans(scanned, left)):
        removed[start:end] = b"\1" * (end - start)
    replacements = [cut for cut in todo if cut.by]
    rows = [match.span() for match in _LINE.finditer(text)]
    removed_rows = [
        any(removed[start:end])
        and not left[start:end].strip()
        and not any(c.start < end <= c.end and not removed[c.start] for c in scanned.comments)
        and not any(start <= at < end for c in replacements for at in (c.start, max(c.start, c.end - 1)))
        for start, end in rows
    ]
    _tidy_blank_runs(scanned, rows, removed_rows)
    out, at = "", 0
    for cut in (*replacements, TextEdit(len(text), len(text))):
        for (start, end), is_removed in zip(rows, removed_rows, strict=True):
            if start < cut.start and end > at and not is_removed:
                out += _survivors(text, removed, max(start, at), min(end, cut.start))
        out += cut.by
        at = cut.end
    return out


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


def _orphans(scanned: Scanned, left: str) -> list[tuple[int, int]]:
    """Comments whose scope held code of which nothing is `left`."""
    units = _units(scanned)
    orphans = []
    for index, unit in enumerate(units):
        span = slice(unit.end, _scope_end(scanned, unit, units[index + 1 :]))
        if scanned.bare[span].strip() and not left[span].strip():
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


def _scope_end(scanned: Scanned, unit: Comment, later: Sequence[Comment]) -> int:
    """The end of the code that a comment heads: the next heading or the bracket around it; for a comment of
    a paragraph also the next comment or blank line."""
    limits = [other.start for other in later if other.heading or not unit.heading]
    end = limits[0] if limits else len(scanned.code)
    if not unit.heading and (paragraph := _BLANK_LINE.search(scanned.text, unit.end, end)):
        end = paragraph.start()
    depth = 0
    for bracket in _BRACKET.finditer(scanned.code, unit.end, end):
        depth += 1 if bracket.group() in _OPEN else -1
        if depth < 0:
            return bracket.start()
    return end


def _survivors(text: str, removed: bytearray, start: int, stop: int) -> str:
    """What remains of part of a line; a blank before removed text is removed with it."""
    out = ""
    for run in _RUN.finditer(removed, start, stop):
        if not run.group()[0]:
            out += text[run.start() : run.end()]
        elif out.strip() and text[run.end() : run.end() + 1] in ("", " ", "\t", "\n", "\r", ")"):
            out = out.rstrip(" \t")
    return out


def _tidy_blank_runs(scanned: Scanned, rows: Sequence[tuple[int, int]], removed_rows: list[bool]) -> None:
    """Mark the blank lines that a removal doubled, or left beside a bracket, a heading or an end."""
    staying: list[int] = []

    def drop_blanks() -> None:
        while staying and not scanned.text[slice(*rows[staying[-1]])].strip():
            removed_rows[staying.pop()] = True

    gap = False
    for row, (start, end) in enumerate(rows):
        if removed_rows[row]:
            gap = True
            continue
        line = scanned.text[start:end].strip()
        if gap and not line and (not staying or _opens(scanned, *rows[staying[-1]])):
            removed_rows[row] = True
            continue
        if gap and line.startswith(tuple(_CLOSE)):
            drop_blanks()
        staying.append(row)
        gap = False
    if gap:
        drop_blanks()


def _opens(scanned: Scanned, start: int, end: int) -> bool:
    """Return whether no blank line belongs below this line: it is blank, a heading or opens a bracket."""
    code = scanned.code[start:end]
    opened = sum(map(code.count, _OPEN)) > sum(map(code.count, _CLOSE))
    return opened or not scanned.bare[start:end].strip()
