"""Byte spans for members that leave a comma list, a decorator list or a comprehension."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from builder.source.layout import is_blank, is_comment
from builder.source.parse import Module, own_parentheses
from builder.source.spans import Span


def drop_items(module: Module, dropped: Mapping[tuple[ast.AST, str], set[int]]) -> list[Span]:
    """The spans for every DropItem but handlers and cases, which are clauses."""
    spans: list[Span] = []
    lists: defaultdict[ast.AST, set[tuple[str, int]]] = defaultdict(set)
    for (node, field), indices in dropped.items():
        if field in ("handlers", "cases"):
            continue
        members = getattr(node, field)
        if field == "decorator_list":
            for index in indices:
                start = module.skip_back(module.start(members[index]), 0)  # after the @
                low = module.line_of(start - 1)
                high = members[index].end_lineno
                spans.append((module.starts[low], module.starts[high], b""))
        elif field == "ifs":
            assert isinstance(node, ast.comprehension)
            for index in indices:
                previous = node.ifs[index - 1] if index else node.iter
                low = module.extent(previous, 0, module.start(members[index]))[1]
                after = node.ifs[index + 1] if index + 1 < len(node.ifs) else None
                high = len(module.data) if after is None else module.start(after)
                end = module.extent(members[index], low, high)[1]
                spans.append((low, min(end, _close(module, members[index], low, end)), b""))
        else:
            lists[node].update((field, index) for index in indices)
    for node, which in lists.items():
        spans.extend(_comma_list(module, node, which))
    return spans


def _close(module: Module, node: ast.AST, low: int, end: int) -> int:
    """An `if` of a generator may stand before the closing parenthesis of a call: never take that."""
    start = module.start(node)
    taken = module.data[low:start].count(b"(")
    tail = end
    while module.data[module.end(node) : tail].count(b")") > taken:
        tail = module.data.rfind(b")", module.end(node), tail)
    return tail


@dataclass(frozen=True, slots=True)
class _Item:
    start: int
    end: int
    dropped: bool


def _members(module: Module, node: ast.AST) -> list[tuple[str, int, int, int]]:
    """(field, index, start, end) of the members of a comma list, in order, without parentheses."""
    found: list[tuple[str, int, int, int]] = []
    if isinstance(node, ast.Dict):
        for index, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
            if key is None:
                start = module.skip_back(module.start(value), module.start(node)) - 2
                while module.data[start : start + 2] != b"**":
                    start -= 1
            else:
                start = module.start(key)
            after = node.keys[index + 1] if index + 1 < len(node.keys) else None
            high = module.start(after) if after is not None else module.end(node)
            low = start + 2 if key is None else module.end(key)
            found.append(("keys", index, start, module.extent(value, low, high)[1]))
        return found
    for field in ("elts", "args", "keywords", "names", "bases"):
        if field == "keywords" and not isinstance(node, (ast.Call, ast.ClassDef)):
            continue
        for index, member in enumerate(getattr(node, field, ()) or ()):
            found.append((field, index, module.start(member), module.end(member)))
    return sorted(found, key=lambda m: m[2])


def _comma_list(module: Module, node: ast.AST, which: set[tuple[str, int]]) -> list[Span]:
    members = _members(module, node)
    data = module.data
    items: list[_Item] = []
    for position, (field, index, start, end) in enumerate(members):
        low = members[position - 1][3] if position else -1
        high = members[position + 1][2] if position + 1 < len(members) else len(data)
        items.append(_Item(*_parenthesised(module, node, start, end, low, high), (field, index) in which))
    kept = [i for i, item in enumerate(items) if not item.dropped]
    if isinstance(node, ast.Set) and not kept:
        return [(module.start(node), module.end(node), b"set()")]
    if isinstance(node, ast.Tuple) and not kept and not own_parentheses(module, node):
        raise ValueError(f"{module.path}:{node.lineno}: a bare tuple cannot become empty")
    spans: list[Span] = []
    for index, item in enumerate(items):
        if not item.dropped:
            continue
        whole = _own_lines(module, items, index)
        if whole is not None:
            spans.append((module.starts[whole[0]], module.starts[whole[1]], b""))
        elif index + 1 < len(items):
            spans.append((item.start, items[index + 1].start, b""))
        else:
            before = [k for k in kept if k < index]
            if before:
                spans.append((items[before[-1]].end, item.end, b""))
            else:
                spans.append((item.start, _comma_after(module, item) or item.end, b""))
    if isinstance(node, ast.Tuple) and len(kept) == 1:
        commas = [_comma_after(module, items[kept[0]]), _comma_after(module, items[-1])]
        if not any(c and not any(s <= c - 1 < e for s, e, _ in spans) for c in commas):
            spans.append((items[kept[0]].end, items[kept[0]].end, b","))
    return spans


def _parenthesised(
    module: Module, node: ast.AST, start: int, end: int, low: int, high: int
) -> tuple[int, int]:
    """Widen a member over its grouping parentheses, never over those of the list itself."""
    data = module.data
    floor = module.start(node)
    if isinstance(node, ast.Call):
        floor = module.skip_forward(module.end(node.func))
        while data[floor : floor + 1] != b"(":
            floor = module.skip_forward(floor + 1)
        floor += 1
    elif isinstance(node, (ast.List, ast.Set, ast.Dict)) or own_parentheses(module, node):
        floor += 1
    elif not isinstance(node, ast.Tuple):
        return start, end
    return module.parenthesised(start, end, max(floor, low), min(high, module.end(node)))


def _comma_after(module: Module, item: _Item) -> int | None:
    at = module.skip_forward(item.end)
    return at + 1 if module.data[at : at + 1] == b"," else None


def _own_lines(module: Module, items: list[_Item], index: int) -> tuple[int, int] | None:
    """The lines of a member that shares none of them, with the comments that head only dropped ones."""
    lines = _lines(module, items[index])
    if lines is None:
        return None
    top, bottom = lines
    above = top
    while above > 0 and is_comment(module.line(above - 1)):
        above -= 1
    if above < top:
        at = index + 1
        end = bottom
        while at < len(items):
            following = _lines(module, items[at])
            if following is None or following[0] != end:
                break
            if not items[at].dropped:
                return top, bottom
            end = following[1]
            at += 1
    return above, bottom


def _lines(module: Module, item: _Item) -> tuple[int, int] | None:
    top = module.line_of(item.start)
    if module.data[module.starts[top] : item.start].strip():
        return None
    end = _comma_after(module, item) or item.end
    bottom = module.line_of(end - 1) + 1
    rest = module.data[end : module.starts[bottom]]
    return (top, bottom) if is_blank(rest) or is_comment(rest) else None
