"""How tightly an expression binds, and how tightly it must bind where it stands."""

from __future__ import annotations

import ast

LOOSEST, TERNARY, OR, AND, NOT, COMPARISON, BIT_OR = range(7)
_UNARY, _POWER, _AWAIT, ATOM = 12, 13, 14, 15

_BINARY: dict[type[ast.operator], int] = {
    ast.BitOr: 6, ast.BitXor: 7, ast.BitAnd: 8, ast.LShift: 9, ast.RShift: 9, ast.Add: 10, ast.Sub: 10,
    ast.Mult: 11, ast.Div: 11, ast.FloorDiv: 11, ast.Mod: 11, ast.MatMult: 11, ast.Pow: _POWER,
}  # fmt: skip
_FIXED: dict[type[ast.expr], int] = {
    ast.NamedExpr: LOOSEST, ast.Yield: LOOSEST, ast.YieldFrom: LOOSEST, ast.Tuple: LOOSEST,
    ast.Starred: LOOSEST, ast.Lambda: TERNARY, ast.IfExp: TERNARY, ast.Compare: COMPARISON,
    ast.Await: _AWAIT,
}  # fmt: skip


def binds(node: ast.expr) -> int:
    """How tightly an expression holds together; a tuple counts without parentheses."""
    if isinstance(node, ast.BoolOp):
        return OR if isinstance(node.op, ast.Or) else AND
    if isinstance(node, ast.UnaryOp):
        return NOT if isinstance(node.op, ast.Not) else _UNARY
    if isinstance(node, ast.BinOp):
        return _BINARY[type(node.op)]
    return _FIXED.get(type(node), ATOM)


def wanted(parent: ast.AST, node: ast.expr) -> int:
    """How tightly an expression must bind to stand without parentheses where `node` stands."""
    if isinstance(parent, ast.BoolOp):
        return AND if isinstance(parent.op, ast.Or) else NOT
    if isinstance(parent, ast.UnaryOp):
        return NOT if isinstance(parent.op, ast.Not) else _UNARY
    if isinstance(parent, ast.BinOp):
        return _operand(parent, node)
    if isinstance(parent, ast.Compare):
        return BIT_OR
    if isinstance(parent, ast.IfExp):
        return TERNARY if node is parent.orelse else OR
    if isinstance(parent, ast.comprehension):
        return OR
    if isinstance(parent, ast.Starred):
        return BIT_OR
    if isinstance(parent, ast.Dict):
        return BIT_OR if any(k is None and v is node for k, v in _entries(parent)) else TERNARY
    if isinstance(parent, (ast.Attribute, ast.Await)):
        return ATOM
    if isinstance(parent, (ast.Call, ast.Subscript)):
        return ATOM if node is getattr(parent, "func", getattr(parent, "value", None)) else TERNARY
    return TERNARY


def _operand(parent: ast.BinOp, node: ast.expr) -> int:
    if isinstance(parent.op, ast.Pow):
        return _AWAIT if node is parent.left else _UNARY
    level = _BINARY[type(parent.op)]
    return level if node is parent.left else level + 1


def _entries(parent: ast.Dict) -> list[tuple[ast.expr | None, ast.expr]]:
    return list(zip(parent.keys, parent.values, strict=True))
