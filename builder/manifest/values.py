"""Reads values with checks that a schema cannot express.

A value with a fault is noted in the findings and read all the same, so that every other check runs too.
"""

from __future__ import annotations

import ast
import math
import re
import warnings

from builder.errors import Mark
from builder.manifest.nodes import Node, real
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


def batch(node: Node) -> str:
    """Read the id of a batch; M006 for an unknown one."""
    known = node.findings.batches
    if isinstance(node.data, str) and node.data not in known:
        node.refuse("M006", f"There is no batch `{node.data}`.", nearest(node.data, known))
    return node.word()


def related(node: Node) -> tuple[tuple[str, Mark], ...]:
    """Read a list of batches, with their places."""
    return tuple((batch(one), one.mark) for one in node.each())


def batches(node: Node) -> tuple[str, ...]:
    return tuple(filter(None, (batch(one) for one in node.each())))


def file(node: Node) -> str:
    """Read a path inside the tree; M007."""
    if isinstance(node.data, str) and (fault := path_fault(node.data)):
        node.refuse("M007", f"The path `{shown(node.data)}` {fault}.")
    return node.word()


def folders(node: Node) -> dict[str, str]:
    """Read a mapping of names to paths inside the tree."""
    return {name: file(folder) for name, folder in node.entries()}


def overlay(node: Node) -> str:
    """Read the path of a file below overlays/; M007 for its spelling, M008 (later) for the file."""
    if isinstance(node.data, str) and not path_fault(node.data):
        node.findings.overlays.append((node.data, node.mark))
    return file(node)


def pattern(node: Node, decides: bool = False) -> str:
    """Read a path pattern; M007. One that `decides` may not match every path."""
    if not isinstance(node.data, str):
        return ""
    fault, hint = pattern_fault(node.data), None
    relative = node.data.lstrip("/")
    if fault == "is absolute" and not pattern_fault(relative):
        hint = f"a pattern with a slash in it starts at the root: `{relative}`"
    if fault is None and decides and matches_everything(node.data):
        fault, hint = "matches every path", "name the folders"
    if fault:
        node.refuse("M007", f"The pattern `{shown(node.data)}` {fault}.", hint)
    return node.data


def patterns(node: Node) -> tuple[str, ...]:
    return tuple(pattern(one) for one in node.each())


def path_or_name(node: Node) -> str:
    """Read a path pattern under the key `path`, and plain text under another."""
    return pattern(node) if node.key == "path" else node.word()


def rule(node: Node) -> str:
    """Read a path pattern that decides about the paths that it matches."""
    return pattern(node, decides=True)


def scalar(node: Node, doubtful: bool = False) -> bool | int | float | str | None:
    """Read a value of a program; M004 for a number that is not finite and, if `doubtful`, for an unquoted
    word that may be meant as another type."""
    value = node.data
    if not isinstance(value, str) or not node.plain:
        return value if isinstance(value, (bool, int, str)) else None
    number = real(value)
    if number is not None and not math.isfinite(number):
        node.refuse("M004", f"`{shown(value)}` is not a finite number.", "quote it if the text is meant")
    elif doubtful and value not in TRUTH and (value.lower() in _DOUBTFUL or nearest(value, _WORDS, 1, 0.75)):
        node.refuse("M004", f"`{shown(value)}` would be the text `{shown(value)}`.", _HOW)
    return value if number is None else number


def expression(node: Node) -> str:
    """Read Python source of an expression; M004."""
    return _source(node, "eval", "a Python expression")


def statement(node: Node) -> str:
    """Read Python source of a statement; M004."""
    return _source(node, "exec", "a Python statement")


def value(node: Node) -> str:
    """Read Python source of an expression, of an assignment or of an `if` with the body `...`; M004."""
    parsed = _parsed(node.word(), "exec")
    if isinstance(parsed, ast.Module) and len(parsed.body) == 1:
        (one,) = parsed.body
        if isinstance(one, ast.Assign) or (
            isinstance(one, ast.If) and ast.unparse(one).endswith(":\n    ...")
        ):
            return node.word()
    return expression(node)


def regex(node: Node) -> str:
    """Read a regular expression; M004."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(node.word())
    except (re.error, OverflowError, RecursionError) as error:
        node.refuse("M004", f"`{shown(node.word())}` is not a regular expression: {error}.")
    return node.word()


def _source(node: Node, mode: str, what: str) -> str:
    if node.word() and _parsed(node.word(), mode) is None:
        node.refuse("M004", f"`{shown(node.word())}` is not {what}.")
    return node.word()


def _parsed(source: str, mode: str) -> ast.AST | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source.strip(), mode=mode)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def shown(value: object, limit: int = 80) -> str:
    """Return the text of a value, cut to `limit`, with unprintable characters escaped."""
    text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(value))
    return text if len(text) <= limit else text[: limit - 1] + "…"
