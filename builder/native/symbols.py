"""C++ names at namespace level: what a file declares, what it defines, what it binds for PyTorch.

Names are compared without their namespaces, so that an overload or a namesake anywhere keeps a
name alive: the answer "defined nowhere" is never too broad.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from builder.memo import remembered
from builder.native.cpp import plain, scan
from builder.native.text import Scanned, closing

_CALL = re.compile(r"(?:\b(?P<word>[A-Za-z_]\w*)|(?P<operator>\boperator\b[^\w\s(]*))\s*\(", re.ASCII)
_NOT_NAMES = frozenset(
    (
        *("__launch_bounds__", "__attribute__", "__declspec", "__cluster_dims__", "__align__", "alignas"),
        *("decltype", "noexcept", "requires", "explicit", "sizeof", "static_assert", "throw", "defined"),
        *("if", "for", "while", "switch", "return"),
    )
)
_BINDING = re.compile(r"\b(?P<library>[A-Za-z_]\w*)\s*\.\s*(?P<verb>def|impl)\s*\(", re.ASCII)
_LIBRARY = re.compile(
    r"\bTORCH_LIBRARY(?P<kind>\w*)\s*\(\s*(?P<name>\w+)\s*,(?:[^()]*,)?\s*(?P<variable>\w+)\s*\)\s*\{",
    re.ASCII,
)
_POINTER = re.compile(r"(?:&|\bTORCH_FN\s*\()\s*(?:\w+\s*::\s*)*(\w+)", re.ASCII)
_STRING = re.compile(r'"((?:\\.|[^"\\])*)"')
_MARK = re.compile(r"[][(){};]")
_BRACKET = re.compile(r"[({]")
_SPACE = re.compile(r"\bnamespace\b[^()=;]*\Z|\bextern\s+\"\s*\"\s*\Z")
_MORE = re.compile(r"\s*[;,=()[]")
_TYPE = re.compile(r"\s*(?:typedef|struct|class|union|enum)\b")
_TEMPLATE = re.compile(r"\s*template\s*<")


@dataclass(frozen=True, slots=True)
class Function:
    """A declaration or a definition of a function at namespace level."""

    name: str
    start: int
    end: int
    defined: bool


@dataclass(frozen=True, slots=True)
class Namespace:
    """`namespace name {` ... `}`; its inside lies between `body` and `end - 1`."""

    start: int
    body: int
    end: int


@dataclass(frozen=True, slots=True)
class Binding:
    """One `m.def(...)` or `m.impl(...)` statement of a TORCH_LIBRARY block."""

    verb: str
    library: str  # the name the operators are registered under
    operator: str
    function: str | None  # the C++ function, without its namespace
    start: int
    end: int

    @property
    def key(self) -> tuple[str, str]:
        return self.library, self.operator


@dataclass(frozen=True, slots=True)
class Symbols:
    functions: tuple[Function, ...]
    namespaces: tuple[Namespace, ...]


@lru_cache(maxsize=2048)
@remembered
def symbols(text: str) -> Symbols:
    """The functions and namespaces of a text."""
    code = plain(text)
    functions: list[Function] = []
    namespaces: list[Namespace] = []
    open_spaces: list[tuple[int, int]] = []
    start = 0
    mark = _MARK.search(code)
    while mark:
        char, at = mark.group(), mark.start()
        after = at + 1
        if char in "([":
            after = closing(code, at)
        elif char == ";":
            functions += _function(code, start, at, False)
            start = after
        elif char == "}":
            if open_spaces:
                first, body = open_spaces.pop()
                namespaces.append(Namespace(first, body, after))
            start = after
        elif _SPACE.search(head := code[start:at]):
            open_spaces.append((start + len(head) - len(head.lstrip()), after))
            start = after
        else:
            after = closing(code, at)
            made = _function(code, start, at, True)
            # a type or an initializer goes on behind its closing brace
            if made or not (_MORE.match(code, after) or _TYPE.match(head)):
                functions += made
                start = after
        mark = _MARK.search(code, after)
    return Symbols(tuple(functions), tuple(sorted(namespaces, key=lambda n: n.start)))


def defined(text: str) -> frozenset[str]:
    """The names of the functions that a text defines."""
    return frozenset(f.name for f in symbols(text).functions if f.defined)


@lru_cache(maxsize=256)
def bindings(text: str) -> tuple[Binding, ...]:
    """The operators that a text registers, in order."""
    return _bindings(text) if "TORCH_LIBRARY" in text else ()


@remembered
def _bindings(text: str) -> tuple[Binding, ...]:
    scanned, code = scan(text), plain(text)
    operators: list[Binding] = []
    for library in _LIBRARY.finditer(code):
        end = closing(code, library.end() - 1)
        for match in _BINDING.finditer(code, library.end(), end):
            if match["library"] == library["variable"]:
                operators.append(_binding(scanned, code, match, library["name"]))
    return tuple(operators)


def _binding(scanned: Scanned, code: str, match: re.Match[str], library: str) -> Binding:
    end = closing(code, match.end() - 1)
    name = _STRING.search(scanned.bare, match.end(), end - 1)
    operator = name[1].split("(")[0].split("::")[-1].strip() if name else ""
    pointer = _POINTER.search(code, match.end(), end)
    function = pointer[1] if pointer else None
    stop = code.find(";", end) + 1 or end
    return Binding(match["verb"], library, operator, function, match.start(), stop)


def _function(code: str, start: int, end: int, body: bool) -> list[Function]:
    head = code[start:end]
    lead = len(head) - len(head.lstrip())
    if "(" not in head:
        return []
    outer = _outer(head)
    if "=" in re.sub(r"\boperator\s*[^\w\s(]+", "", outer).split("(", 1)[0] or re.match(
        r"\s*(?:using|typedef)\b", outer
    ):
        return []
    if re.match(r"\s*(?:struct|class|union|enum)\b[^(]*(?:\Z|\{)", outer) and (body or "{" in outer):
        return []
    for match in _CALL.finditer(outer):
        name = match["word"] or match["operator"]
        if name in _NOT_NAMES:
            continue
        stop = closing(code, start + match.end() - 1)
        last = closing(code, end) if body else end + 1
        if stop <= end:
            return [Function(name, start + lead, last, body)]
    return []


def _outer(head: str) -> str:
    """The head with blanks for template parameter lists and for what is inside brackets."""
    while match := _TEMPLATE.match(head):
        end = closing(head, match.end() - 1)
        head = " " * end + head[end:]
    at = 0
    while bracket := _BRACKET.search(head, at):
        start, at = bracket.end(), closing(head, bracket.start())
        head = head[:start] + " " * (at - 1 - start) + head[at - 1 :]
    return head
