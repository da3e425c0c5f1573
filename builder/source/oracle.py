"""Edits the tree: the same operations as `splice`, done on the syntax tree by an independent route.

The parse of the spliced text must equal this tree; that is what makes splicing trustworthy.
"""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from itertools import dropwhile
from typing import Any

from builder.source.layout import first_line
from builder.source.ops import (
    Body,
    Decide,
    Documented,
    DropAnnotation,
    DropGuard,
    DropItem,
    ImportModule,
    Op,
    Operands,
    Remove,
    Replace,
    Unwrap,
    by_itself,
    line_of,
)
from builder.source.parse import Module, documentation


def expected(tree: ast.Module, ops: Iterable[Op]) -> ast.Module:
    """A new tree with the operations applied; `tree` is left as it is."""
    return Oracle(ops).module(tree)


class Oracle:
    """Applies operations to syntax trees; what it gives has no places in the text."""

    def __init__(self, ops: Iterable[Op]) -> None:
        self.statements: dict[ast.AST, Remove | Decide | Unwrap | ImportModule | Body] = {}
        self.expressions: dict[ast.AST, Replace | Operands] = {}
        self.dropped: defaultdict[tuple[ast.AST, str], set[int]] = defaultdict(set)
        self.bare: set[ast.AST] = set()
        for op in ops:
            if isinstance(op, (Replace, Operands)):
                self.expressions[op.node] = op
            elif isinstance(op, DropItem):
                self.dropped[op.node, op.field].add(op.index)
            elif isinstance(op, (DropAnnotation, DropGuard)):
                self.bare.add(op.node)
            elif not isinstance(self.statements.get(op.node), Remove):
                self.statements[op.node] = op

    def module(self, tree: ast.Module) -> ast.Module:
        return ast.Module(body=self.documented(tree, self.suite(tree.body)), type_ignores=[])

    def documented(self, owner: Documented, suite: list[ast.stmt]) -> list[ast.stmt]:
        """The new suite of something that may have a docstring: no other string takes that place."""
        first = owner.body[0] if owner.body else None
        if first is not None and first not in self.statements and documentation(first) is not None:
            return suite
        return list(dropwhile(lambda stmt: documentation(stmt) is not None, suite))

    def suite(self, stmts: list[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for stmt in stmts:
            found.extend(self.statement(stmt))
        return found

    def statement(self, stmt: ast.stmt) -> list[ast.stmt]:
        op = self.statements.get(stmt)
        if isinstance(op, Remove):
            return []
        if isinstance(op, Unwrap):
            return self.suite(list(op.suite))
        if isinstance(op, Decide):
            assert isinstance(stmt, ast.If)
            return self.suite(stmt.body if op.value else stmt.orelse)
        if isinstance(op, ImportModule):
            return [ast.Import(names=[ast.alias(name=op.module, asname=None)])]
        if isinstance(op, Body):
            new = self.generic(stmt)
            new.body = ast.parse(op.source).body
            return [new]
        new = self.generic(stmt)
        if isinstance(stmt, ast.Try) and not new.handlers and not new.finalbody:
            return self.suite(stmt.body)
        if isinstance(stmt, ast.AnnAssign) and stmt in self.bare:
            assert new.value is not None
            return [ast.Assign(targets=[new.target], value=new.value)]
        return [new]

    def expression(self, node: ast.expr) -> ast.expr:
        op = self.expressions.get(node)
        if isinstance(op, Replace):
            if isinstance(op.by, str):
                return by_itself(op.by)
            return self.expression(op.by)
        if isinstance(op, Operands):
            assert isinstance(node, ast.BoolOp)
            values = [self.expression(node.values[i]) for i in op.keep]
            return ast.BoolOp(op=node.op, values=values)
        if isinstance(node, ast.Set) and len(self.dropped.get((node, "elts"), ())) == len(node.elts):
            return ast.Call(func=ast.Name(id="set", ctx=ast.Load()), args=[], keywords=[])
        new = self.generic(node)
        assert isinstance(new, ast.expr)
        return new

    def generic(self, node: ast.AST) -> Any:
        fields: dict[str, Any] = {}
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                fields[name] = self.members(node, name, value)
            else:
                fields[name] = self.value(value)
        if node in self.bare:
            if isinstance(node, ast.arg):
                fields["annotation"] = None
            elif isinstance(node, ast.match_case):
                fields["guard"] = None
            elif not isinstance(node, ast.AnnAssign):
                fields["returns"] = None
        if isinstance(node, ast.FormattedValue) and fields.get("format_spec") is None:
            fields["format_spec"] = None
        return type(node)(**fields)

    def members(self, node: ast.AST, name: str, values: list[Any]) -> list[Any]:
        gone = self.dropped.get((node, "keys" if isinstance(node, ast.Dict) else name), ())
        kept = [v for i, v in enumerate(values) if i not in gone]
        if values and isinstance(values[0], ast.stmt):
            suite = self.suite(kept)
            if name == "body" and isinstance(node, Documented):
                suite = self.documented(node, suite)
            if not suite and name == "body" and not isinstance(node, ast.Module):
                return [ast.Pass()]
            return list(suite)
        return [self.value(v) for v in kept]

    def value(self, value: Any) -> Any:
        if isinstance(value, ast.expr):
            return self.expression(value)
        return self.generic(value) if isinstance(value, ast.AST) else value


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
