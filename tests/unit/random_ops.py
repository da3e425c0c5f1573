"""Random operations on a syntax tree, of the kinds that folding may ask for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from random import Random

from builder.source.ops import (
    Body,
    Decide,
    DropAnnotation,
    DropGuard,
    DropItem,
    ImportModule,
    Op,
    Operands,
    Remove,
    Replace,
    Unwrap,
    irrefutable,
)
from builder.source.parse import Module, own_parentheses

_TEXTS = ("False", "None", "3", "'new'", "x.y", "g(1)", "p if q else r", "not s", "-7", "t or u")


def random_ops(module: Module, random: Random, share: float) -> list[Op]:
    """Operations on about `share` of the nodes that allow one."""
    return list(_Chooser(module, random, share).all())


class _Chooser:
    def __init__(self, module: Module, random: Random, share: float) -> None:
        self.module = module
        self.random = random
        self.share = share

    def chance(self) -> bool:
        return self.random.random() < self.share

    def all(self) -> Iterator[Op]:
        for node in _nodes(self.module.tree):
            if isinstance(node, ast.stmt):
                yield from self.statement(node)
            elif isinstance(node, ast.expr):
                yield from self.expression(node)
            elif isinstance(node, ast.comprehension):
                yield from self.items(node, "ifs", len(node.ifs))
            elif isinstance(node, ast.match_case):
                if node.guard is not None and not irrefutable(node.pattern) and self.chance():
                    yield DropGuard(node)
            elif isinstance(node, ast.arg) and node.annotation is not None and self.chance():
                yield DropAnnotation(node)

    def statement(self, node: ast.stmt) -> Iterator[Op]:
        if self.chance():
            op = self.whole(node)
            if op is not None:
                yield op
                return
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from self.items(node, "names", len(node.names), most=len(node.names) - 1)
        elif isinstance(node, ast.Try):
            most = len(node.handlers) - (0 if node.finalbody and not node.orelse else 1)
            yield from self.items(node, "handlers", len(node.handlers), most)
        elif isinstance(node, ast.Match):
            yield from self.items(node, "cases", len(node.cases), most=len(node.cases) - 1)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield from self.items(node, "decorator_list", len(node.decorator_list))
            if isinstance(node, ast.ClassDef):
                yield from self.items(node, "bases", len(node.bases))
                yield from self.items(node, "keywords", len(node.keywords))
            elif node.returns is not None and self.chance():
                yield DropAnnotation(node)
        elif isinstance(node, ast.AnnAssign) and node.value is not None and self.chance():
            yield DropAnnotation(node)

    def whole(self, node: ast.stmt) -> Op | None:
        """An operation on a statement as a whole."""
        kind = self.random.randrange(3)
        if kind == 0:
            return Remove(node)
        if isinstance(node, ast.ImportFrom) and kind == 1:
            return ImportModule(node, node.module or "pkg.mod")
        if isinstance(node, ast.If):
            return Decide(node, bool(self.random.randrange(2)))
        if isinstance(node, ast.While) and node.orelse:
            return Unwrap(node, tuple(node.orelse))
        if isinstance(node, ast.Try) and node.handlers and not node.finalbody:
            return Unwrap(node, tuple(self.random.choice(node.handlers).body))
        if isinstance(node, (ast.Try, ast.With)) and not getattr(node, "orelse", None):
            return Unwrap(node, tuple(node.body)) if not getattr(node, "finalbody", None) else None
        if isinstance(node, ast.FunctionDef) and kind == 1:
            return Body(node, 'raise NotImplementedError("""gone\n  for good""")\nreturn')
        return None

    def expression(self, node: ast.expr) -> Iterator[Op]:
        if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            return
        if isinstance(node, (ast.Starred, ast.Slice)) or _holds_slices(node):
            return
        parent = self.module.parents[node]
        replaceable = not isinstance(parent, (ast.pattern, ast.Expr)) and not _decorates(parent, node)
        if replaceable and self.chance():
            yield self.replacement(node)
        elif isinstance(node, ast.BoolOp) and len(node.values) > 2 and self.chance():
            keep = sorted(self.random.sample(range(len(node.values)), len(node.values) - 1))
            yield Operands(node, tuple(keep))
        elif isinstance(node, (ast.List, ast.Set)):
            yield from self.items(node, "elts", len(node.elts))
        elif isinstance(node, ast.Tuple):
            bare = not own_parentheses(self.module, node)
            yield from self.items(node, "elts", len(node.elts), most=len(node.elts) - bare)
        elif isinstance(node, ast.Dict):
            yield from self.items(node, "keys", len(node.keys))
        elif isinstance(node, ast.Call):
            yield from self.items(node, "keywords", len(node.keywords))
            if not (len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp)):
                yield from self.items(node, "args", len(node.args))

    def replacement(self, node: ast.expr) -> Replace:
        children = [
            child
            for child in ast.iter_child_nodes(node)
            if isinstance(child, ast.expr) and not isinstance(child, (ast.Starred, ast.Slice))
            and not (isinstance(node, ast.Subscript) and isinstance(child, ast.Tuple))
            and not (isinstance(node, ast.NamedExpr) and child is node.target)
            and not isinstance(node, ast.JoinedStr)  # places inside are wrong before Python 3.12
        ]  # fmt: skip
        if children and not isinstance(node, (ast.ListComp, ast.GeneratorExp)) and self.random.randrange(2):
            return Replace(node, self.random.choice(children))
        return Replace(node, self.random.choice(_TEXTS))

    def items(self, node: ast.AST, field: str, count: int, most: int | None = None) -> Iterator[Op]:
        which = [index for index in range(count) if self.chance()]
        for index in which[: count if most is None else max(most, 0)]:
            yield DropItem(node, field, index)


def _holds_slices(node: ast.expr) -> bool:
    """Return whether this is the tuple of `x[1:2, 3]`, which means nothing elsewhere."""
    return isinstance(node, ast.Tuple) and any(isinstance(item, ast.Slice) for item in node.elts)


def _decorates(parent: ast.AST, node: ast.expr) -> bool:
    return node in getattr(parent, "decorator_list", ())


def _nodes(tree: ast.Module) -> Iterator[ast.AST]:
    """Every node, but nothing inside f-strings."""
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, ast.JoinedStr):
            stack.extend(ast.iter_child_nodes(node))
