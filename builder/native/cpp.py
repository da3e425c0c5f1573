"""C++ and CUDA text, scanned without a grammar: comments, strings, statements, preprocessor arms.

A grammar fails on most CUDA files (launch syntax, macros); brackets, strings and semicolons do not.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from builder.native.text import Comment, Conditional, Scanned, blank, conditionals

SUFFIXES = (".c", ".cc", ".cpp", ".cxx", ".cu", ".cuh", ".h", ".hpp", ".hip", ".inl")

_LEXEME = re.compile(
    r"""(?P<line>//(?:\\\r?\n|[^\n])*)
      | (?P<block>/\*.*?(?:\*/|\Z))
      | (?P<raw>\b(?:u8|u|U|L)?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)")
      | (?P<string>"(?:\\.|[^"\\\n])*")
      | (?P<char>'(?:\\.|[^'\\\n])+')
      | (?P<number>\b[0-9](?:'?[\w.])*)""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w*)((?:\\\r?\n|[^\n])*)", re.MULTILINE)
_TOKEN = re.compile(r"\w+|\"(?:\\.|[^\"\\])*\"?|'(?:\\.|[^'\\])*'?|[^\w\s]", re.ASCII | re.DOTALL)
_LABEL = re.compile(r"(?:\b(?:public|private|protected|default)|\bcase\b[^;{}?]*)\s*:\Z", re.ASCII)
_MARK = re.compile(r"[][(){};]")


@lru_cache(maxsize=256)
def scan(text: str) -> Scanned:
    """The text with its masks. Text that is not C++ gives some mask, never an error."""
    comments, strings = [], []
    for match in _LEXEME.finditer(text):
        start, end = match.span()
        if match["line"] is not None:
            comments.append(Comment(start, end))
        elif match["block"] is not None:
            body = match["block"]
            comments.append(Comment(start, end, heading="\n" in body and not body.startswith("/**")))
        elif match["number"] is None:
            strings.append((text.index(match.group()[-1], start) + 1, end - 1))
    bare = blank(text, ((c.start, c.end) for c in comments))
    return Scanned(text, bare, blank(bare, strings), tuple(comments))


def directives(scanned: Scanned) -> list[re.Match[str]]:
    """Preprocessor lines, continuations joined; group 1 is the keyword, group 2 the rest."""
    return list(_DIRECTIVE.finditer(scanned.bare))


@lru_cache(maxsize=512)
def plain(text: str) -> str:
    """`code` of the text, with blanks also for preprocessor lines, and for the later arms of a conditional
    that leave a brace open or closed: the first arm stands for them."""
    scanned = scan(text)
    code = blank(scanned.code, (m.span() for m in directives(scanned)))
    for block in blocks(scanned):
        for arm in block.arms[1:]:
            inside = code[arm.body : arm.end]
            if inside.count("{") != inside.count("}"):
                code = blank(code, [(arm.body, arm.end)])
    return code


def blocks(scanned: Scanned) -> list[Conditional]:
    """Every complete #if ... #endif, inner ones included, ordered by their start."""
    return conditionals((m[1], normal(m[2]), *m.span()) for m in directives(scanned))


def normal(text: str) -> str:
    """A condition with its whitespace made uniform."""
    return " ".join(re.sub(r"\\\r?\n", " ", text).split())


def pattern(anchor: str) -> re.Pattern[str]:
    """An anchor as a pattern over `bare` text: whitespace between tokens is free, words are whole."""
    tokens = _TOKEN.findall(anchor.strip())
    if not tokens:
        raise ValueError("an empty anchor")
    parts = [re.escape(tokens[0])]
    for left, right in pairwise(tokens):
        words = re.match(r"\w", left[-1]) and re.match(r"\w", right[0])
        parts.append((r"\s+" if words else r"\s*") + re.escape(right))
    before = r"\b" if re.match(r"\w", tokens[0], re.ASCII) else ""
    after = r"\b" if re.match(r"\w+\Z", tokens[-1], re.ASCII) else ""
    return re.compile(before + "".join(parts) + after, re.ASCII)


def find(scanned: Scanned, anchor: str) -> list[tuple[int, int]]:
    """Where the anchor begins in code: never in a comment, never inside a string."""
    spans = (m.span() for m in pattern(anchor).finditer(scanned.bare))
    return [(start, end) for start, end in spans if not scanned.code[start].isspace()]


def statement(scanned: Scanned, start: int) -> tuple[int, int] | None:
    """The span of the statement that begins at an offset, or None when none begins there."""
    code = plain(scanned.text)
    before = code[:start].rstrip()
    if before and before[-1] not in ";{}" and not _LABEL.search(before[-200:]):
        return None
    end = statement_end(code, start)
    return None if end is None else (start, end)


def statement_end(code: str, start: int) -> int | None:
    """After the `;` that ends a statement, or after the `}` of a definition; None if it never ends."""
    depth = 0
    for mark in _MARK.finditer(code, start):
        char = mark.group()
        if char in "([{":
            depth += 1
        elif char == ";":
            if depth == 0:
                return mark.end()
        else:
            depth -= 1
            if depth < 0:
                return None
            if depth == 0 and char == "}" and _ends_here(code, start, mark.start()):
                return mark.end()
    return None


def _ends_here(code: str, start: int, brace: int) -> bool:
    rest = code[brace + 1 :].lstrip()
    if rest[:1] in tuple(";,().=[?:+-*/<>|&"):
        return False
    if re.match(r"(?:else|catch|while)\b", rest) and re.match(r"\s*(?:if|try|do)\b", code[start:]):
        return False
    return not re.match(
        r"\s*(?:typedef|struct|class|union|enum)\b[^()]*\Z", code[start : code.index("{", start)]
    )
