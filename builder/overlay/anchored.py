"""Text edits of CMake and C++ that are found by syntax, never by line number."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from builder.errors import Mark, Problem
from builder.manifest.statements import AnchoredEdit
from builder.native import cmake, cpp
from builder.native.text import Scanned, TextEdit, apply, decode, encode, wide
from builder.overlay.record import Record, digest

_SHOWN = 5  # places listed in a message


@dataclass(frozen=True, slots=True)
class _Match:
    """One place that an edit matched, and the cuts that carry it out."""

    start: int
    end: int
    cuts: tuple[TextEdit, ...]


def edit(path: str, data: bytes, edits: Sequence[AnchoredEdit]) -> tuple[bytes, list[Problem], list[Record]]:
    """Carry out the edits of one file, in order; an edit with a problem changes nothing."""
    problems: list[Problem] = []
    records: list[Record] = []
    text = decode(data)
    for item in edits:
        wrong = _misfit(path, item)
        if wrong:
            problems.append(wrong)
            continue
        scanned, matches = _matches(path, text, item)
        if len(matches) != (item.count or max(len(matches), 1)):
            if matches or not item.optional:
                problems.append(_miscounted(path, scanned, item, matches))
            continue
        for match in matches:
            after = None if item.by is None else digest(item.by)
            before = digest(encode(text[match.start : match.end]))
            line = scanned.line(match.start)
            records.append(Record(item.mark, item.batch, item.why, item.kind, path, line, before, after))
        text = apply(scanned, [cut for match in matches for cut in match.cuts])
    return encode(text), problems, records


def _misfit(path: str, item: AnchoredEdit) -> Problem | None:
    """The problem of an edit that is wrong for any content of the file."""
    message = None
    if not item.anchor.strip():
        message = "The anchor is empty."
    elif item.kind in ("command", "argument") and not cmake.is_cmake(path):
        message = f"`{item.kind}` edits CMake, and {path} is not CMake."
    elif item.kind == "statement" and not path.endswith(cpp.SUFFIXES):
        message = f"`statement` edits C++, and {path} is not C++."
    elif item.kind == "block" and not (cmake.is_cmake(path) or path.endswith(cpp.SUFFIXES)):
        message = f"`block` edits CMake or C++, and {path} is neither."
    elif (item.kind == "replace") != (item.by is not None):
        message = "`replace` needs `by`, and no other kind takes it."
    return Problem("M011", message, item.mark) if message else None


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
        return scanned, _cpp_blocks(scanned, anchor)
    if item.kind == "command":
        wanted = cmake.tokens(anchor)
        commands = [(c.start, c.end) for c in listing.commands if cmake.begins(c.stream, wanted)]
        return scanned, [_whole(span) for span in commands]
    if item.kind == "argument":
        values = {anchor, anchor[1:-1] if re.fullmatch(r'"(?:\\.|[^"\\])*"', anchor, re.DOTALL) else anchor}
        tokens = [a for c in listing.commands for a in c.arguments if a.text == anchor or a.value in values]
        return scanned, [_whole((t.start, t.end)) for t in tokens if t.text not in "()"]
    return scanned, _cmake_blocks(listing, anchor)


def _whole(span: tuple[int, int]) -> _Match:
    return _Match(*span, (TextEdit(*span),))


def _replacements(text: str, anchor: str, by: str) -> list[_Match]:
    """The exact text, comments and strings included; a manifest's newline stands for the file's."""
    if "\r\n" in text:
        anchor, by = anchor.replace("\n", "\r\n"), by.replace("\n", "\r\n")
    spans = [m.span() for m in re.finditer(re.escape(anchor), text)]
    return [_Match(start, end, (TextEdit(start, end, by),)) for start, end in spans]


def _cmake_blocks(listing: cmake.Listing, anchor: str) -> list[_Match]:
    """An anchor that begins with `if(` is compared from there on into the body; any other with
    the whole condition of an if or elseif."""
    wanted = cmake.tokens(anchor)
    prefixed = len(wanted) > 1 and wanted[0][0].lower() in ("if", "elseif") and wanted[1][0] == "("
    matches = []
    for block in listing.blocks():
        ends = [*(h.start for h in block.heads[1:]), block.last.start]
        for index, head in enumerate(block.heads):
            if head.name == "else":
                continue
            if prefixed:
                stream = list(head.stream)
                for command in listing.within(head.end, ends[index]):
                    stream.extend(command.stream)
                hit = cmake.begins(tuple(stream), wanted)
            else:
                hit = [a.value for a in head.arguments] == [value for value, _ in wanted]
            if hit:
                matches.append(_cmake_arm(listing.scanned, block, index))
    return matches


def _cmake_arm(scanned: Scanned, block: cmake.Block, index: int) -> _Match:
    """Removes an arm that is never taken; the following arms take its place."""
    head, after = block.heads[index], block.heads[index + 1 : index + 2]
    stop = after[0].start if after else block.last.start
    if index > 0:
        return _Match(head.start, stop, (TextEdit(head.start, stop),))
    if not after:
        return _whole((head.start, block.last.end))
    if after[0].name == "elseif":
        return _Match(head.start, stop, (TextEdit(head.start, stop + len("else")),))
    other = after[0]
    cuts = [TextEdit(head.start, other.end), TextEdit(block.last.start, block.last.end)]
    cuts += _dedent(scanned, head.start, other.end, block.last.start)
    return _Match(head.start, block.last.end, tuple(cuts))


def _dedent(scanned: Scanned, head: int, start: int, end: int) -> list[TextEdit]:
    """Cuts that move a body to the column of its if(); lines inside a string stay as they are."""
    text = scanned.text
    margin = len(text[text.rfind("\n", 0, head) + 1 : head])
    lines, at = [], text.find("\n", start) + 1
    while 0 < at < end:
        content = re.compile(r"[ \t]*").match(text, at)
        width = content.end() - at if content else 0
        if text[at + width : at + width + 1] not in ("", "\n", "\r") and at + width < end:
            lines.append((at, width))
        at = text.find("\n", at) + 1
    lines = [(at, width) for at, width in lines if scanned.code[:at].count('"') % 2 == 0]
    step = max(0, min((width for _, width in lines), default=0) - margin)
    return [TextEdit(at, at + step) for at, _ in lines if step]


def _cpp_blocks(scanned: Scanned, anchor: str) -> list[_Match]:
    wanted = cpp.normal(anchor)
    cuts = []
    for block in cpp.conditionals(scanned):
        for index, arm in enumerate(block.arms):
            line = f"{arm.keyword} {arm.condition}"
            same = wanted in (line, f"#{line}") or (arm.keyword != "ifndef" and wanted == arm.condition)
            if arm.keyword == "else" or not same:
                continue
            cuts.append(_cpp_arm(scanned, block, index))
    return cuts


def _cpp_arm(scanned: Scanned, block: cpp.Conditional, index: int) -> _Match:
    arm, after = block.arms[index], block.arms[index + 1 : index + 2]
    if index > 0:
        return _Match(arm.start, arm.end, (TextEdit(arm.start, arm.end),))
    if not after:
        return _whole((arm.start, block.end))
    other = after[0]
    if other.keyword == "elif":
        sharp = scanned.text.index("elif", other.start)
        return _Match(
            arm.start, other.start, (TextEdit(arm.start, other.start), TextEdit(sharp, sharp + len("el")))
        )
    last = scanned.text.rfind("#", other.body, block.end)
    cuts = (TextEdit(arm.start, max(arm.start, other.body - 1)), TextEdit(last, block.end))
    return _Match(arm.start, block.end, cuts)


def _miscounted(path: str, scanned: Scanned, item: AnchoredEdit, matches: Sequence[_Match]) -> Problem:
    places = [f"{path}:{scanned.line(m.start)}" for m in matches]
    where = f": {', '.join(places[:_SHOWN])}{', ...' if len(places) > _SHOWN else ''}" if places else ""
    shown = " ".join(item.anchor.split())
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    message = f"`{item.kind}: {shown}` states {item.count or 'all'} and matches {len(matches)}{where}."
    hint = None
    if not matches:
        hint = _elsewhere(path, scanned, item)
    line = scanned.line(matches[0].start) if matches else 0
    return Problem("R004", message, item.mark, Mark(path, line), hint=hint, nothing=not matches)


def _elsewhere(path: str, scanned: Scanned, item: AnchoredEdit) -> str | None:
    """A hint with the place where the anchor occurs as text but not as this kind of syntax."""
    at = scanned.text.find(wide(item.anchor))
    if at < 0:
        return None
    return f"The text occurs at {path}:{scanned.line(at)}, but not as a {item.kind}."
