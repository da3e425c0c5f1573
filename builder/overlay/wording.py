"""Replaces a phrase of a string literal in its source; other pieces of the literal stay as they are."""

from __future__ import annotations

import ast
import io
import tokenize
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Piece:
    """One literal of several that stand side by side: its source, from `start` to `end`, and its value."""

    start: int
    end: int
    source: str
    value: str


def reworded(source: str, old: str, new: str) -> str | None:
    """The source of a string literal with `new` in the place of `old`; None if its value does not hold
    `old` exactly once, or it is more than plain literals."""
    pieces = _pieces(source)
    whole = "".join(p.value for p in pieces)
    if whole.count(old) != 1:
        return None
    low = whole.index(old)
    high, at, out, last = low + len(old), 0, "", 0
    kept: list[str] = []
    for piece in pieces:
        begin, stop = at, at + len(piece.value)
        at = stop
        text = piece.source
        if begin < high and stop > low:
            cut = (max(low, begin) - begin, min(high, stop) - begin)
            put = new if begin <= low < stop else ""
            value = piece.value[: cut[0]] + put + piece.value[cut[1] :]
            if not value and len(pieces) > 1:
                last = piece.end
                continue
            text = _written(piece, piece.value[cut[0] : cut[1]], put, value)
        between = source[last : piece.start] if kept else ""
        kept.append(text)
        out += between + text
        last = piece.end
    return out


def _pieces(source: str) -> list[_Piece]:
    """The literals of an implicit concatenation; empty for anything else."""
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    pieces: list[_Piece] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(f"(\n{source}\n)").readline):
            if token.type == tokenize.STRING:
                begin = starts[token.start[0] - 2] + token.start[1]
                end = starts[token.end[0] - 2] + token.end[1]
                value = ast.literal_eval(token.string)
                if not isinstance(value, str):
                    return []
                pieces.append(_Piece(begin, end, token.string, value))
            elif token.type in (tokenize.NAME, tokenize.NUMBER):
                return []
    except (tokenize.TokenError, SyntaxError, ValueError, IndexError):
        return []
    return pieces


def _written(piece: _Piece, old: str, new: str, value: str) -> str:
    """The source of a piece with another value: with the same spelling if the phrase is spelt as it reads."""
    if piece.source.count(old) == 1:
        text = piece.source.replace(old, new)
        try:
            if ast.literal_eval(text) == value:
                return text
        except (SyntaxError, ValueError):
            pass
    quote = piece.source[-1]
    body = value.encode("unicode_escape").decode("ascii").replace(quote, "\\" + quote)
    return f"{quote}{body}{quote}"
