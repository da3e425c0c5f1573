"""Checks of single values that a schema cannot express, collected while the manifest is built."""

from __future__ import annotations

import ast
import math
import re
import warnings
from dataclasses import dataclass, field

from builder.errors import Mark, Problem
from builder.manifest.nodes import real
from builder.manifest.paths import matches_everything, path_fault, pattern_fault
from builder.manifest.statements import Scalar
from builder.manifest.view import View
from builder.spelling import nearest

OVERLAYS = "overlays/"
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
    """Problems so far, and the overlays (path, where) and batches (id, where) that the manifest names."""

    problems: list[Problem] = field(default_factory=list)
    overlays: list[tuple[str, Mark]] = field(default_factory=list)
    batches: list[tuple[str, Mark]] = field(default_factory=list)

    def add(self, code: str, message: str, mark: Mark, hint: str | None = None) -> None:
        self.problems.append(Problem(code, message, mark, hint=hint))

    def batch(self, view: View) -> str:
        """The id of a batch; M006 (later) when there is none."""
        if isinstance(view.data, str):
            self.batches.append((view.data, view.mark))
        return view.word

    def path(self, view: View) -> str:
        """A path inside the tree; M007."""
        if isinstance(view.data, str) and (fault := path_fault(view.data)):
            self.add("M007", f"The path `{_shown(view.data)}` {fault}.", view.mark)
        return view.word

    def pattern(self, view: View, decides: bool = False) -> str:
        """A path pattern; M007. One that `decides` may not match every path."""
        if not isinstance(view.data, str):
            return ""
        fault = pattern_fault(view.data)
        hint = None
        if fault == "is absolute" and not pattern_fault(view.data.lstrip("/")):
            hint = f"a pattern with a slash in it starts at the root: `{view.data.lstrip('/')}`"
        if fault is None and decides and matches_everything(view.data):
            fault = "matches every path"
            hint = "name the folders"
        if fault:
            self.add("M007", f"The pattern `{_shown(view.data)}` {fault}.", view.mark, hint)
        return view.data

    def overlay(self, view: View) -> str:
        """A file below overlays/; M007 for its spelling, M008 (later) for the file."""
        if isinstance(view.data, str):
            if fault := path_fault(view.data):
                self.add("M007", f"The path `{_shown(view.data)}` {fault}.", view.mark)
            else:
                self.overlays.append((view.data, view.mark))
        return view.word

    def scalar(self, view: View, doubtful: bool = False) -> Scalar:
        """A value of a program; M004 for a number that is not finite and, if `doubtful`, for an unquoted word
        that may be meant as another type."""
        value = view.data
        if not isinstance(value, str) or not view.plain:
            return value if isinstance(value, (bool, int, str)) else None
        number = real(value)
        if number is not None and not math.isfinite(number):
            hint = "quote it if the text is meant"
            self.add("M004", f"`{_shown(value)}` is not a finite number.", view.mark, hint)
        elif (
            doubtful
            and value not in TRUTH
            and (value.lower() in _DOUBTFUL or nearest(value, _WORDS, 1, 0.75))
        ):
            self.add("M004", f"`{_shown(value)}` would be the text `{_shown(value)}`.", view.mark, _HOW)
        return value if number is None else number

    def expression(self, view: View) -> str:
        """Python source of an expression; M004."""
        if view.word and not _parses(view.word, "eval"):
            self.add("M004", f"`{_shown(view.word)}` is not a Python expression.", view.mark)
        return view.word

    def value(self, view: View) -> str:
        """Python source of an expression or of an assignment; M004."""
        if _parses(view.word, "exec"):
            body = ast.parse(view.word.strip()).body
            if len(body) == 1 and isinstance(body[0], ast.Assign):
                return view.word
        return self.expression(view)

    def statement(self, view: View) -> str:
        """Python source of a statement; M004."""
        if view.word and not _parses(view.word, "exec"):
            self.add("M004", f"`{_shown(view.word)}` is not a Python statement.", view.mark)
        return view.word

    def regex(self, view: View) -> str:
        """A regular expression; M004."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                re.compile(view.word)
        except (re.error, OverflowError, RecursionError) as error:
            self.add("M004", f"`{_shown(view.word)}` is not a regular expression: {error}.", view.mark)
        return view.word


def _parses(source: str, mode: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(source.strip(), mode=mode)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _shown(text: str, limit: int = 80) -> str:
    """The text with unprintable characters escaped."""
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"
