"""Reads a strict subset of YAML as plain data, with a mark for every key and value.

It reads parser events iteratively: anchors, aliases, tags and deep nesting are refused before anything
could expand or recurse. Scalars follow the YAML 1.2 core schema for null, booleans and decimal
integers; everything else (`no`, `on`, `12:30:00`, dates, `1e3`, `0o17`) stays text. Which text stood
without quotes is kept: where a value of a program is stated, `0.5` is a number, and elsewhere a version.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from builder.errors import Mark, Problem

MAX_BYTES = 2_000_000
MAX_DEPTH = 64
MAX_NODES = 200_000

Path = tuple["str | int", ...]

_CONSTANTS: dict[str, bool | None] = {"": None, "~": None, "null": None, "Null": None, "NULL": None}
_CONSTANTS |= {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
#: No leading zeros, and at most 18 digits: a version, a date or a commit written in digits stays text.
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,17})", re.ASCII)
_REAL = re.compile(r"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*|(?=[eE]))|\.[0-9]+)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", re.ASCII)
_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_UTF16_32 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)


@dataclass(frozen=True, slots=True)
class Document:
    """The data of one YAML document, the marks of its values and keys, and its problems.

    `data` is None when the text is not YAML at all. `unknown` holds the paths of values that could
    not be read (an alias), so that later checks say nothing about them, and `plain` those of texts
    without quotes.
    """

    file: str
    data: Any
    values: Mapping[Path, Mark]
    keys: Mapping[Path, Mark]
    problems: tuple[Problem, ...] = ()
    unknown: frozenset[Path] = frozenset()
    plain: frozenset[Path] = frozenset()

    def mark(self, path: Path) -> Mark:
        """The mark of the value at `path`, or of its nearest known ancestor."""
        while path and path not in self.values:
            path = path[:-1]
        return self.values.get(path, Mark(self.file))

    def value(self, path: Path) -> Any:
        return reduce(lambda value, key: value[key], path, self.data)


def read(data: bytes, file: str) -> Document:
    """The document in `data`; never raises for bad input (see `Document.problems`)."""
    if problem := _too_big(data, file):
        return Document(file, None, {}, {}, (problem,))
    text = _decode(data, file)
    if isinstance(text, Problem):
        return Document(file, None, {}, {}, (text,))
    return _Composer(file, text).compose()


def scalar(text: str) -> bool | int | str | None:
    """The value of a plain scalar."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    return int(text) if _INTEGER.fullmatch(text) else text


def real(text: str) -> float | None:
    """The value of a plain scalar with a point or an exponent; it may be infinite or not a number."""
    if _REAL.fullmatch(text):
        return float(text)
    return float(text.replace(".", "", 1)) if _NOT_FINITE.fullmatch(text) else None


def _too_big(data: bytes, file: str) -> Problem | None:
    if len(data) <= MAX_BYTES:
        return None
    return Problem("M001", f"The file has more than {MAX_BYTES:,} bytes.", Mark(file))


def _decode(data: bytes, file: str) -> str | Problem:
    if data.startswith(_UTF16_32) or b"\0" in data[:4]:
        return Problem(
            "M001", "The file is not UTF-8 but UTF-16 or UTF-32.", Mark(file), hint="save it as UTF-8"
        )
    try:
        text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode("utf-8")
        byte = error.object[error.start]
        return Problem("M001", f"The byte 0x{byte:02x} is not UTF-8.", _mark_after(file, before))
    if match := _FORBIDDEN.search(text):
        code = ord(match[0])
        return Problem(
            "M001",
            f"The character U+{code:04X} may not occur in YAML.",
            _mark_after(file, text[: match.start()]),
        )
    return text


def _mark_after(file: str, before: str) -> Mark:
    lines = re.split(r"\r\n|[\n\r\x85\u2028\u2029]", before)
    return Mark(file, len(lines), len(lines[-1]) + 1)


@dataclass(slots=True)
class _Open:
    """A collection that is still open."""

    path: Path
    value: dict[str, Any] | list[Any]
    is_mapping: bool
    key: str | None = None  # the key whose value comes next
    skip: bool = False  # the value that comes next is of a key already taken
    firsts: dict[str, int] = field(default_factory=dict)  # key -> line


