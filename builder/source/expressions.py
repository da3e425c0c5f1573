"""Byte spans for edits of expressions: a replacement keeps its inner text where it stands."""

from __future__ import annotations

import ast
import keyword
import re

from builder.source.ops import DropAnnotation, DropGuard, Operands, Replace, by_itself
from builder.source.parse import Module, own_parentheses, parse
from builder.source.spans import Span

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
_WORD_BEFORE = re.compile(rb"([A-Za-z_][A-Za-z_0-9]*)\Z")
_WORD = re.compile(rb"[A-Za-z_0-9\x80-\xff]")
_ATOM = (ast.Name, ast.Constant, ast.Attribute, ast.Call, ast.Subscript, ast.List, ast.Dict, ast.Set)
#: Parentheses around these belong to them.
_HELD = (ast.GeneratorExp, ast.Tuple, ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await, ast.Lambda)
#: Expressions with brackets of their own, inside which lines break freely.
_BRACKETS = (
    ast.Call, ast.Subscript, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp,
    ast.GeneratorExp,
)  # fmt: skip


def replace_spans(module: Module, op: Replace) -> list[Span]:
    """The spans that leave only the replacement of an expression."""
    return _by_text(module, op.node, op.by) if isinstance(op.by, str) else _by_part(module, op.node, op.by)


def _by_text(module: Module, node: ast.expr, by: str) -> list[Span]:
    start, end = module.start(node), module.end(node)
    text = by.encode()
    new = by_itself(by)
    if isinstance(node, ast.Constant) and isinstance(new, ast.Constant) and "\n" in by:
        return [(start, end, text)]  # one string for another: the lines of both hang together alike
    grouped = _grouping(module, start, end)
    if _is_only_argument(module, node):
        return [(start, end, b"(" + text + b")")]
    own = own_parentheses(parse(text, ""), new) or (new.col_offset > 0 and not isinstance(new, ast.Tuple))
    loose = not own and _needs_parentheses(module, node, new)
    if isinstance(new, _ATOM) and not loose:
        return [_spaced(module, *grouped, text)]
    if grouped == (start, end) and loose:
        text = b"(" + text + b")"
    return [_spaced(module, start, end, text)]


def _by_part(module: Module, node: ast.expr, by: ast.expr) -> list[Span]:
    start, end = module.start(node), module.end(node)
    inner = (module.start(by), module.end(by))
    outer = _grouping(module, *inner)
    outer = (max(outer[0], start), min(outer[1], end))
    low, high = inner if _bare(module, node, by, inner, outer) else outer
    broken = module.broken(low, high)
    grouped = _grouping(module, start, end)
    if _is_only_argument(module, node):
        return [(start, low, b"("), (high, end, b")")]
    loose = False
    if (low, high) == inner and not own_parentheses(module, by):
        loose = _needs_parentheses(module, node, by) or (broken and isinstance(node, _BRACKETS))
        if loose and grouped == (start, end):
            return [(start, low, b"("), (high, end, b")")]
    if isinstance(by, _ATOM) and not broken and not loose:
        start, end = grouped
    before = b" " if low > start and _touch(module.data, start, low) else b""
    after = b" " if high < end and _touch(module.data, high, end) else b""
    return [(start, low, before), (high, end, after)]


def _touch(data: bytes, left: int, right: int) -> bool:
    """Return whether the text before one place and the text after another would run together into one
    word."""
    return bool(left and _WORD.match(data, left - 1) and _WORD.match(data, right))


def _spaced(module: Module, start: int, end: int, text: bytes) -> Span:
    """A span whose text does not run together with the words around it."""
    data = module.data
    if start and _WORD.match(data, start - 1) and _WORD.match(text):
        text = b" " + text
    if _WORD.match(data, end) and _WORD.match(text, len(text) - 1):
        text += b" "
    return start, end, text


