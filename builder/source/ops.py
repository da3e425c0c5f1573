"""Edits of one Python file, as values on nodes of its syntax tree.

Two interpreters exist and must agree: `splice` edits the text, `oracle` edits the tree. An op names
nodes of the tree that `source.parse` returned; ops inside a node that another op removes are moot.
A string that stands for itself leaves without an op where it would become a docstring.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import lru_cache

#: Their first statement is a docstring when it is a string. When what stands before another string leaves,
#: that string leaves too: it would become one.
Documented = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True)
class Remove:
    """A statement leaves; a suite left empty gets `pass`, an emptied else or finally leaves."""

    node: ast.stmt


@dataclass(frozen=True, slots=True)
class Decide:
    """The test of an `if` or `elif` is known: the taken suite takes the statement's place."""

    node: ast.If
    value: bool


@dataclass(frozen=True, slots=True)
class Unwrap:
    """A compound statement is replaced by the statements of one of its suites (in place, dedented)."""

    node: ast.stmt
    suite: tuple[ast.stmt, ...]


@dataclass(frozen=True, slots=True)
class Replace:
    """An expression is replaced by one of its own descendants, or by new source text."""

    node: ast.expr
    by: ast.expr | str


@dataclass(frozen=True, slots=True)
class Operands:
    """A BoolOp keeps only these operands (indices, at least two, in order)."""

    node: ast.BoolOp
    keep: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DropItem:
    """One member of a node leaves: `field` of `node` loses its item at `index`.

    A member may be starred: `*()` and `**{}` leave like any other.

    field     node
    elts      Tuple, List, Set
    keys      Dict (the value leaves too)
    args      Call (not a generator that shares its parentheses)
    keywords  Call, ClassDef
    names     Import, ImportFrom, Global, Nonlocal (at least one name must stay; else use Remove)
    bases     ClassDef
    decorator_list   FunctionDef, AsyncFunctionDef, ClassDef
    handlers  Try
    cases     Match
    ifs       comprehension
    operands  Compare is not an item: use Replace
    """

    node: ast.AST
    field: str
    index: int


@dataclass(frozen=True, slots=True)
class ImportModule:
    """`from module import name` becomes `import module`, which runs the module and takes no name from it."""

    node: ast.ImportFrom
    module: str


@dataclass(frozen=True, slots=True)
class DropAnnotation:
    """A parameter (ast.arg), a return (FunctionDef) or an AnnAssign with a value loses its annotation."""

    node: ast.arg | ast.FunctionDef | ast.AsyncFunctionDef | ast.AnnAssign


@dataclass(frozen=True, slots=True)
class DropGuard:
    """A `case` loses its `if`. Where its pattern is `irrefutable`, the cases after it must leave too."""

    node: ast.match_case


@dataclass(frozen=True, slots=True)
class Body:
    """The suite of a function or class is replaced by new statements (source, not indented)."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    source: str


Op = (
    Remove
    | Decide
    | Unwrap
    | Replace
    | Operands
    | DropItem
    | ImportModule
    | DropAnnotation
    | DropGuard
    | Body
)


def irrefutable(pattern: ast.pattern) -> bool:
    """Return whether a pattern matches everything. Without a guard, Python allows no case after it."""
    if isinstance(pattern, ast.MatchAs):
        return pattern.pattern is None or irrefutable(pattern.pattern)
    return isinstance(pattern, ast.MatchOr) and irrefutable(pattern.patterns[-1])


def line_of(node: ast.AST) -> int:
    """The line (1-based) of a node; a comprehension and a `case` have that of what they begin with."""
    if isinstance(node, ast.comprehension):
        node = node.target
    elif isinstance(node, ast.match_case):
        node = node.pattern
    return node.lineno  # type: ignore[attr-defined, no-any-return]


@lru_cache(4096)
def by_itself(source: str) -> ast.expr:
    """The expression that new source is; strings side by side may stand on lines of their own.

    Nobody writes to it.
    """
    try:
        return ast.parse(source, mode="eval").body
    except SyntaxError:
        return ast.parse(f"(\n{source}\n)", mode="eval").body
