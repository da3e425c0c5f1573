"""Names that the program may put together at run time, read off the text without parsing it.

A composed string has literal parts and holes: `f"run_{kind}"`, `"%s_hip" % kind`, `"run_" + kind`. Every name
that fits the literal parts counts as referred to, wherever the string is built and whatever becomes of it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from builder.specialize.text_index.content import Content, Contents

#: The literal parts of a composed string, with a hole between each two.
Pattern = tuple[str, ...]

#: A composed string counts when one of its literal parts has as many letters.
MIN_LETTERS = 3
#: At either end of a name this many are enough, if an underscore separates them from the hole: `f"do_{x}"`.
MIN_LETTERS_AT_END = 2
#: How far back a `+` before a string is looked for, and how far on the end of a call.
MAX_GAP = 80
MAX_CALL = 2000

_HOLE = (
    rb"(?:\{[^{}\n]*(?:\{[^{}\n]*\}[^{}\n]*)*\}"
    rb"|%(?:\(\w*\))?[-#0+]*(?:\d+|\*)?(?:\.\d+)?[sdrioxXaeEfFgGcu]|\$\{\w*\}|\$\w+)"
)
_SPLIT = re.compile(_HOLE)
_BODY = rb"\w*" + _HOLE + rb"(?:\w|" + _HOLE + rb")*"
#: A part of a string with a hole in it, between quotes and separators.
_TEMPLATE = re.compile(rb"(?<=[\"'./:|])" + _BODY + rb"(?=[\"'./:|])")
_TEMPLATE_IN_CODE = re.compile(rb"(?<!\w)" + _BODY + rb"(?!\w)")
_BEFORE_PLUS = re.compile(rb"[\"']([\w.:/]+)[\"']+(?=[\s)\\]*\+(?!=))")
_AFTER_PLUS = re.compile(rb"\+=?[\s(\\]*[rRuUfF]{0,2}[\"']+([\w.:/]+)[\"'](?![\s)\\]*\+(?!=))")
_BEFORE_STRING = re.compile(rb"[\"']([\w.:/]+)[\"'][ \t\r\n\\]+[rR]?[fF][rR]?[\"']")
_AFTER_STRING = re.compile(rb"\}[\"'][ \t\r\n\\]+[rRuUfF]{0,2}[\"']([\w.:/]+)[\"']")
_OPEN_END = re.compile(rb"[\"'.:/](\w{2,}_)[\"']")
_OPEN_START = re.compile(rb"[\"'](_\w{2,})[\"'.:/]")
_CHAIN = re.compile(rb"[\"']([\w.:/]+)[\"'](?:[\s\\)]*\+?[\s\\(]*[rRuU]?[\"'][\w.:/]+[\"'])+")
_CHAINED = re.compile(rb"[\"']([\w.:/]+)[\"']")
_JOIN = re.compile(rb"[\"'](\w*)[\"']+\s*\.\s*join\s*\(")
_REPLACE = re.compile(rb"[\"'](\w+)[\"']+\s*\.\s*replace\(\s*[\"'](\w+)[\"']")
_FUNCTION = re.compile(rb"^[ \t]*(?:async[ \t]+)?def[ \t]", re.M)
_SIMPLE = re.compile(rb"[\"'](\w{2,})[\"']")
_FILTER = re.compile(
    rb"\.(?:(startswith|removeprefix|lstrip)|(endswith|removesuffix)|match|fullmatch|search|compile|fnmatch|"
    rb"fnmatchcase|filter)\s*\(([^()\n]{1,200})"
)
_MEMBER = re.compile(rb"[\"'](\w{3,})[\"']\s+(?:not\s+)?in\b")
_SEPARATOR = re.compile(r"[./:|,; ]+")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_LISTS_NAMES = re.compile(
    rb"\b(?:(?:dir|vars|globals|locals|getmembers(?:_static)?)\s*\(|__dict__\b|__dir__\b)"
)
_CHANGES_CASE = re.compile(rb"\.\s*(?:lower|upper|title|capitalize|casefold|swapcase)\b")
_RUNNER = re.compile(rb"(?:eval|exec|compile)")
_RUNNER_CALLED = re.compile(rb"(?<![\w.])(?:eval|exec|compile)\s*\(")
_RUNNER_PASSED = re.compile(rb"(?:eval|exec|compile)\s*[,)\n]")
_RUNNER_OF_BUILTINS = re.compile(rb"builtins(?:__)?\s*\.\s*(?:eval|exec|compile)\b")
_STRING = re.compile(
    rb"#[^\n]*|(\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''(?:[^\\]|\\.)*?'''|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')",
    re.S,
)


@dataclass(frozen=True, slots=True)
class Formed:
    """What the text of a file may form: names as they are, and patterns of names."""

    names: frozenset[str]
    patterns: frozenset[Pattern]
    runs: bool = False  # the file runs text as code

    def __bool__(self) -> bool:
        return bool(self.names or self.patterns)


def formed(data: bytes) -> Formed:
    """The names that the strings of a text may form, but for those that one string has as it is."""
    names: set[str] = set()
    for match in _CHAIN.finditer(data):
        parts = [part.decode("utf-8", "replace") for part in _CHAINED.findall(match.group())]
        for start in range(len(parts)):
            names.update(_SEPARATOR.split("".join(parts[start:])))
    code = runs_text(data)
    if code:
        for string in _STRING.findall(data):
            names.update(word.decode("utf-8", "replace") for word in _WORD.findall(string))
    found = set(filter(_telling, _patterns(data, code)))
    if found and _CHANGES_CASE.search(data):
        found |= {
            tuple(change(part) for part in pattern) for pattern in found for change in (str.lower, str.upper)
        }
    return Formed(frozenset(names), frozenset(found), code)


def formed_in(content: Content) -> Formed:
    """The names that the strings of a file may form."""
    return content.get(("formed",), lambda: formed(content.data))


def runs_text(data: bytes) -> bool:
    """Return whether a file runs text as code. `model.eval()` and `re.compile()` do not."""
    if b"builtins" in data and _RUNNER_OF_BUILTINS.search(data):
        return True
    for match in _RUNNER.finditer(data):
        at = match.start()
        if _RUNNER_CALLED.match(data, at):
            return True
        if _RUNNER_PASSED.match(data, at) and data[:at].rstrip()[-1:] in (b"=", b"(", b",", b":"):
            return True
    return False


def _patterns(data: bytes, code: bool) -> Iterator[Pattern]:
    for match in (_TEMPLATE_IN_CODE if code else _TEMPLATE).finditer(data):
        yield tuple(part.decode("utf-8", "replace") for part in _SPLIT.split(match.group()))
    for match in _BEFORE_PLUS.finditer(data):
        before = data[max(0, match.start() - MAX_GAP) : match.start()].rstrip(b"rRuUfF").rstrip(b" \t\r\n(\\")
        parts = _SEPARATOR.split(match[1].decode("utf-8", "replace"))
        yield ("", parts[-1], "") if before.endswith((b"+", b"+=")) and len(parts) == 1 else (parts[-1], "")
    for match in _BEFORE_STRING.finditer(data):
        yield _SEPARATOR.split(match[1].decode("utf-8", "replace"))[-1], ""
    for regex in (_AFTER_PLUS, _AFTER_STRING):
        for match in regex.finditer(data):
            yield "", _SEPARATOR.split(match[1].decode("utf-8", "replace"))[0]
    for regex in (_OPEN_END, _OPEN_START):  # nothing shows that anything is added to these
        for match in regex.finditer(data):
            part = match[1].decode("utf-8", "replace")
            if _tells(part):
                yield (part, "") if regex is _OPEN_END else ("", part)
    if b"join" in data:
        for match in _JOIN.finditer(data):
            yield from _joined(data, match)
    if b"replace" in data:
        for match in _REPLACE.finditer(data):
            yield tuple(match[1].decode("utf-8", "replace").split(match[2].decode("utf-8", "replace")))
    yield from _filters(data)


def _joined(data: bytes, match: re.Match[bytes]) -> Iterator[Pattern]:
    """Strings that `"_".join(...)` may put side by side: those of the call, or of the function so far."""
    between, end = match[1].decode("utf-8", "replace"), _closing(data, match.end())
    start = _function(data, match.start())[0] if between else match.end()
    for inner in _SIMPLE.finditer(data, start, end):
        part = inner[1].decode("utf-8", "replace")
        yield part + between, ""
        yield "", between + part
        yield "", between + part + between, ""


def _closing(data: bytes, at: int) -> int:
    """Where the parenthesis closes that was opened before `at`."""
    depth, limit = 1, min(len(data), at + MAX_CALL)
    while depth and at < limit:
        depth += {40: 1, 41: -1}.get(data[at], 0)
        at += 1
    return at


def _function(data: bytes, at: int) -> tuple[int, int]:
    """From the `def` before a place to the next one."""
    start = max((match.start() for match in _FUNCTION.finditer(data, 0, at)), default=0)
    following = _FUNCTION.search(data, at)
    return start, following.start() if following else len(data)


def _filters(data: bytes) -> Iterator[Pattern]:
    """What a function that lists names picks them by."""
    functions = {_function(data, match.start()) for match in _LISTS_NAMES.finditer(data)}
    for start, end in sorted(functions):
        for match in _FILTER.finditer(data, start, end):
            for word in re.findall(rb"\w{3,}", match[3]):
                part = word.decode("utf-8", "replace")
                yield (part, "") if match[1] else ("", part) if match[2] else ("", part, "")
        for match in _MEMBER.finditer(data, start, end):
            yield "", match[1].decode("utf-8", "replace"), ""


def _telling(pattern: Pattern) -> bool:
    """Return whether the literal parts say enough of the name."""
    return len(pattern) > 1 and any(
        _tells(part, begins=at == 0, ends=at == len(pattern) - 1) for at, part in enumerate(pattern)
    )


def _tells(part: str, begins: bool = False, ends: bool = False) -> bool:
    """Return whether a literal part says enough of a name. `begins`, `ends`: the name begins or ends with
    it."""
    letters = sum(map(str.isalpha, part))
    at_end = (begins and part.endswith("_")) or (ends and part.startswith("_"))
    return letters >= (MIN_LETTERS_AT_END if at_end else MIN_LETTERS)


def fits(name: str, pattern: Pattern) -> bool:
    """Return whether a name can be what a composed string gives."""
    first, *middle, last = pattern
    if len(name) < len(first) + len(last) or not name.startswith(first) or not name.endswith(last):
        return False
    at, end = len(first), len(name) - len(last)
    for part in middle:
        at = name.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True


class FormedNames:
    """What all kept files may form, while they change."""

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self._files: dict[str, Formed] = {}
        self._unread: dict[str, bytes] = {}
        self._names: Counter[str] = Counter()
        self._patterns: Counter[Pattern] = Counter()
        self._by_part: defaultdict[str, set[Pattern]] = defaultdict(set)
        self._running: set[str] = set()

    def look(self, path: str, data: bytes) -> None:
        """A file now has this text; it is read when somebody asks."""
        self._unread[path] = data

    def _read(self) -> None:
        for path, data in self._unread.items():
            self._take(path, data)
        self._unread.clear()

    def _take(self, path: str, data: bytes) -> None:
        old = self._files.get(path)
        new = formed_in(self._contents.of(data))
        if old == new:
            return
        (self._running.add if new.runs else self._running.discard)(path)
        if old is not None:
            self._names.subtract(old.names)
            self._patterns.subtract(old.patterns)
        self._names.update(new.names)
        self._patterns.update(new.patterns)
        for pattern in new.patterns:
            self._by_part[max(pattern, key=len)].add(pattern)
        self._files[path] = new

    def holds_in(self, name: str, paths: Iterable[str]) -> bool:
        """Return whether one of these files may form this name, or one that runs text as code. Any file may
        write it in pieces that Python joins while it reads the text."""
        self._read()
        formed = (self._files[path] for path in self._running.union(paths) if path in self._files)
        return self._names[name] > 0 or any(fits(name, p) for each in formed for p in each.patterns)

    def holds(self, name: str) -> bool:
        """Return whether the program may form this name."""
        self._read()
        if self._names[name] > 0:
            return True
        size = len(name)
        parts = {name[a:b] for a in range(size) for b in range(a + MIN_LETTERS, size + 1)}
        return any(
            self._patterns[pattern] > 0 and fits(name, pattern)
            for part in parts & self._by_part.keys()
            for pattern in self._by_part[part]
        )
