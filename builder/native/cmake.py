"""CMake text: commands, arguments and if() blocks, with their offsets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from builder.native.text import Comment, Conditional, Scanned, blank, conditionals

_LEXEME = re.compile(
    r"""(?P<comment>\#\[(?P<a>=*)\[.*?\](?P=a)\]|\#[^\n]*)
      | (?P<bracket>\[(?P<b>=*)\[.*?\](?P=b)\])
      | (?P<paren>[()])
      | (?P<quoted>"(?:\\.|[^"\\])*(?:"(?=[\s()\#]|\Z)|\Z))
      | (?P<word>(?:[^\s()\#"\\]|\\.|"(?:\\.|[^"\\])*")+)
      | (?P<other>[^\s])""",
    re.VERBOSE | re.DOTALL,
)


def is_cmake(path: str) -> bool:
    name = path.rsplit("/", 1)[-1]
    return name == "CMakeLists.txt" or name.endswith(".cmake")


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a quoted string or a parenthesis; `value` has no quotes."""

    start: int
    end: int
    text: str
    value: str


@dataclass(frozen=True, slots=True)
class Command:
    """`name(arguments)`; nested parentheses are arguments of their own."""

    name: str  # lower case
    start: int
    end: int
    arguments: tuple[Token, ...]

    @property
    def stream(self) -> tuple[str, ...]:
        return (self.name, "(", *(a.value for a in self.arguments), ")")


@dataclass(frozen=True, slots=True)
class Listing:
    """A CMake file: the text and its commands in order."""

    scanned: Scanned
    commands: tuple[Command, ...]

    def blocks(self) -> list[Conditional]:
        """Every complete if() block, inner ones included, ordered by their start."""
        return conditionals((c.name, "", c.start, c.end) for c in self.commands)


@lru_cache(maxsize=64)
def scan(text: str) -> Listing:
    """Read a CMake file. What is not a command is skipped, never an error."""
    comments, inner, tokens = [], [], []
    for match in _LEXEME.finditer(text):
        start, end = match.span()
        if match["comment"] is not None:
            comments.append(Comment(start, end))
            continue
        tokens.append(Token(start, end, match.group(), _value(match)))
        if match["quoted"] is not None:
            inner.append((start + 1, max(start + 1, end - 1)))
        elif match["bracket"] is not None:
            inner.append((start + 1, end - 1))
    bare = blank(text, ((c.start, c.end) for c in comments))
    return Listing(Scanned(text, bare, blank(bare, inner), tuple(comments)), tuple(_commands(tokens)))


def tokens(anchor: str) -> list[tuple[str, bool]]:
    """The tokens of an anchor: value, and whether it is only the beginning of a quoted string."""
    out = []
    for match in _LEXEME.finditer(anchor):
        if match["comment"] is None:
            raw = match.group()
            torn = raw[0] == '"' and (len(raw) == 1 or raw[-1] != '"')
            out.append((raw[1:] if torn else _value(match), torn))
    return out


def begins(stream: tuple[str, ...], anchor: list[tuple[str, bool]]) -> bool:
    """Return whether a stream of tokens begins with an anchor; the command's name in any case."""
    if not anchor or len(anchor) > len(stream):
        return False
    first, *rest = zip(stream, anchor, strict=False)
    if first[0] != first[1][0].lower():
        return False
    return all(have.startswith(want) if torn else have == want for have, (want, torn) in rest)


def _value(match: re.Match[str]) -> str:
    raw = match.group()
    if match["quoted"] is not None:
        return raw[1:-1] if len(raw) > 1 and raw[-1] == '"' else raw[1:]
    if match["bracket"] is not None:
        width = len(match["b"]) + 2
        return raw[width:-width]
    return raw


def _commands(tokens: list[Token]) -> Iterator[Command]:
    at = 0
    while at + 1 < len(tokens):
        name = tokens[at]
        at += 1
        if not re.fullmatch(r"[A-Za-z_]\w*", name.text, re.ASCII) or tokens[at].text != "(":
            continue
        depth = 0
        for end in range(at, len(tokens)):
            depth += {"(": 1, ")": -1}.get(tokens[end].text, 0)
            if depth == 0:
                yield Command(name.text.lower(), name.start, tokens[end].end, tuple(tokens[at + 1 : end]))
                break
        at = end + 1
