"""One file of a program: its text, its syntax tree once somebody needs it, and what is known of it."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from builder.graph.names import imported_module, package_of
from builder.source.parse import BOM, Module, line_starts, parse
from builder.specialize.evaluating.scopes import Comprehension, Scope, Scopes
from builder.specialize.text_index.content import Content, Question


class Keeper(Protocol):
    """What keeps results: what of it changes is no part of them, or one of the other arguments."""

    derived: dict[Any, Any]


K = TypeVar("K", bound=Keeper)
P = ParamSpec("P")
T = TypeVar("T")

#: The question whether a content is Python.
_PARSES = ("parses",)
#: What is in each statement that declares a name of an outer scope, and in each expression that opens a scope
#: or binds a name.
_DECLARE = (b"global", b"nonlocal")
_BIND = (b"lambda", b"for", b":=")


class Unit:
    """One file: its module name, syntax tree and scopes."""

    def __init__(self, path: str, name: str, content: Content) -> None:
        """Raises SyntaxError."""
        self.path = path
        self.name = name
        self.content = content
        self._raw = content.data
        self._module: Module | None = None
        if not content.known.get(_PARSES):
            self._module = parse(content.data, path)
        content.known[_PARSES] = True
        self._scopes: Scopes | None = None
        #: what others derive from all of this file, also from what leaves
        self.derived: dict[Any, Any] = {}
        # what leaves at the end of the round: statements and imported names, and the lines (first, last)
        # of statements that have their lines for themselves
        self.leaving: set[ast.AST] = set()
        self.hidden: list[tuple[int, int]] = []
        # imports of which all names leave, while their module still runs
        self.running: set[ast.AST] = set()
        # answers about the file without what leaves, and how much that was
        self._without: dict[Question, object] = {}
        self._left_at = (0, 0, 0)

    @property
    def version(self) -> tuple[int, int, int]:
        """Changes when more of this file is known to leave: how much of it is, which only ever grows."""
        return len(self.leaving), len(self.hidden), len(self.running)

    @property
    def package(self) -> str:
        return package_of(self.path, self.name)

    def told(self, question: Question, find: Callable[[], T]) -> T:
        """What `find` gives, which must depend on the file alone, without what of it leaves.

        It is found out once, and anew when more of the file leaves.
        """
        if not (self.leaving or self.hidden):
            return self.content.get(question, find)
        if self._left_at != self.version:
            self._left_at, self._without = self.version, {}
        if question not in self._without:
            self._without[question] = find()
        found: T = self._without[question]  # type: ignore[assignment]
        return found

    @property
    def module(self) -> Module:
        """The text with its syntax tree."""
        if self._module is None:
            self._module = parse(self._raw, self.path)
        return self._module

    @property
    def text(self) -> bytes:
        """The text without a byte order mark: `module.data`, for which nothing is parsed."""
        return self._raw.removeprefix(BOM)

    @property
    def starts(self) -> list[int]:
        """`module.starts`, for which nothing is parsed."""
        return self._module.starts if self._module is not None else line_starts(self.text)

    @property
    def scopes(self) -> Scopes:
        """The scopes of the syntax tree."""
        if self._scopes is None:
            self._scopes = Scopes(self.module.tree, self._with(_DECLARE), self._with(_BIND))
        return self._scopes

    def _with(self, words: Iterable[bytes]) -> list[int]:
        """The lines with one of these words, or with a longer one that holds it; 1-based and sorted."""
        data, starts, lines = self.module.data, self.module.starts, set()
        for word in words:
            at = data.find(word)
            while at >= 0:
                line = bisect_right(starts, at)
                lines.add(line)
                at = data.find(word, starts[line])
        return sorted(lines)

    def around(self, node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
        """Each node around a node, from the inside out, after the one below it."""
        parents = self.module.parents
        while (above := parents.get(node)) is not None:
            yield node, above
            node = above

    def scope_of(self, node: ast.AST) -> Scope:
        """The scope in which a node is evaluated."""
        outside = False
        for below, at in self.around(node):
            if isinstance(at, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and below in at.body:
                return self.scopes.of(at)
            if isinstance(at, ast.Lambda) and below is at.body:
                return self.scopes.of(at)
            if isinstance(at, Comprehension) and not (outside and below is at.generators[0]):
                return self.scopes.of(at)
            outside = isinstance(at, ast.comprehension) and below is at.iter
        return self.scopes.root

    def top_statement(self, node: ast.AST) -> ast.AST:
        """The statement at the top of the module that a node is in, or is."""
        return next((below for below, at in self.around(node) if at is self.module.tree), node)

    def absolute(self, node: ast.ImportFrom) -> str:
        """The absolute module of `from X import ...`."""
        return imported_module(node, self.package)


def told(find: Callable[Concatenate[Unit, P], T]) -> Callable[Concatenate[Unit, P], T]:
    """Make a function one of a file alone, whose results are kept with the content: see `Unit.told`.

    Its other arguments are texts, and tuples of such.
    """
    kind = f"{find.__module__.rpartition('.')[2]}.{find.__name__}"

    @wraps(find)
    def asked(unit: Unit, /, *args: P.args, **kwargs: P.kwargs) -> T:
        question = kind, unit.path, unit.name, *args
        return unit.told(question, lambda: find(unit, *args, **kwargs))

    return asked


def once(find: Callable[Concatenate[K, P], T]) -> Callable[Concatenate[K, P], T]:
    """Make a function find a result once for its first argument, which keeps it."""

    @wraps(find)
    def asked(keeper: K, /, *args: P.args, **kwargs: P.kwargs) -> T:
        key = (find, *args)
        if key not in keeper.derived:
            keeper.derived[key] = find(keeper, *args, **kwargs)
        found: T = keeper.derived[key]
        return found

    return asked
