"""Reads a strict subset of YAML as nodes: plain data, with a mark for every key and value.

Anchors, aliases, tags and deep nesting are refused while events are read, before anything could expand.
Scalars follow the YAML 1.2 core schema for null, booleans and decimal integers; everything else (`no`, `on`,
`12:30:00`, dates, `1e3`, `0o17`) stays text. Which text stood without quotes is kept: where a value of a
program is stated, `0.5` is a number, and elsewhere a version.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

from builder.errors import BuildError, Mark, Problem, fail

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


@dataclass(slots=True)
class Findings:
    """Problems so far, and the overlays (path, where) that the manifest names. `batches`: the ids of all."""

    problems: list[Problem] = field(default_factory=list)
    overlays: list[tuple[str, Mark]] = field(default_factory=list)
    batches: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Node:
    """A value of a document, with its place and its parts.

    Reading one never fails: a missing value, or one of the wrong type, which the schema has reported, reads
    as empty. `data` is None for a text that is not YAML at all. `key`: the key of the
    mapping, or the number in the list, at which it stands. `plain`: it is text without quotes. `unknown`: it
    could not be read (an alias), so that later checks say nothing about it. `span`: its text, by offsets.
    `flow`: it is in brackets.
    """

    data: Any
    mark: Mark
    key_mark: Mark
    findings: Findings
    key: str | int = ""
    parts: Sequence[Node] = ()
    plain: bool = False
    unknown: bool = False
    span: tuple[int, int] = (0, 0)
    flow: bool = False

    # -- its parts

    def walk(self, path: Path = ()) -> Iterator[tuple[Path, Node]]:
        """Yield this value and all below it, in the order of the file, with their paths."""
        yield path, self
        for part in self.parts:
            yield from part.walk((*path, part.key))

    def nearest(self, path: Iterable[str | int]) -> Node:
        """Return the value at `path`, or its nearest known ancestor."""
        node = self
        for step in path:
            part = next((one for one in node.parts if one.key == step), None)
            if part is None:
                break
            node = part
        return node

    def has(self, key: str) -> bool:
        return any(part.key == key for part in self.parts)

    def at(self, key: str) -> Node:
        """Return the value of `key`, with what other documents add to it; an empty value if there is none."""
        parts = [part for part in self.parts if part.key == key]
        if not parts:
            return Node(None, self.mark, self.mark, self.findings, key)
        return parts[0].with_others(parts[1:])

    def below(self, path: str) -> Node:
        """Return the value at a path of keys, `a.b`."""
        return reduce(Node.at, path.split("."), self)

    def only(self, *keys: str) -> Node:
        """Return this mapping with these keys alone."""
        return replace(self, parts=[part for part in self.parts if part.key in keys])

    def one(self, key: str) -> Node:
        """Return the value of `key` if this is a mapping, else this value itself."""
        return self.at(key) if isinstance(self.data, dict) else self

    def with_others(self, others: Iterable[Node]) -> Node:
        """Return this value with the items and entries of others after its own."""
        more = [part for other in others for part in other.parts]
        return replace(self, parts=[*self.parts, *more]) if more else self

    def items(self, key: str) -> list[Node]:
        """Return the items of the list under `key`."""
        return self.at(key).each()

    def each(self) -> list[Node]:
        """Return the items of this list."""
        return [part for part in self.parts if isinstance(part.key, int)]

    def several(self) -> list[Node]:
        """Return the items of this list, or this value itself if it has none."""
        return self.each() or [self]

    def entries(self) -> Iterator[tuple[str, Node]]:
        """Return the entries of this mapping, in the order of the file."""
        return ((part.key, part) for part in self.parts if isinstance(part.key, str))

    # -- its content

    def text(self, key: str) -> str:
        """Return the text under `key`; empty if there is none."""
        return self.at(key).word()

    def word(self) -> str:
        """Return this value if it is text, else an empty text."""
        return self.data if isinstance(self.data, str) else ""

    def optional(self) -> str | None:
        return self.data if isinstance(self.data, str) else None

    def texts(self) -> tuple[str, ...]:
        """Return the texts of this list."""
        return tuple(item.data for item in self.each() if isinstance(item.data, str))

    def words(self) -> tuple[str, ...]:
        """Return the texts of this list, or this value if it is a text."""
        return tuple(filter(None, (one.word() for one in self.several())))

    def refuse(self, code: str, message: str, hint: str | None = None) -> None:
        self.findings.problems.append(Problem(code, message, self.mark, hint=hint))


def read(data: bytes, file: str, findings: Findings) -> Node:
    """Read the document in `data`; bad input never raises, its problems are added to `findings`."""
    import yaml

    nothing = Node(None, Mark(file), Mark(file), findings)
    before = len(findings.problems)
    text = ""
    try:
        text = _decode(data, file)
        root = _Reader(file, text, findings).root() or nothing
    except BuildError as error:
        findings.problems += error.problems
        return nothing
    except yaml.YAMLError as error:
        findings.problems.append(_syntax(error, file, text))
        return nothing
    if root.data is None and len(findings.problems) == before:
        findings.problems.append(Problem("M001", "The file is empty.", Mark(file, 1, 1)))
    return root


def scalar(text: str) -> bool | int | str | None:
    """Return the value of a plain scalar."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    return int(text) if _INTEGER.fullmatch(text) else text


