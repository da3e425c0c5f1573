"""A text as spans of another one, and in full what the other one lacks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from builder.memo import remembered
from builder.source.textdiff import Run, equal_lines, runs, split

#: A piece of the new text: where it begins in the old one and how long it is, or the text itself.
Piece = tuple[int, int] | bytes

_TOKEN = re.compile(rb"\w+|[^\S\n]+|\n|[^\w\s]")


@remembered
def delta(old: bytes, new: bytes) -> list[Piece]:
    """The pieces that make `new` of `old`. A word that `old` has is a span, wherever it stands there."""
    pieces: list[Piece] = []
    for piece in _pieces(old, new):
        last = pieces[-1] if pieces else None
        if isinstance(piece, bytes) and isinstance(last, bytes):
            pieces[-1] = last + piece
        elif isinstance(piece, tuple) and isinstance(last, tuple) and sum(last) == piece[0]:
            pieces[-1] = (last[0], last[1] + piece[1])
        else:
            pieces.append(piece)
    return pieces


def applied(old: bytes, pieces: Sequence[Piece]) -> bytes:
    """The text that these pieces make of `old`. Raises ValueError for a span that `old` has not."""
    parts: list[bytes] = []
    for piece in pieces:
        if isinstance(piece, bytes):
            parts.append(piece)
            continue
        start, length = piece
        if not 0 <= start <= start + length <= len(old):
            raise ValueError(f"the text has no bytes {start} to {start + length}")
        parts.append(old[start : start + length])
    return b"".join(parts)


def _pieces(old: bytes, new: bytes) -> Iterator[Piece]:
    """Equal lines as spans; what lies between them by words."""
    for span, text, around in _compared(new, split(old), split(new), equal_lines(old, new), 0):
        if around is not None:
            left, right = _tokens(old[around[0] : sum(around)]), _tokens(text)
            for inner, word, _ in _compared(text, left, right, runs(left, right), around[0]):
                yield from _elsewhere(old, word)
                yield from [inner] if inner[1] else []
        yield from [span] if span[1] else []


def _compared(
    new: bytes, left: Sequence[bytes], right: Sequence[bytes], equal: Iterable[Run], offset: int
) -> Iterator[tuple[tuple[int, int], bytes, tuple[int, int] | None]]:
    """For each run of equal parts its span, the new text before it, and the span that this text replaced.

    `left` and `right` are the parts of the old and of the new text. `offset`: where the old one begins in the
    whole text.
    """
    starts, ends = _starts(left), _starts(right)
    at, done = 0, 0
    for run in equal:
        start, end = starts[run.left], starts[run.left + run.length]
        text = new[done : ends[run.right]]
        yield (offset + start, end - start), text, (offset + at, start - at) if text else None
        at, done = end, ends[run.right + run.length]


def _starts(parts: Sequence[bytes]) -> list[int]:
    starts = [0]
    for part in parts:
        starts.append(starts[-1] + len(part))
    return starts


def _tokens(text: bytes) -> list[bytes]:
    return _TOKEN.findall(text)


def _elsewhere(old: bytes, text: bytes) -> Iterator[Piece]:
    """The text as spans of `old` where it has the words, each as far as it goes on there."""
    tokens, at = _tokens(text), 0
    while at < len(tokens):
        longest, start = 0, -1
        found = old.find(tokens[at]) if tokens[at].strip() else -1
        while found >= 0:
            end, taken = found, at
            while taken < len(tokens) and old.startswith(tokens[taken], end):
                end += len(tokens[taken])
                taken += 1
            if taken - at > longest:
                longest, start = taken - at, found
            found = old.find(tokens[at], found + 1) if longest < len(tokens) - at else -1
        piece = b"".join(tokens[at : at + max(longest, 1)])
        # a span of a few bytes is longer than they are
        yield (start, len(piece)) if start >= 0 and len(piece) > 3 else piece
        at += max(longest, 1)
