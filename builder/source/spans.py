"""Edits of bytes: spans with the text that takes their place, applied in one pass."""

from __future__ import annotations

import re
from collections.abc import Iterable

_MARGIN = re.compile(rb"[ \t\f]*")
_WORD = re.compile(rb"[A-Za-z_0-9\x80-\xff]")
#: Start, end and new text; DEDENT as text takes the span off a line's indentation.
Span = tuple[int, int, bytes]
DEDENT = b"\0dedent"


def apply_spans(data: bytes, spans: Iterable[Span]) -> bytes:
    """Apply spans in one pass. An outer span swallows inner ones; overlapping deletions join.

    Two words between which everything leaves stay two words. Raises ValueError when two texts claim the
    same place.
    """
    dedents: dict[tuple[int, int], int] = {}
    edits: list[Span] = []
    for start, end, text in spans:
        if text == DEDENT:
            key = (start, 0)
            dedents[key] = dedents.get(key, 0) + end - start
        else:
            edits.append((start, end, text))
    for (start, _), amount in dedents.items():
        # a continuation may be indented by less than what its statement moves, suite by suite
        blank = _MARGIN.match(data, start)
        edits.append((start, min(start + amount, blank.end() if blank else start), b""))
    edits.sort(key=lambda s: (s[0], s[0] != s[1], -s[1], s[2] != b""))  # insertions first, outer before inner
    out: list[bytes] = []
    last = b""

    def put(text: bytes) -> None:
        nonlocal last
        if text:
            if _WORD.match(last) and _WORD.match(text):
                out.append(b" ")
            out.append(text)
            last = text[-1:]

    at = 0
    for start, end, text in edits:
        if end <= at and not (start == end == at and text):
            continue
        if start < at:
            if text:
                raise ValueError(f"two edits claim the bytes {start} to {end}")
            start = at
        put(data[at:start])
        put(text)
        at = end
    put(data[at:])
    return b"".join(out)
