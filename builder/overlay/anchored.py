"""Text edits of CMake and C++ that are found by syntax, never by line number."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from builder.errors import Problem
from builder.manifest.statements import AnchoredEdit
from builder.native import cmake, cpp
from builder.native.text import Arm, Conditional, Scanned, TextEdit, apply, decode, encode, wide
from builder.overlay.record import Edited, Journal, require_count

#: Kind of edit -> the languages whose syntax it needs.
_LANGUAGES = {
    "command": ("CMake",), "argument": ("CMake",), "statement": ("C++",), "block": ("CMake", "C++"),
}  # fmt: skip
_INDENTED = re.compile(r"^[ \t]*(?=\S)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Match:
    """One place that an edit matched, and the cuts that carry it out."""

    start: int
    end: int
    cuts: tuple[TextEdit, ...]


def edit(path: str, data: bytes, edits: Sequence[AnchoredEdit]) -> Edited:
    """Carry out the edits of one file, in order; an edit with a problem changes nothing."""
    journal = Journal(path)
    text = decode(data)
    for item in edits:
        if message := _misfit(path, item):
            journal.problems.append(Problem("M011", message, item.mark))
            continue
        with journal.attempt(item):
            scanned, matches = _matches(path, text, item)
            lines = [scanned.line(match.start) for match in matches]
            shown = " ".join(item.anchor.split())
            shown = f"`{item.kind}: {shown if len(shown) <= 60 else shown[:57] + '...'}`"
            require_count(path, item, lines, shown, partial(_elsewhere, path, scanned, item))
            for match, line in zip(matches, lines, strict=True):
                journal.note(item, item.kind, line, encode(text[match.start : match.end]), item.by)
            text = apply(scanned, [cut for match in matches for cut in match.cuts])
    return Edited(encode(text), journal.problems, journal.records)


def _misfit(path: str, item: AnchoredEdit) -> str | None:
    """What is wrong with an edit for any content of the file."""
    if not item.anchor.strip():
        return "The anchor is empty."
    language = "CMake" if cmake.is_cmake(path) else "C++" if path.endswith(cpp.SUFFIXES) else "neither"
    if language not in (edited := _LANGUAGES.get(item.kind, (language,))):
        other = f"not {edited[0]}" if len(edited) == 1 else "neither"
        return f"`{item.kind}` edits {' or '.join(edited)}, and {path} is {other}."
    return None


def _matches(path: str, text: str, item: AnchoredEdit) -> tuple[Scanned, list[_Match]]:
    anchor = wide(item.anchor)
    listing = cmake.scan(text) if cmake.is_cmake(path) else None
    scanned = listing.scanned if listing else cpp.scan(text)
    if item.kind == "replace":
        return scanned, _replacements(text, anchor, wide(item.by or ""))
    if item.kind == "statement":
        spans = (cpp.statement(scanned, start) for start, _ in cpp.find(scanned, anchor))
        return scanned, [_whole(span) for span in spans if span]
    if listing is None:
        return scanned, [*_cpp_blocks(scanned, anchor)]
    if item.kind == "command":
        wanted = cmake.tokens(anchor)
        commands = [(c.start, c.end) for c in listing.commands if cmake.begins(c.stream, wanted)]
        return scanned, [_whole(span) for span in commands]
    if item.kind == "argument":
        values = {anchor, anchor[1:-1] if re.fullmatch(r'"(?:\\.|[^"\\])*"', anchor, re.DOTALL) else anchor}
        tokens = [a for c in listing.commands for a in c.arguments if a.text == anchor or a.value in values]
        return scanned, [_whole((t.start, t.end)) for t in tokens if t.text not in "()"]
    return scanned, [*_cmake_blocks(listing, anchor)]


def _whole(span: tuple[int, int]) -> _Match:
    return _Match(*span, (TextEdit(*span),))


def _replacements(text: str, anchor: str, by: str) -> list[_Match]:
    """The exact text, comments and strings included; a manifest's newline stands for the file's."""
    if "\r\n" in text:
        anchor, by = anchor.replace("\n", "\r\n"), by.replace("\n", "\r\n")
    spans = [m.span() for m in re.finditer(re.escape(anchor), text)]
    return [_Match(start, end, (TextEdit(start, end, by),)) for start, end in spans]


def _cmake_blocks(listing: cmake.Listing, anchor: str) -> Iterator[_Match]:
    """An anchor that begins with `if(` is compared from there on into the body; any other with
    the whole condition of an if or elseif."""
    wanted = cmake.tokens(anchor)
    prefixed = len(wanted) > 1 and wanted[0][0].lower() in ("if", "elseif") and wanted[1][0] == "("
    for block in listing.blocks():
        for index, arm in enumerate(block.arms):
            head, *_ = commands = [c for c in listing.commands if arm.start <= c.start and c.end <= arm.end]
            if prefixed:
                same = cmake.begins(tuple(word for c in commands for word in c.stream), wanted)
            else:
                same = [a.value for a in head.arguments] == [value for value, _ in wanted]
            if same and arm.keyword != "else":
                yield _arm(listing.scanned, block, index, dedent=True)


def _cpp_blocks(scanned: Scanned, anchor: str) -> Iterator[_Match]:
    wanted = cpp.normal(anchor)
    for block in cpp.blocks(scanned):
        for index, arm in enumerate(block.arms):
            line = f"{arm.keyword} {arm.condition}"
            same = wanted in (line, f"#{line}") or (arm.keyword != "ifndef" and wanted == arm.condition)
            if same and arm.keyword != "else":
                yield _arm(scanned, block, index)


def _arm(scanned: Scanned, block: Conditional, index: int, dedent: bool = False) -> _Match:
    """Removes an arm that is never taken; the following arms take its place."""
    arm, after = block.arms[index], block.arms[index + 1 : index + 2]
    if index > 0:
        return _whole((arm.start, arm.end))
    if not after:
        return _whole((arm.start, block.end))
    other = after[0]
    if other.keyword != "else":  # it becomes an `if`
        word = scanned.text.lower().index(other.keyword, other.start)
        shorter = TextEdit(word, word + len(other.keyword) - len("if"))
        return _Match(arm.start, other.start, (TextEdit(arm.start, other.start), shorter))
    cuts = [TextEdit(arm.start, other.body), TextEdit(block.last, block.end)]
    cuts += _dedented(scanned, arm.start, other) if dedent else ()
    return _Match(arm.start, block.end, tuple(cuts))


def _dedented(scanned: Scanned, head: int, arm: Arm) -> list[TextEdit]:
    """Cuts that move a body to the column of its if(); lines inside a string stay as they are."""
    margin = head - scanned.text.rfind("\n", 0, head) - 1
    spaces = [
        line.span()
        for line in _INDENTED.finditer(scanned.text, arm.body, arm.end)
        if scanned.code[: line.start()].count('"') % 2 == 0
    ]
    step = min((end - start for start, end in spaces), default=0) - margin
    return [TextEdit(start, start + step) for start, _ in spaces if step > 0]


def _elsewhere(path: str, scanned: Scanned, item: AnchoredEdit) -> str | None:
    """A hint with the place where the anchor occurs as text but not as this kind of syntax."""
    at = scanned.text.find(wide(item.anchor))
    if at < 0:
        return None
    return f"The text occurs at {path}:{scanned.line(at)}, but not as a {item.kind}."
