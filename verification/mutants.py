"""Random mutants: small edits of lines that the checks execute, drawn from a seed.

The operators are the classic ones. They leave out what no check could see or what fails at once: messages of
logs and errors, assertions, annotations, defaults of parameters, and kernels, whose text Triton reads.
"""

from __future__ import annotations

import ast
import copy
import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_COUNTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
}  # fmt: skip
#: Calls of these say something to people; no check compares what.
_SPOKEN = ("logger", "logging", "log_info_on_rank0", "print", "warnings")
_KERNELS = ("jit", "autotune", "heuristics")
_SHOWN = 70  # characters of an edit that are shown


@dataclass(frozen=True, slots=True)
class Mutant:
    """One edit: the bytes from `start` to `end` of a file become `text`."""

    path: str
    line: int
    column: int
    function: str
    operator: str
    start: int
    end: int
    text: str
    before: str

    @property
    def name(self) -> str:
        return f"{self.path}:{self.line}:{self.column} {self.operator}"

    @property
    def shown(self) -> str:
        """The edit for people."""
        return f"{_short(self.before)} -> {_short(self.text)}"

    def apply(self, text: str) -> str:
        """The mutated text. Every line keeps its number."""
        data = text.encode()
        return (data[: self.start] + self.text.encode() + data[self.end :]).decode()


def of_file(path: str, text: str, executed: Iterable[int]) -> list[Mutant]:
    """Every mutant of the executed lines of a module's functions, in the order of the text."""
    found = _Finder(path, text, frozenset(executed))
    found.module()
    return sorted(found.all, key=lambda one: (one.start, one.end, one.operator))


def drawn(
    sources: Mapping[str, str], executed: Mapping[str, Iterable[int]], count: int, seed: int,
    equivalent: Callable[[Mutant], bool] = lambda one: False,
) -> list[Mutant]:  # fmt: skip
    """`count` mutants, of different lines: each line that can be mutated is as likely as any other.

    Another is drawn for one that is known to be equivalent.
    """
    lines: dict[tuple[str, int], list[Mutant]] = {}
    for path in sorted(sources):
        for one in of_file(path, sources[path], executed.get(path, ())):
            lines.setdefault((path, one.line), []).append(one)
    draw = random.Random(seed)
    places = draw.sample(sorted(lines), len(lines))
    made = (draw.choice(lines[place]) for place in places)
    return list(itertools.islice((one for one in made if not equivalent(one)), count))


class _Finder:
    def __init__(self, path: str, text: str, executed: frozenset[int]) -> None:
        self._path, self._text, self._executed = path, text, executed
        self._data = text.encode()
        self._starts = [0]
        for line in self._data.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self.all: list[Mutant] = []

    def module(self) -> None:
        self._within(ast.parse(self._text), "", False)

    def _within(self, node: ast.AST, owner: str, inside: bool) -> None:
        """Go through what may be mutated below a node. `inside`: of a function."""
        for inner in ast.iter_child_nodes(node):
            if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)):
                if not any(_last(each) in _KERNELS for each in inner.decorator_list):
                    for each in inner.body:
                        self._statement(each, f"{owner}{inner.name}")
            elif isinstance(inner, ast.ClassDef):
                self._within(inner, f"{owner}{inner.name}.", False)
            elif not inside:
                self._within(inner, owner, False)

    def _statement(self, node: ast.stmt, owner: str) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self._within(ast.Module([node], []), f"{owner}.", False)
            return
        if isinstance(node, (ast.Assert, ast.Raise, ast.Import, ast.ImportFrom)) or _speaks(node):
            return
        for operator, text in _statements(node):
            self._add(node, owner, operator, text, False)
        for inner in ast.iter_child_nodes(node):
            self._inner(inner, owner, node)

    def _inner(self, node: ast.AST, owner: str, parent: ast.AST) -> None:
        if isinstance(node, ast.stmt):
            self._statement(node, owner)
            return
        if isinstance(node, ast.JoinedStr) or (
            isinstance(parent, ast.AnnAssign) and node is parent.annotation
        ):
            return
        if isinstance(node, ast.expr):
            for operator, changed in _expressions(node):
                self._add(node, owner, operator, f"({ast.unparse(changed)})", True)
            if isinstance(parent, (ast.If, ast.While, ast.IfExp)) and node is parent.test:
                self._add(node, owner, "condition negated", f"(not ({ast.unparse(node)}))", True)
        for inner in ast.iter_child_nodes(node):
            self._inner(inner, owner, node)

    def _add(self, node: Any, owner: str, operator: str, text: str, bracket: bool) -> None:
        if node.lineno not in self._executed:
            return
        start = self._starts[node.lineno - 1] + node.col_offset
        end = self._starts[node.end_lineno - 1] + node.end_col_offset
        breaks = "\n" * (node.end_lineno - node.lineno)
        text = f"{text[:-1]}{breaks})" if bracket else text + breaks
        before = self._data[start:end].decode()
        self.all.append(
            Mutant(self._path, node.lineno, node.col_offset, owner, operator, start, end, text, before)
        )


def _statements(node: ast.stmt) -> Iterator[tuple[str, str]]:
    """Other texts for a statement, by operator."""
    call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    stored = isinstance(node, ast.Assign) and all(
        isinstance(each, (ast.Attribute, ast.Subscript)) for each in node.targets
    )
    if call or stored or isinstance(node, ast.AugAssign):
        yield "statement dropped", "pass"
    if isinstance(node, ast.AugAssign) and type(node.op) in _COUNTED:
        yield "arithmetic", ast.unparse(_with(node, op=_COUNTED[type(node.op)]()))
    if isinstance(node, ast.Return) and node.value is not None and not _is_none(node.value):
        yield "nothing returned", "return None"
    if isinstance(node, ast.Break):
        yield "loop goes on", "continue"
    if isinstance(node, ast.Continue):
        yield "loop ends", "break"


def _expressions(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Other expressions for one, by operator."""
    if isinstance(node, ast.Compare):
        for index, each in enumerate(node.ops):
            ops = [*node.ops[:index], _COMPARED[type(each)](), *node.ops[index + 1 :]]
            yield "comparison", _with(node, ops=ops)
    elif isinstance(node, ast.BinOp) and type(node.op) in _COUNTED and not _is_text(node):
        yield "arithmetic", _with(node, op=_COUNTED[type(node.op)]())
    elif isinstance(node, ast.BoolOp):
        yield "and, or", _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "not dropped", node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield "constant", ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        yield "constant", ast.Constant(node.value + 1)


def _with(node: Any, **changed: Any) -> Any:
    made = copy.copy(node)
    for name, value in changed.items():
        setattr(made, name, value)
    return made


def _speaks(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    called: ast.AST = node.value.func
    while isinstance(called, ast.Attribute):
        called = called.value
    return isinstance(called, ast.Name) and called.id in _SPOKEN


def _last(node: ast.expr) -> str:
    """The last name of a decorator."""
    while isinstance(node, ast.Call):
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_text(node: ast.BinOp) -> bool:
    return any(isinstance(each, (ast.JoinedStr, ast.Constant)) and not _is_number(each)
               for each in (node.left, node.right))  # fmt: skip


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}..."
