"""A cursor over a document that never fails: a missing value or one of the wrong type reads as empty.

The schema has reported the problem by then; reading on lets every other check run in the same pass. What a
schema cannot express about a single value is checked while it is read, and noted in `Findings`.
"""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

from builder.errors import Mark, Problem
from builder.manifest.nodes import Document, Path, real
from builder.manifest.paths import matches_everything, path_fault, pattern_fault
from builder.spelling import nearest

#: Texts that other dialects of YAML read as another type, or that are likely typing errors.
_DOUBTFUL = frozenset(
    ["yes", "no", "on", "off", "maybe", "none", "null", "nil", "true", "false", "truthy", "falsy", "nan"]
)
#: Values of a fact of which only the truth is known.
TRUTH = {"truthy": True, "falsy": False}
_WORDS = ("true", "false", "null", *TRUTH)
_HOW = "write true, false, null, truthy or falsy; or quote it if the text is meant"


@dataclass(slots=True)
class Findings:
    """Problems so far, and the overlays (path, where) that the manifest names. `batches`: the ids of all."""

    problems: list[Problem] = field(default_factory=list)
    overlays: list[tuple[str, Mark]] = field(default_factory=list)
    batches: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class View:
    """One value of a document, and the same of others, whose items and entries follow its own."""

    document: Document
    findings: Findings
    data: Any
    path: Path = ()
    others: tuple[View, ...] = ()

    @property
    def mark(self) -> Mark:
        return self.document.mark(self.path)

    @property
    def key_mark(self) -> Mark:
        """Where the key of this value stands."""
        return self.document.keys.get(self.path, self.mark)

    # -- its parts

    def has(self, key: str) -> bool:
        return isinstance(self.data, dict) and key in self.data

    def at(self, key: str) -> View:
        """The value of `key`, in the first document that has it; a view of nothing when there is none."""
        first, *rest = [part for part in (self, *self.others) if part.has(key)] or [self]
        value = first.data[key] if first.has(key) else None
        return first._part(key, value, tuple(other.alone().at(key) for other in rest))

    def below(self, path: str) -> View:
        """The value at a path of keys, `a.b`."""
        return self.at(path) if "." not in path else reduce(View.at, path.split("."), self)

    def only(self, *keys: str) -> View:
        """This mapping with these keys alone."""
        data = {key: self.data[key] for key in keys if self.has(key)}
        return replace(self, data=data, others=tuple(other.only(*keys) for other in self.others))

    def one(self, key: str) -> View:
        """The text that this value is, or the value of its `key`."""
        return self.at(key) if isinstance(self.data, dict) else self

    def alone(self) -> View:
        """This value without what other documents add to it."""
        return replace(self, others=())

    def with_others(self, others: Iterable[View]) -> View:
        """This value, and what these add to it."""
        return replace(self, others=(*self.others, *others))

    def items(self, key: str) -> Iterator[View]:
        """The items of the list under `key`."""
        return self.at(key).each()

    def each(self) -> Iterator[View]:
        """The items of this list."""
        for part in (self, *self.others):
            if isinstance(part.data, list):
                for index, item in enumerate(part.data):
                    yield part._part(index, item)

    def several(self) -> Iterator[View]:
        """The items of this list, or this value itself where it is none."""
        if isinstance(self.data, list):
            yield from self.alone().each()
        else:
            yield self

    def entries(self) -> Iterator[tuple[str, View]]:
        """The entries of this mapping, in the order of the file."""
        for part in (self, *self.others):
            if isinstance(part.data, dict):
                for name in part.data:
                    yield name, part.alone().at(name)

    def _part(self, step: str | int, data: Any, others: tuple[View, ...] = ()) -> View:
        return View(self.document, self.findings, data, (*self.path, step), others)

    # -- what it states

    def text(self, key: str) -> str:
        """The text under `key`; empty when there is none."""
        return self.at(key).word()

    def word(self) -> str:
        """This value if it is text, else nothing."""
        return self.data if isinstance(self.data, str) else ""

    def optional(self) -> str | None:
        return self.data if isinstance(self.data, str) else None

    def texts(self) -> tuple[str, ...]:
        """The texts of this list."""
        return tuple(item.data for item in self.each() if isinstance(item.data, str))

    def words(self) -> tuple[str, ...]:
        """The texts of this list, or the one that this value is."""
        return tuple(filter(None, (one.word() for one in self.several())))

    def mapping(self) -> dict[str, str]:
        return {name: value.word() for name, value in self.entries()}

    def numbers(self) -> dict[str, int]:
        return {name: value.data for name, value in self.entries() if type(value.data) is int}

    def is_true(self) -> bool:
        return self.data is True

    def count(self) -> int:
        if self.data == "all":
            return 0
        return self.data if type(self.data) is int and self.data > 0 else 1

    # -- what it states, checked

    def batch(self) -> str:
        """The id of a batch; M006 when there is none."""
        known = self.findings.batches
        if isinstance(self.data, str) and self.data not in known:
            self._refuse("M006", f"There is no batch `{self.data}`.", nearest(self.data, known))
        return self.word()

    def related(self) -> tuple[tuple[str, Mark], ...]:
        """The batches of this list, which no other document adds to, with their places."""
        return tuple((one.batch(), one.mark) for one in self.alone().each())

    def batches(self) -> tuple[str, ...]:
        return tuple(filter(None, (one.batch() for one in self.each())))

    def file(self) -> str:
        """A path inside the tree; M007."""
        if isinstance(self.data, str) and (fault := path_fault(self.data)):
            self._refuse("M007", f"The path `{_shown(self.data)}` {fault}.")
        return self.word()

    def overlay(self) -> str:
        """A file below overlays/; M007 for its spelling, M008 (later) for the file."""
        if isinstance(self.data, str) and not path_fault(self.data):
            self.findings.overlays.append((self.data, self.mark))
        return self.file()

    def pattern(self, decides: bool = False) -> str:
        """A path pattern; M007. One that `decides` may not match every path."""
        if not isinstance(self.data, str):
            return ""
        fault, hint = pattern_fault(self.data), None
        relative = self.data.lstrip("/")
        if fault == "is absolute" and not pattern_fault(relative):
            hint = f"a pattern with a slash in it starts at the root: `{relative}`"
        if fault is None and decides and matches_everything(self.data):
            fault, hint = "matches every path", "name the folders"
        if fault:
            self._refuse("M007", f"The pattern `{_shown(self.data)}` {fault}.", hint)
        return self.data

    def patterns(self) -> tuple[str, ...]:
        return tuple(one.pattern() for one in self.each())

    def rule(self) -> str:
        """A path pattern that decides about what it matches."""
        return self.pattern(decides=True)

    def plain(self) -> bool:
        """Whether this value is unquoted text."""
        return self.path in self.document.plain

    def scalar(self, doubtful: bool = False) -> bool | int | float | str | None:
        """A value of a program; M004 for a number that is not finite and, if `doubtful`, for an unquoted word
        that may be meant as another type."""
        value = self.data
        if not isinstance(value, str) or not self.plain():
            return value if isinstance(value, (bool, int, str)) else None
        number = real(value)
        if number is not None and not math.isfinite(number):
            self._refuse(
                "M004", f"`{_shown(value)}` is not a finite number.", "quote it if the text is meant"
            )
        elif (
            doubtful
            and value not in TRUTH
            and (value.lower() in _DOUBTFUL or nearest(value, _WORDS, 1, 0.75))
        ):
            self._refuse("M004", f"`{_shown(value)}` would be the text `{_shown(value)}`.", _HOW)
        return value if number is None else number

    def expression(self) -> str:
        """Python source of an expression; M004."""
        return self._source("eval", "a Python expression")

    def statement(self) -> str:
        """Python source of a statement; M004."""
        return self._source("exec", "a Python statement")

    def value(self) -> str:
        """Python source of an expression or of an assignment; M004."""
        parsed = _parsed(self.word(), "exec")
        if isinstance(parsed, ast.Module) and [type(one) for one in parsed.body] == [ast.Assign]:
            return self.word()
        return self.expression()

    def regex(self) -> str:
        """A regular expression; M004."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                re.compile(self.word())
        except (re.error, OverflowError, RecursionError) as error:
            self._refuse("M004", f"`{_shown(self.word())}` is not a regular expression: {error}.")
        return self.word()

    def _source(self, mode: str, what: str) -> str:
        if self.word() and _parsed(self.word(), mode) is None:
            self._refuse("M004", f"`{_shown(self.word())}` is not {what}.")
        return self.word()

    def _refuse(self, code: str, message: str, hint: str | None = None) -> None:
        self.findings.problems.append(Problem(code, message, self.mark, hint=hint))


def _parsed(source: str, mode: str) -> ast.AST | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source.strip(), mode=mode)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _shown(text: str, limit: int = 80) -> str:
    """The text with unprintable characters escaped."""
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"