def _needs_parentheses(module: Module, node: ast.expr, new: ast.expr) -> bool:
    """Return whether `new` without parentheses would mean something else where `node` stands."""
    parent = module.parents[node]
    number = isinstance(new, ast.Constant) and type(new.value) in (int, float, complex)
    if number and isinstance(parent, ast.Attribute):
        return True
    return binds(new) < wanted(parent, node)


def _is_only_argument(module: Module, node: ast.expr) -> bool:
    """Return whether this is a generator whose parentheses are those of a call."""
    if not isinstance(node, ast.GeneratorExp):
        return False
    parent = module.parents[node]
    return isinstance(parent, ast.Call) and module.end(parent) == module.end(node)


def _bare(
    module: Module, node: ast.expr, child: ast.expr, inner: tuple[int, int], outer: tuple[int, int]
) -> bool:
    """Return whether the parentheses around the child may leave."""
    if inner == outer:
        return True
    if module.broken(*outer) or isinstance(child, _HELD):
        return False
    if _needs_parentheses(module, node, child):
        return False
    parent = module.parents[node]
    return isinstance(child, _ATOM) or not isinstance(parent, (ast.UnaryOp, ast.BinOp, ast.Compare))


def _grouping(module: Module, start: int, end: int) -> tuple[int, int]:
    """The span of an expression with the parentheses that only group it."""
    data = module.data
    while True:
        before = module.skip_back(start, 0)
        after = module.skip_forward(end)
        if data[before - 1 : before] != b"(" or data[after : after + 1] != b")":
            return start, end
        opening = before - 1
        previous = data[: module.skip_back(opening, 0)][-64:]
        word = _WORD_BEFORE.search(previous)
        if word is not None:
            name = word.group(1).decode("ascii", "replace")
            if not keyword.iskeyword(name) or name in ("None", "True", "False"):
                return start, end  # a call or a definition
        elif previous[-1:] in (b")", b"]", b"}", b'"', b"'") or previous[-1:] >= b"\x80":
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
        spans.append(_without(module, start, extents[op.keep[0]][0]))
    for left, right in zip(op.keep, op.keep[1:], strict=False):
        if right != left + 1:
            spans.append(
                _between(module, extents[left], extents[left + 1], extents[right - 1], extents[right])
            )
    if op.keep[-1] < len(values) - 1:
        spans.append(_after(module, extents[op.keep[-1]], extents[op.keep[-1] + 1], end))
    return spans


Extent = tuple[int, int]


def _without(module: Module, low: int, high: int) -> Span:
    """A deletion that leaves words apart."""
    return low, high, b" " if _touch(module.data, low, high) else b""


def _between(module: Module, left: Extent, first: Extent, last: Extent, right: Extent) -> Span:
    """The deletion of operands between two that stay, each with the comment on its line."""
    if not module.broken(last[1], right[0]) or _operator_ends_line(module, last[1]):
        if module.broken(left[1], first[0]) and _operator_ends_line(module, left[1]):
            return _without(module, first[0], right[0])
        return _without(module, left[1], last[1])
    return _after(module, left, first, last[1])


def _after(module: Module, left: Extent, first: Extent, end: int) -> Span:
    """The deletion of operands that begin on lines of their own, with the comment on the last line."""
    rest = module.line_end(end)
    if (
        not module.broken(left[1], first[0])
        or _operator_ends_line(module, left[1])
        or not _only_comment(module, end, rest)
    ):
        return _without(module, left[1], end)
    return module.line_end(left[1]), rest, b""


def _operator_ends_line(module: Module, low: int) -> bool:
    """Return whether `and` or `or` stands at the end of a line, not at the beginning of the next."""
    operator = module.skip_forward(low)
    return not module.broken(low, operator)


def _only_comment(module: Module, low: int, high: int) -> bool:
    return module.skip_forward(low) >= high


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


def guard_spans(module: Module, op: DropGuard) -> list[Span]:
    """The span from the pattern of a `case` to the end of its guard."""
    case = op.node
    assert case.guard is not None
    start = module.extent(case.pattern, 0, module.start(case.guard))[1]
    end = module.extent(case.guard, start, module.start(case.body[0]))[1]
    return [(start, end, b"")]


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
