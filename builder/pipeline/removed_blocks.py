"""Finds the blocks that were removed from a Python file between two versions, by its text alone.

It serves explanations and decides nothing, so it may be simple: a block is a removed line with the deeper
removed lines below it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from builder.memo import remembered
from builder.source.textdiff import runs, split
from builder.specialize.text_index.content import imports

_TOKEN = re.compile(
    rb"#[^\n]*|[bBrRuUfF]{0,2}(?:(\"\"\"|''')(?:.|\n)*?\1|\"((?:\\.|[^\"\\\n])*)\"|'((?:\\.|[^'\\\n])*)')"
    rb"|([A-Za-z_]\w*)"
)
_DEFINES = re.compile(
    rb"\s*(?:(?:async\s+)?def|class)\s+([A-Za-z_]\w*)|\s*([A-Za-z_]\w*)\s*(?:(?::[^=\n]+)?=[^=]|:\s*[\w.]+\[\s*\n)"
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
    """Lines that were removed together. Tokens are identifiers, and strings with a `"` before them."""

    line: int  # in the older version, from 1
    lines: int
    indent: int
    head: tuple[str, ...]  # removed tokens of its first statement, in order
    body: tuple[str, ...]  # all of its removed tokens
    defines: tuple[str, ...] = ()
    imports: tuple[tuple[str, tuple[str, ...]], ...] = ()  # as `content.imports` gives them
    definition: bool = False  # of a function or a class: its content is not why it was removed
    arm: bool = False  # `else` and the like: removed because of what stands above it


@remembered
def removed_blocks(before: bytes, after: bytes) -> tuple[Block, ...]:
    """Return the removed blocks, in order. A line that only moved to another column was not removed."""
    old, new = split(before), split(after)
    blocks: list[Block] = []
    i = j = 0
    for run in runs([line.strip() for line in old], [line.strip() for line in new]):
        if run.left > i:
            staying = Counter(token for token, _ in _tokens(b"".join(new[j : run.right])))
            blocks += (_of_import(block, old) for block in _blocks(old[i : run.left], i + 1, staying))
        i, j = run.left + run.length, run.right + run.length
    return tuple(blocks)


def _blocks(lines: Sequence[bytes], first: int, staying: Counter[str]) -> Iterator[Block]:
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
        yield _block(b"".join(lines[start:end]), first + start, end - start, indent, staying)


def _block(text: bytes, line: int, count: int, indent: int, staying: Counter[str]) -> Block:
    removed: list[tuple[str, int]] = []
    for token, at in _tokens(text):
        if staying[token]:
            staying[token] -= 1
        else:
            removed.append((token, at))
    size = _statement(text)
    definition = _DEFINES.match(_DECORATORS.sub(b"", text))
    names = tuple(group.decode() for group in (definition.groups() if definition else ()) if group)
    imported = tuple((written, words) for _, written, words in imports(text[:size]))
    names += tuple(
        n for written, words in imported for n in words or (written.partition(".")[0],) if n != "as"
    )
    return Block(
        line=line,
        lines=count,
        indent=indent,
        head=tuple(token for token, at in removed if at < size),
        body=tuple(token for token, _ in removed),
        defines=names,
        imports=imported,
        definition=bool(definition and definition[1]),
        arm=_ARM.match(text) is not None,
    )


def _of_import(block: Block, lines: Sequence[bytes]) -> Block:
    """Turn a line of the list of an import into an import of its name."""
    entry = _LISTED.fullmatch(lines[block.line - 1])
    if entry is None or block.imports:
        return block
    name = entry[1].decode()
    bound = entry[2].decode() if entry[2] else name
    for number in range(block.line - 2, -1, -1):
        line = lines[number]
        if opening := _OPENED.match(line):
            written = opening[1].decode("utf-8", "replace")
            return replace(block, imports=((written, (name,)),), defines=(bound,))
        if not _LISTED.fullmatch(line) and line.strip() and not line.lstrip().startswith(b"#"):
            break
    return block


def _statement(text: bytes) -> int:
    """Return the end of the first statement: of the line on which its brackets are closed."""
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
