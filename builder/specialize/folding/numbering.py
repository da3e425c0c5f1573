"""Does a loop count its turns, or tell by what it fills one by one at which position an element stands?"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

_FILLS = frozenset(["append", "appendleft", "insert", "extend", "put", "put_nowait"])
_TAKES = frozenset(["__len__", "__next__", "pop", "popitem", "popleft"])


def numbers(parts: Iterable[ast.AST]) -> bool:
    """Do the parts of a loop that run once for each element count the elements?

    `n += 1`, `n = n + 1`, `ids[name] = first; first = False`, `next(counter)`, `ids[name] = len(ids)`,
    `free.pop()`, `yield name`.
    """
    nodes = [node for part in parts for node in ast.walk(part)]
    grown = {ast.unparse(owner) for owner in _grown(nodes)}
    return _hands_on(nodes) or any(_counts(node, grown) for node in nodes)


def _hands_on(nodes: Sequence[ast.AST]) -> bool:
    """Does a turn read what one before it has stored? None comes after one that ends the loop."""
    last = {part for suite in map(_last_turn, nodes) for stmt in suite for part in ast.walk(stmt)}
    turns = (node.target for node in nodes if isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)))
    inner = {part for target in turns for part in ast.walk(target)}
    names = [node for node in nodes if isinstance(node, (ast.Name, ast.Attribute)) and node not in inner]
    names = [node for node in names if isinstance(node.ctx, ast.Load) or node not in last]
    stored: dict[str, tuple[int, int]] = {}
    for node in names:
        if isinstance(node.ctx, ast.Store):
            said, at = ast.unparse(node), (node.lineno, node.col_offset)
            stored[said] = min(at, stored.get(said, at))
    return any(
        isinstance(node.ctx, ast.Load)
        and (node.lineno, node.col_offset) < stored.get(ast.unparse(node), (0, 0))
        for node in names
    ) or any(
        not _said(node.value).isdisjoint(said for target in _targets(node) for said in _said(target))
        for node in nodes
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) and node.value is not None
        if node not in last
    )


def _last_turn(node: ast.AST) -> Sequence[ast.stmt]:
    """The suite of an `if` after which the loop ends."""
    body = node.body if isinstance(node, ast.If) else []
    return body if body and isinstance(body[-1], (ast.Break, ast.Return, ast.Raise)) else []


def _targets(node: ast.Assign | ast.AnnAssign | ast.NamedExpr) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def _said(node: ast.expr | None) -> set[str]:
    """The names and attributes in an expression."""
    parts = ast.walk(node) if node is not None else ()
    return {ast.unparse(part) for part in parts if isinstance(part, (ast.Name, ast.Attribute))}


def filled(parts: Iterable[ast.AST]) -> Iterator[ast.expr]:
    """The collections that a loop adds to, one element after the other."""
    for part in parts:
        for node in ast.walk(part):
            if isinstance(node, ast.Attribute) and node.attr in _FILLS:
                yield node.value


def stored(parts: Iterable[ast.AST]) -> Iterator[ast.expr]:
    """The dicts in which a loop stores items, and the names to which it gives a constant: `found = True`."""
    for part in parts:
        for node in ast.walk(part):
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                yield node.value
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
                yield from (target for target in node.targets if isinstance(target, ast.Name))


def _counts(node: ast.AST, grown: set[str]) -> bool:
    if isinstance(node, ast.AugAssign):
        return not isinstance(node.target, ast.Subscript) or isinstance(node.target.slice, ast.Constant)
    if isinstance(node, ast.Attribute) and node.attr in _TAKES:
        return True
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
