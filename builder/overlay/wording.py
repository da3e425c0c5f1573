"""Replaces a phrase of a string literal in its source; other pieces of the literal stay as they are."""

from __future__ import annotations

import ast
import io
import tokenize
from contextlib import suppress
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
    whole = "".join(piece.value for piece in pieces)
    if whole.count(old) != 1:
        return None
    low = whole.index(old)
    high = low + len(old)
    out, last, end = "", 0, 0
    for piece in pieces:
        begin, end = end, end + len(piece.value)
        text = piece.source
        if begin < high and end > low:
            phrase = slice(max(low - begin, 0), high - begin)
            by = new if begin <= low else ""
            value = piece.value[: phrase.start] + by + piece.value[phrase.stop :]
            text = _written(piece, piece.value[phrase], by, value) if value or len(pieces) == 1 else ""
        if text:
            out += (source[last : piece.start] if out else "") + text
        last = piece.end
    return out


def _pieces(source: str) -> list[_Piece]:
    """The literals of an implicit concatenation; empty for anything else."""
    lines = source.splitlines(keepends=True)

    def offset(position: tuple[int, int]) -> int:
        row, column = position
        return sum(map(len, lines[: row - 2])) + column

    pieces: list[_Piece] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(f"(\n{source}\n)").readline):
            if token.type in (tokenize.NAME, tokenize.NUMBER):
                return []
            if token.type == tokenize.STRING:
                value = ast.literal_eval(token.string)
                if not isinstance(value, str):
                    return []
                pieces.append(_Piece(offset(token.start), offset(token.end), token.string, value))
    except (tokenize.TokenError, SyntaxError, ValueError):
        return []
    return pieces


def _written(piece: _Piece, old: str, new: str, value: str) -> str:
    """The source of a piece with another value: with the same spelling if the phrase is spelt as it reads."""
    if piece.source.count(old) == 1:
        text = piece.source.replace(old, new)
        with suppress(SyntaxError, ValueError):
            if ast.literal_eval(text) == value:
                return text
    quote = piece.source[-1]
    body = value.encode("unicode_escape").decode("ascii").replace(quote, "\\" + quote)
    return f"{quote}{body}{quote}"
