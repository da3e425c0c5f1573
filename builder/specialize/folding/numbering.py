"""Does a loop tell at which position an element stands: by a counter, or by what it fills one by one?"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

_FILLS = frozenset(["append", "appendleft", "insert", "extend", "put", "put_nowait"])


def numbers(parts: Iterable[ast.AST]) -> bool:
    """Do the parts of a loop that run once for each element count the elements?

    `n += 1`, `n = n + 1`, `next(counter)`, `ids[name] = len(ids)`, `yield name`.
    """
    nodes = [node for part in parts for node in ast.walk(part)]
    grown = {ast.unparse(owner) for owner in _grown(nodes)}
    return any(_counts(node, grown) for node in nodes)


def filled(parts: Iterable[ast.AST]) -> Iterator[ast.expr]:
    """The collections that a loop adds to, one element after the other."""
    for part in parts:
        for node in ast.walk(part):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in _FILLS:
                yield node.func.value  # type: ignore[attr-defined]


def _counts(node: ast.AST, grown: set[str]) -> bool:
    if isinstance(node, ast.AugAssign):
        return not isinstance(node.target, ast.Subscript)
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp):
        targets = {target.id for target in node.targets if isinstance(target, ast.Name)}
        return any(isinstance(read, ast.Name) and read.id in targets for read in ast.walk(node.value))
    if isinstance(node, (ast.Yield, ast.YieldFrom)):
        return True
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    if node.func.id == "len" and len(node.args) == 1:
        return ast.unparse(node.args[0]) in grown
    return node.func.id == "next"


def _grown(nodes: Iterable[ast.AST]) -> Iterator[ast.expr]:
    """What a loop stores items in, or adds to."""
    for node in nodes:
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            yield node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield node.func.value
