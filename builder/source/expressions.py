"""Byte spans for edits of expressions: a replacement keeps its inner text where it stands."""

from __future__ import annotations

import ast
import keyword
import re

from builder.source.ops import DropAnnotation, Operands, Replace
from builder.source.parse import Module

Span = tuple[int, int, bytes]
_WORD_BEFORE = re.compile(rb"([A-Za-z_][A-Za-z_0-9]*)\Z")
_ATOM = (ast.Name, ast.Constant, ast.Attribute, ast.Call, ast.Subscript, ast.List, ast.Dict, ast.Set)


def replace_spans(module: Module, op: Replace) -> list[Span]:
    """The spans that leave only the replacement of an expression."""
    node = op.node
    start, end = module.start(node), module.end(node)
    if isinstance(op.by, str):
        text = op.by.encode()
        if isinstance(ast.parse(op.by, mode="eval").body, _ATOM):
            start, end = _grouping(module, node, start, end)
        return [(start, end, text)]
    inner = (module.start(op.by), module.end(op.by))
    outer = module.extent(op.by, start - 1, end + 1)
    outer = (max(outer[0], start), min(outer[1], end))
    low, high = inner if _bare(module, node, op.by, inner, outer) else outer
    if isinstance(op.by, _ATOM) and b"\n" not in module.data[low:high]:
        start, end = _grouping(module, node, start, end)
    return [(start, low, b""), (high, end, b"")]


def _bare(
    module: Module, node: ast.expr, child: ast.expr, inner: tuple[int, int], outer: tuple[int, int]
) -> bool:
    """May the parentheses around the child leave?"""
    if inner == outer:
        return True
    if b"\n" in module.data[outer[0] : outer[1]]:
        return False
    if isinstance(child, _ATOM):
        return True
    if isinstance(child, (ast.GeneratorExp, ast.Tuple, ast.NamedExpr, ast.Yield, ast.Await, ast.Lambda)):
        return False
    parent = module.parents.get(node)
    loose = (ast.stmt, ast.keyword, ast.comprehension, ast.List, ast.Set, ast.Dict)
    if isinstance(parent, ast.Call):
        return node is not parent.func
    if isinstance(parent, ast.BoolOp):
        return isinstance(child, (ast.Compare, ast.UnaryOp)) or (
            isinstance(child, ast.BoolOp) and isinstance(child.op, ast.And) and isinstance(parent.op, ast.Or)
        )
    return isinstance(parent, loose)


def _grouping(module: Module, node: ast.expr, start: int, end: int) -> tuple[int, int]:
    """The span of an expression with the parentheses that only group it."""
    data = module.data
    while True:
        before = module.skip_back(start, 0)
        after = module.skip_forward(end)
        if data[before - 1 : before] != b"(" or data[after : after + 1] != b")":
            return start, end
        opening = before - 1
        left = data[module.skip_back(opening, 0) - 1 : opening]
        previous = data[: module.skip_back(opening, 0)][-64:]
        word = _WORD_BEFORE.search(previous)
        if word is not None:
            name = word.group(1).decode("ascii", "replace")
            if not keyword.iskeyword(name) or name in ("None", "True", "False"):
                return start, end  # a call or a definition
            if not left[1:]:  # nothing between keyword and parenthesis: `if(x)`
                return start, end
        elif previous[-1:] in (b")", b"]", b"}", b'"', b"'"):
            return start, end
        start, end = opening, after + 1


def operand_spans(module: Module, op: Operands) -> list[Span]:
    """The spans that leave only the kept operands of an `and` or `or`."""
    values = op.node.values
    start, end = module.start(op.node), module.end(op.node)
    extents = []
    for index, value in enumerate(values):
        low = start - 1 if index == 0 else module.end(values[index - 1])
        high = end + 1 if index + 1 == len(values) else module.start(values[index + 1])
        extents.append(module.extent(value, low, high))
    spans: list[Span] = []
    if op.keep[0] > 0:
        spans.append((start, extents[op.keep[0]][0], b""))
    for left, right in zip(op.keep, op.keep[1:], strict=False):
        if right != left + 1:
            spans.append((extents[left][1], extents[right - 1][1], b""))
    if op.keep[-1] < len(values) - 1:
        spans.append((extents[op.keep[-1]][1], end, b""))
    return spans


def annotation_spans(module: Module, op: DropAnnotation) -> list[Span]:
    """The span of an annotation with its colon or arrow."""
    node = op.node
    data = module.data
    if isinstance(node, ast.arg):
        assert node.annotation is not None
        start = module.start(node) + len(node.arg.encode())
        spans: list[Span] = [(start, module.end(node), b"")]
        equals = module.skip_forward(module.end(node))
        if data[equals : equals + 1] == b"=":  # `x: T = 1` becomes `x=1`
            spans = [(start, module.skip_forward(equals + 1), b"=")]
        return spans
    if isinstance(node, ast.AnnAssign):
        assert node.value is not None
        low, high = module.start(node.target), module.start(node.value)
        return [(module.end(node.target), module.extent(node.annotation, low, high)[1], b"")]
    assert node.returns is not None
    low = module.start(node)
    start, end = module.extent(node.returns, low, module.start(node.body[0]))
    arrow = module.skip_back(start, low)
    assert data[arrow - 2 : arrow] == b"->"
    return [(module.skip_back(arrow - 2, low), end, b"")]
