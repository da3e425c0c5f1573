"""What the content of one file tells: no other file, and no fact, can change it.

Much of it is read off the text, so that few files are parsed.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, MutableMapping
from functools import cached_property
from typing import Any, TypeVar

from builder.source.words import shared_counts, shared_words

T = TypeVar("T")

#: The name of a function, and what it was given beside the content.
Question = tuple[Any, ...]
#: digest of a content -> the answers about it
Kept = MutableMapping[str, dict[Question, Any]]

_IMPORT = re.compile(
    rb"[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]*(\([^)]*\)|[^\n;]*)|import[ \t]+([^\n;]*))"
)
_NAME = re.compile(rb"[A-Za-z_][\w.]*|\*")
#: A line with the line break before it, which is found fast.
_DEFINED = re.compile(
    rb"\n([ \t]*)(?:async[ \t]+def|def|class)[ \t]+([A-Za-z_]\w*)"
    rb"|\n([A-Za-z_]\w*)[ \t]*(?::[^=\n]+)?=(?=[^=])"
)
_FUNCTION = re.compile(rb"(?:async[ \t]+)?def\b")
_ASSIGNED = re.compile(rb"[ \t]*(?::[^=\n]*)?=(?!=)")
_ATTRIBUTE = re.compile(rb"\.\s*([A-Za-z_]\w*)")
_QUOTED = re.compile(rb"[\"']([A-Za-z_]\w*)")
_LAST_QUOTED = re.compile(rb"[.:]([\w\x80-\xff]+)[\"']")
_IDENTIFIER = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


def imports(data: bytes) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """(offset, module as written, names) of what looks like an import statement; `import a` has no names.

    The names are the words as written: `as` is one of them.
    """
    at, seen = data.find(b"import"), -1
    while at >= 0:
        start = data.rfind(b"\n", 0, at) + 1
        match = _IMPORT.match(data, start) if start > seen else None
        if match is None:  # `try: import x`, `x = 1; import y`
            inner = max(data.rfind(b";", start, at), data.rfind(b":", start, at)) + 1
            match = _IMPORT.match(data, inner) if inner > max(start, seen) else None
        if match is None:
            at = data.find(b"import", at + 6)
            continue
        seen = match.start()
        at = data.find(b"import", max(at + 6, match.end()))
        if match[1] is not None:
            names = tuple(n.decode("utf-8", "replace") for n in _NAME.findall(match[2]))
            yield match.start(), match[1].decode("utf-8", "replace"), names
        else:
            for name in _NAME.findall(match[3]):
                yield match.start(), name.decode("utf-8", "replace"), ()


def in_a_function(data: bytes, offset: int) -> bool:
    """Return whether the statement that begins at an offset is in a function, going by the indentation of
    the lines."""
    line_start = data.rfind(b"\n", 0, offset) + 1
    depth = _depth(data[line_start:])
    while depth:
        line_end, line_start = line_start - 1, data.rfind(b"\n", 0, max(line_start - 1, 0)) + 1
        if line_end <= 0:
            return False
        line = data[line_start:line_end]
        text = line.strip()
        if not text or text[:1] in b"#)]}" or _depth(line) >= depth:
            continue  # `) -> int:` ends what a `def` above it began
        if _FUNCTION.match(text):
            return True
        depth = _depth(line)
    return False


def _depth(line: bytes) -> int:
    return len(line) - len(line.lstrip(b" \t"))


class Content:
    """One content, and the answers about it.

    What looks like code in a string counts as code, where the text alone is asked.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.digest = hashlib.sha256(data).hexdigest()
        self.known: dict[Question, Any] = {}
        #: package -> whether an import may bind a module of the program, once somebody found out
        self.binds_modules: dict[str, bool] = {}

    def get(self, question: Question, find: Callable[[], T]) -> T:
        """The answer to a question, which `find` gives if it was not asked before.

        It must be picklable, and hold nothing of a syntax tree.
        """
        if question not in self.known:
            self.known[question] = find()
        found: T = self.known[question]
        return found

    @cached_property
    def defined(self) -> Counter[bytes]:
        """Names of what looks like definitions and module-level assignments, and how often each is one."""
        return shared_counts(name or constant for _, name, constant in self._definitions)

    @cached_property
    def tops(self) -> frozenset[bytes]:
        """Functions, classes and constants that begin in the first column."""
        return shared_words(name or constant for margin, name, constant in self._definitions if not margin)

    @cached_property
    def _definitions(self) -> list[tuple[bytes, bytes, bytes]]:
        return _DEFINED.findall(b"\n" + self.data)

    @cached_property
    def statements(self) -> tuple[tuple[int, str, tuple[str, ...]], ...]:
        """What looks like an import statement, as `imports` gives it."""
        return tuple(imports(self.data))

    @cached_property
    def imported(self) -> frozenset[str]:
        """Every word of the import statements, at whatever depth."""
        found: set[str] = set()
        for _, written, names in self.statements:
            found.update(names or (written.partition(".")[0],))
        return frozenset(found)

    @cached_property
    def attributes(self) -> frozenset[bytes]:
        """The identifiers that stand behind a dot."""
        return shared_words(_ATTRIBUTE.findall(self.data))

    @cached_property
    def quoted(self) -> frozenset[bytes]:
        """The identifiers with which a string begins."""
        return shared_words(_QUOTED.findall(self.data))

    @cached_property
    def last_quoted(self) -> frozenset[bytes]:
        """The words with which a string ends, after a dot or a colon: `name` of "package.module:name"."""
        return shared_words(_LAST_QUOTED.findall(self.data))

    def binds(self, name: str) -> bool | None:
        """Return whether the module itself defines the name. None when only its syntax tree can tell.

        False: it neither defines nor imports the name, not even by a star.
        """
        encoded = name.encode()
        if encoded not in self.data:
            return None if "*" in self.imported else False
        return True if encoded in self.tops and name not in self.imported else None

    def assigns(self, name: str) -> bool:
        """Return whether there is something like `name = ...`, at whatever depth."""
        encoded, data = name.encode(), self.data
        at = data.find(encoded)
        while at >= 0:
            end = at + len(encoded)
            if (at == 0 or data[at - 1] not in _IDENTIFIER) and _ASSIGNED.match(data, end):
                return True
            at = data.find(encoded, end)
        return False


class Contents:
    """Every content that a run has met."""

    def __init__(self, kept: Kept | None = None) -> None:
        """`kept`: answers of earlier runs, to which `save` adds those of this one."""
        self._kept: Kept = {} if kept is None else kept
        self._of: dict[bytes, Content] = {}
        self._sizes: dict[str, int] = {}

    def of(self, data: bytes) -> Content:
        """What is known of a content."""
        found = self._of.get(data)
        if found is None:
            found = self._of[data] = Content(data)
            found.known.update(self._kept.get(found.digest, {}))
            self._sizes[found.digest] = len(found.known)
        return found

    def save(self) -> None:
        """Keep what was found out since the answers were read."""
        for found in self._of.values():
            if len(found.known) > self._sizes[found.digest]:
                self._kept[found.digest] = dict(found.known)
                self._sizes[found.digest] = len(found.known)