class _Composer:
    """Turns events into a Document; one use."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text
        self.problems: list[Problem] = []
        self.values: dict[Path, Mark] = {}
        self.keys: dict[Path, Mark] = {}
        self.unknown: set[Path] = set()
        self.plain: set[Path] = set()
        self.open: list[_Open] = []
        self.root: Any = None
        self.documents = 0
        self.nodes = 0

    def compose(self) -> Document:
        import yaml

        try:
            whole = self._consume(self._events())
        except yaml.YAMLError as error:
            self.problems.append(self._syntax(error))
            whole = False
        if whole and self.root is None and not self.problems:
            self.problems.append(Problem("M001", "The file is empty.", Mark(self.file, 1, 1)))
            whole = False
        root = self.root if whole else None
        return Document(
            self.file,
            root,
            self.values,
            self.keys,
            tuple(self.problems),
            frozenset(self.unknown),
            frozenset(self.plain),
        )

    def _events(self) -> Iterator[Any]:
        import yaml

        loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        return iter(yaml.parse(self.text, Loader=loader))

    def _consume(self, events: Iterator[Any]) -> bool:
        """Read to the end of the first document; False when a limit is exceeded."""
        for event in events:
            kind = type(event).__name__
            if kind == "DocumentStartEvent":
                self.documents += 1
                if event.tags:
                    self._forbid("a %TAG directive", event)
                if self.documents > 1:
                    self._forbid("a second document", event)
                    return True
            elif kind == "AliasEvent":
                self._forbid(f"the alias *{event.anchor}", event, "write the value out")
                self._node(event, None, unknown=True)
            elif kind == "ScalarEvent":
                self._properties(event)
                self._node(
                    event, scalar(event.value) if event.implicit[0] else event.value, event.implicit[0]
                )
            elif kind in ("MappingStartEvent", "SequenceStartEvent"):
                self._properties(event)
                if self._expects_key():
                    self._syntax_at(event, "A key is a mapping or a list; keys are plain text.")
                    return False
                if len(self.open) >= MAX_DEPTH:
                    self._syntax_at(event, f"Collections are nested more than {MAX_DEPTH} deep.")
                    return False
                self._start(event, kind == "MappingStartEvent")
            elif kind in ("MappingEndEvent", "SequenceEndEvent"):
                self.open.pop()
            if self.nodes > MAX_NODES:
                self._syntax_at(event, f"The file has more than {MAX_NODES:,} values.")
                return False
        return True

    def _expects_key(self) -> bool:
        parent = self.open[-1] if self.open else None
        return parent is not None and parent.is_mapping and parent.key is None and not parent.skip

    def _properties(self, event: Any) -> None:
        if event.anchor is not None:
            self._forbid(f"the anchor &{event.anchor}", event, "write the value out where it is needed")
        if event.tag is not None:
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")
            self._forbid(f"the tag {tag}", event, "quote the value to make it text")

    def _start(self, event: Any, is_mapping: bool) -> None:
        value: dict[str, Any] | list[Any] = {} if is_mapping else []
        path = self._place(event, value)
        self.open.append(_Open(path, value, is_mapping))

    def _node(self, event: Any, value: Any, plain: bool = False, unknown: bool = False) -> None:
        self.nodes += 1
        if self._expects_key():
            self._key(event, self.open[-1])
            return
        path = self._place(event, value)
        if unknown:
            self.unknown.add(path)
        if plain and isinstance(value, str):
            self.plain.add(path)

    def _key(self, event: Any, parent: _Open) -> None:
        name = getattr(event, "value", None)
        mark = self._mark(event)
        if name is None:  # an alias, reported already
            parent.skip = True
        elif name == "<<" and event.implicit[0]:
            self._forbid("the merge key <<", event, "write the keys out")
            parent.skip = True
        elif name in parent.firsts:
            message = f"The key `{name}` is already given on line {parent.firsts[name]}."
            self.problems.append(Problem("M002", message, mark))
            parent.skip = True
        else:
            parent.firsts[name] = mark.line
            parent.key = name
            path = (*parent.path, name)
            self.keys[path] = mark

    def _place(self, event: Any, value: Any) -> Path:
        """Attach a value to its parent; the path of a dropped value starts with -1."""
        if isinstance(value, (dict, list)):
            self.nodes += 1
        if not self.open:
            self.root = value
            path: Path = ()
        else:
            path = self._attach(self.open[-1], value)
        self.values.setdefault(path, self._mark(event))
        return path

    def _attach(self, parent: _Open, value: Any) -> Path:
        if isinstance(parent.value, list):
            parent.value.append(value)
            return (*parent.path, len(parent.value) - 1)
        if parent.skip:
            parent.skip = False
            return (-1, self.nodes)
        assert parent.key is not None
        path = (*parent.path, parent.key)
        parent.value[parent.key] = value
        parent.key = None
        return path

    def _mark(self, event: Any) -> Mark:
        return Mark(self.file, event.start_mark.line + 1, event.start_mark.column + 1)

    def _forbid(self, what: str, event: Any, hint: str | None = None) -> None:
        self.problems.append(Problem("M003", f"The manifest uses {what}.", self._mark(event), hint=hint))

    def _syntax_at(self, event: Any, message: str) -> None:
        self.problems.append(Problem("M001", message, self._mark(event)))

    def _syntax(self, error: Any) -> Problem:
        at = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        if at is None:
            return Problem("M001", f"The file is not YAML: {error}.", Mark(self.file))
        mark = Mark(self.file, at.line + 1, at.column + 1)
        lines = self.text.splitlines()
        rest = lines[at.line][at.column :] if at.line < len(lines) else ""
        if rest.startswith("\t"):
            return Problem("M001", "A tab cannot indent YAML.", mark, hint="indent with spaces")
        context = f" {error.context}" if error.context else ""
        if context and error.context_mark and error.context_mark.line != at.line:
            context += f" that starts on line {error.context_mark.line + 1}"
        hint = None
        if "an alias" in context and lines[at.line].strip().startswith("*"):
            hint = "quote a name that starts with `*`"
        elif "mapping values" in str(error.problem) or "block mapping" in context:
            hint = "indent this line and those above it as the other lines of their mapping"
        return Problem("M001", f"The file is not YAML: {error.problem}{context}.", mark, hint=hint)
