"""What left a Python file between two versions of it, in blocks: read off the text, not parsed.

This serves explanations and decides nothing, so that it may be simple: a block is a line that left with
the deeper lines below it that left too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from builder.source.textdiff import runs, split
from builder.specialize.text_index.outline import imports

_TOKEN = re.compile(
    rb"#[^\n]*|[bBrRuUfF]{0,2}(?:(\"\"\"|''')(?:.|\n)*?\1|\"((?:\\.|[^\"\\\n])*)\"|'((?:\\.|[^'\\\n])*)')"
    rb"|([A-Za-z_]\w*)"
)
_DEFINES = re.compile(
    rb"\s*(?:(?:async\s+)?def|class)\s+([A-Za-z_]\w*)|\s*([A-Za-z_]\w*)\s*(?::[^=\n]+)?=[^=]"
)
_DECORATORS = re.compile(rb"\A(?:[ \t]*@(?:[^\n(]*\n|[^\n(]*\((?:[^()]|\([^()]*\))*\)[^\n]*\n))+")
#: one line of a list of names: of an import, of `__all__`, of arguments
_LISTED = re.compile(rb"\s*([A-Za-z_]\w*)(?:\s+as\s+([A-Za-z_]\w*))?,?\s*(?:#.*)?\n?")
_OPENED = re.compile(rb"\s*from\s+([\w.]+)\s+import\s*\(")
_ARM = re.compile(rb"\s*(?:else|finally|except\b[^\n]*)\s*:")
#: lines that begin no statement: what closes a bracket, comments, the end of a docstring
_CONTINUES = (b")", b"]", b"}", b"#", b'"""')


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that left together. Tokens are identifiers, and strings with a `"` before them."""

    line: int  # in the older version, from 1
    lines: int
    indent: int
    head: tuple[str, ...]  # tokens of its first statement that left, in order
    body: tuple[str, ...]  # all tokens of it that left
    defines: tuple[str, ...] = ()
    imports: tuple[tuple[str, tuple[str, ...]], ...] = ()  # as `outline.imports` gives them
    definition: bool = False  # of a function or a class: what it holds is not why it left
    arm: bool = False  # `else` and its like: it left for what stands above it


def removed_blocks(before: bytes, after: bytes) -> tuple[Block, ...]:
    """The blocks that left, in order; lines that only moved to another column stayed."""
    old, new = split(before), split(after)
    found: list[Block] = []
    i = j = 0
    for run in runs([line.strip() for line in old], [line.strip() for line in new]):
        if run.left > i:
            stay = Counter(token for token, _ in _tokens(b"".join(new[j : run.right])))
            found += (_of_import(block, old) for block in _blocks(old[i : run.left], i + 1, stay))
        i, j = run.left + run.length, run.right + run.length
    return tuple(found)


def _blocks(lines: Sequence[bytes], first: int, stay: Counter[str]) -> Iterator[Block]:
    heads: list[tuple[int, int]] = []  # (start, indent)
    decorated = False
    for number, line in enumerate(lines):
        text = line.strip()
        if not text or text.startswith(_CONTINUES):
            continue
        indent = len(line) - len(line.lstrip())
        if not heads or indent < heads[-1][1] or (indent == heads[-1][1] and not decorated):
            heads.append((number, indent))
        if indent == heads[-1][1]:
            decorated = text.startswith(b"@")
    for index, (start, indent) in enumerate(heads):
        end = heads[index + 1][0] if index + 1 < len(heads) else len(lines)
        yield _block(b"".join(lines[start:end]), first + start, end - start, indent, stay)


def _block(text: bytes, line: int, count: int, indent: int, stay: Counter[str]) -> Block:
    left: list[tuple[str, int]] = []
    for token, at in _tokens(text):
        if stay[token]:
            stay[token] -= 1
        else:
            left.append((token, at))
    size = _statement(text)
    defined = _DEFINES.match(_DECORATORS.sub(b"", text))
    names = tuple(group.decode() for group in (defined.groups() if defined else ()) if group)
    brought = tuple((written, words) for _, written, words in imports(text[:size]))
    names += tuple(
        n for written, words in brought for n in words or (written.partition(".")[0],) if n != "as"
    )
    return Block(
        line=line,
        lines=count,
        indent=indent,
        head=tuple(token for token, at in left if at < size),
        body=tuple(token for token, _ in left),
        defines=names,
        imports=brought,
        definition=bool(defined and defined[1]),
        arm=_ARM.match(text) is not None,
    )


def _of_import(block: Block, lines: Sequence[bytes]) -> Block:
    """A line of the list of an import is an import of its name."""
    listed = _LISTED.fullmatch(lines[block.line - 1])
    if listed is None or block.imports:
        return block
    name = listed[1].decode()
    called = listed[2].decode() if listed[2] else name
    for number in range(block.line - 2, -1, -1):
        line = lines[number]
        if opened := _OPENED.match(line):
            written = opened[1].decode("utf-8", "replace")
            return replace(block, imports=((written, (name,)),), defines=(called,))
        if not _LISTED.fullmatch(line) and line.strip() and not line.lstrip().startswith(b"#"):
            break
    return block


def _statement(text: bytes) -> int:
    """Where the first statement ends: at the end of the line on which its brackets are closed."""
    depth = at = 0
    for line in split(text):
        at += len(line)
        code = _TOKEN.sub(b"", line)
        depth += sum(code.count(c) for c in (b"(", b"[", b"{"))
        depth -= sum(code.count(c) for c in (b")", b"]", b"}"))
        if depth <= 0:
            break
    return at


def _tokens(text: bytes) -> Iterator[tuple[str, int]]:
    for match in _TOKEN.finditer(text):
        string = match[2] if match[2] is not None else match[3]
        if match[4] is not None:
            yield match[4].decode(), match.start()
        elif string is not None:
            yield f'"{string.decode("utf-8", "replace")}', match.start()
