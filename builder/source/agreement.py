"""Compares spliced text with the oracle's tree, without looking again at what no operation touched.

A statement that no operation touches is taken by the oracle as it is; where the spliced text has the
same bytes for it, it is the same statement. All other nodes are compared one by one; the indentation
inside a string that stands for itself (a docstring) does not count.
"""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterable

from builder.source.layout import first_line
from builder.source.ops import Op, line_of
from builder.source.oracle import Oracle, expected
from builder.source.parse import Module, documentation


def agrees(before: Module, ops: Iterable[Op], after: Module) -> bool:
    """Return whether `after` is what the operations make of the tree of `before`."""
    oracle = _Sparse(ops)
    wanted = oracle.module(before.tree)
    return _Comparison(before, after, oracle.untouched).same(after.tree, wanted)


class _Sparse(Oracle):
    """The oracle, leaving every statement that spans no operation as the very same node."""

    def __init__(self, ops: Iterable[Op]) -> None:
        ops = list(ops)
        super().__init__(ops)
        self.lines = sorted({line_of(op.node) for op in ops})
        self.untouched: set[ast.AST] = set()

    def statement(self, stmt: ast.stmt) -> list[ast.stmt]:
        at = bisect_left(self.lines, first_line(stmt) + 1)
        if at < len(self.lines) and self.lines[at] <= (stmt.end_lineno or stmt.lineno):
            return super().statement(stmt)
        self.untouched.add(stmt)
        return [stmt]


class _Comparison:
    def __init__(self, old: Module, new: Module, untouched: set[ast.AST]) -> None:
        """`untouched`: the statements of `old` whose places are valid."""
        self.old = old
        self.new = new
        self.untouched = untouched

    def same(self, new: object, old: object) -> bool:
        """Return whether a node of the new text is what the other tree has there."""
        if type(new) is not type(old):
            return False
        if isinstance(new, list):
            assert isinstance(old, list)
            return len(new) == len(old) and all(map(self.same, new, old))
        if not isinstance(new, ast.AST):
            return new == old
        if isinstance(new, ast.stmt):
            assert isinstance(old, ast.stmt)
            if old in self.untouched and _text(self.new, new) == _text(self.old, old):
                return True
            if (one := documentation(new)) is not None:
                return one == documentation(old)
        return all(self.same(getattr(new, name, None), getattr(old, name, None)) for name in new._fields)


def _text(module: Module, stmt: ast.stmt) -> bytes:
    return module.data[module.start_with_decorators(stmt) : module.end(stmt)]


def first_difference(after: Module, before: Module, ops: Iterable[Op]) -> str:
    """Where a text is not what the operations make of the tree of another, as a sentence's part."""
    one = [ast.unparse(s) for s in after.tree.body]
    two = [ast.unparse(ast.fix_missing_locations(s)) for s in expected(before.tree, ops).body]
    for a, b in zip(one, two, strict=False):
        if a != b:
            for x, y in zip(a.splitlines(), b.splitlines(), strict=False):
                if x != y:
                    return f"text gives `{x.strip()}`, the tree gives `{y.strip()}`"
    return "the text and the tree differ in length"