def real(text: str) -> float | None:
    """Return the value of a plain scalar with a point or an exponent; it may be infinite or not a number."""
    if _REAL.fullmatch(text):
        return float(text)
    return float(text.replace(".", "", 1)) if _NOT_FINITE.fullmatch(text) else None


def _decode(data: bytes, file: str) -> str:
    if len(data) > MAX_BYTES:
        raise fail("M001", f"The file has more than {MAX_BYTES:,} bytes.", Mark(file))
    if data.startswith(_UTF16_32) or b"\0" in data[:4]:
        message = "The file is not UTF-8 but UTF-16 or UTF-32."
        raise fail("M001", message, Mark(file), hint="save it as UTF-8")
    try:
        text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode("utf-8")
        message = f"The byte 0x{error.object[error.start]:02x} is not UTF-8."
        raise fail("M001", message, _mark_after(file, before)) from None
    if match := _FORBIDDEN.search(text):
        message = f"The character U+{ord(match[0]):04X} may not occur in YAML."
        raise fail("M001", message, _mark_after(file, text[: match.start()]))
    return text


def _mark_after(file: str, before: str) -> Mark:
    lines = re.split(r"\r\n|[\n\r\x85\u2028\u2029]", before)
    return Mark(file, len(lines), len(lines[-1]) + 1)


class _Reader:
    """Turns events into nodes; one use. Raises BuildError where the rest cannot be read."""

    def __init__(self, file: str, text: str, findings: Findings) -> None:
        import yaml

        loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        self._events: Iterator[Any] = yaml.parse(text, Loader=loader)
        self._file = file
        self._findings = findings
        self._count = self._end = 0

    def root(self) -> Node | None:
        """Read the first document of the stream, if there is one."""
        root = None
        for event in self._events:
            if type(event).__name__ != "DocumentStartEvent":
                continue
            if event.tags:
                self._forbid("a %TAG directive", event)
            if root is not None:
                self._forbid("a second document", event)
                break
            root = self._value(self._next(), None, "", 0)
        return root

    def _next(self) -> Any:
        """Return the next event. It is counted if it starts a value; an alias, anchor or tag is a problem."""
        event = next(self._events)
        kind = type(event).__name__
        if kind.endswith("EndEvent"):
            self._end = event.end_mark.index
            return event
        self._count += 1
        if self._count > MAX_NODES:
            raise fail("M001", f"The file has more than {MAX_NODES:,} values.", self._mark(event))
        if kind == "AliasEvent":
            self._forbid(f"the alias *{event.anchor}", event, "write the value out")
        elif event.anchor is not None:
            self._forbid(f"the anchor &{event.anchor}", event, "write the value out where it is needed")
        if getattr(event, "tag", None) is not None:
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")
            self._forbid(f"the tag {tag}", event, "quote the value to make it text")
        return event

    def _value(self, event: Any, key_mark: Mark | None, key: str | int, depth: int) -> Node:
        """Read the value that starts with an event, inside `depth` collections."""
        kind, mark, start = type(event).__name__, self._mark(event), event.start_mark.index
        at = (mark, key_mark or mark, self._findings, key)
        if kind == "AliasEvent":
            return Node(None, *at, unknown=True)
        if kind == "ScalarEvent":
            text = scalar(event.value) if event.implicit[0] else event.value
            plain = event.implicit[0] and isinstance(text, str)
            return Node(text, *at, plain=plain, span=(start, event.end_mark.index))
        if depth >= MAX_DEPTH:
            raise fail("M001", f"Collections are nested more than {MAX_DEPTH} deep.", self._mark(event))
        if kind == "MappingStartEvent":
            parts = list(self._entries(depth + 1))
            data: Any = {part.key: part.data for part in parts}
        else:
            parts = []
            while type(item := self._next()).__name__ != "SequenceEndEvent":
                parts.append(self._value(item, None, len(parts), depth + 1))
            data = [part.data for part in parts]
        return Node(data, *at, parts, span=(start, self._end), flow=event.flow_style)

    def _entries(self, depth: int) -> Iterator[Node]:
        """Read the entries of a mapping; the value of a refused key is read for its problems alone."""
        lines: dict[str, int] = {}
        while (kind := type(event := self._next()).__name__) != "MappingEndEvent":
            mark, refused = self._mark(event), True
            if kind not in ("ScalarEvent", "AliasEvent"):
                raise fail("M001", "A key is a mapping or a list; keys are plain text.", self._mark(event))
            name = event.value if kind == "ScalarEvent" else None
            if name == "<<" and event.implicit[0]:
                self._forbid("the merge key <<", event, "write the keys out")
            elif name in lines:
                message = f"The key `{name}` is already given on line {lines[name]}."
                hint = "write all of it under one of the two, and delete the other"
                self._findings.problems.append(Problem("M002", message, mark, hint=hint))
            elif name is not None:
                lines[name] = mark.line
                refused = False
            value = self._value(self._next(), mark, name or "", depth)
            if not refused:
                yield value

    def _mark(self, event: Any) -> Mark:
        return Mark(self._file, event.start_mark.line + 1, event.start_mark.column + 1)

    def _forbid(self, what: str, event: Any, hint: str | None = None) -> None:
        problem = Problem("M003", f"The manifest uses {what}.", self._mark(event), hint=hint)
        self._findings.problems.append(problem)


#: A key with the begin of a text without quotes, on one line.
_TEXT = re.compile(r"\s*(?:- )*[\w.-]+: +[^\s'\"\[{|>&*]")


def _empty_list(lines: list[str], item: int) -> int:
    """The number of the line with `key: []` above an item, with comments between; 0 without one."""
    above = item - 1
    while above > 0 and (not lines[above].strip() or lines[above].lstrip().startswith("#")):
        above -= 1
    return above + 1 if re.fullmatch(r"\s*[\w-]+: *\[ *\] *(?:#.*)?", lines[above]) else 0


def _syntax(error: Any, file: str, text: str) -> Problem:
    at = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if at is None:
        return Problem("M001", f"The file is not YAML: {error}.", Mark(file))
    mark = Mark(file, at.line + 1, at.column + 1)
    lines = text.splitlines()
    rest = lines[at.line][at.column :] if at.line < len(lines) else ""
    if rest.startswith("\t"):
        return Problem("M001", "A tab cannot indent YAML.", mark, hint="indent with spaces")
    context = f" {error.context}" if error.context else ""
    if context and error.context_mark and error.context_mark.line != at.line:
        context += f" that starts on line {error.context_mark.line + 1}"
    hint = None
    if "an alias" in context and lines[at.line].strip().startswith("*"):
        hint = "quote a name that starts with `*`"
    elif "mapping values" in str(error.problem) and _TEXT.match(lines[at.line][: at.column]):
        hint = "quote the text: it holds a colon and a space"
    elif rest.startswith("-") and (empty := _empty_list(lines, at.line)):
        hint = f"take `[]` out of line {empty}, which says that the list is empty"
    elif rest.startswith("- id:"):
        hint = "a batch belongs below the others, under `batches`"
    elif "mapping values" in str(error.problem) or "block mapping" in context:
        hint = "indent this line and those above it as the other lines of their mapping"
    return Problem("M001", f"The file is not YAML: {error.problem}{context}.", mark, hint=hint)
