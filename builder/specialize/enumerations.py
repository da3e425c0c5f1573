"""Members of an enumeration keep their values when one of them leaves."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from builder.source.ops import Replace
from builder.specialize.names import names_of


def kept_numbers(stmt: ast.ClassDef, removed: Collection[ast.AST]) -> Iterator[Replace]:
    """Give a member its number where `auto()` would count anew, because the one before it leaves.

    Nothing where the values are not numbers that can be told, or where the class makes them itself.
    """
    bases = {(names_of(base) or ("",))[0] for base in stmt.bases}
    if not any(base.endswith(("Enum", "Flag")) for base in bases) or "StrEnum" in bases:
        return
    if any(isinstance(s, ast.FunctionDef) and s.name == "_generate_next_value_" for s in stmt.body):
        return
    flag = any(base.endswith("Flag") for base in bases)
    highest: int | None = 0  # with what has left
    counted: int | None = 0  # as `auto()` will count
    for inner in stmt.body:
        if not isinstance(inner, ast.Assign) or not isinstance(inner.targets[0], ast.Name):
            continue
        number = _number(inner.value)
        automatic = isinstance(inner.value, ast.Call) and names_of(inner.value.func)[:1] == ("auto",)
        if automatic:
            number = None if highest is None else _next(highest, flag)
        highest = number if number is None or highest is None else max(highest, number)
        if inner in removed:
            continue
        if automatic and number is not None and (counted is None or _next(counted, flag) != number):
            yield Replace(inner.value, str(number))
        counted = number if number is None or counted is None else max(counted, number)


def _next(highest: int, flag: bool) -> int:
    return 1 << highest.bit_length() if flag else highest + 1


def _number(node: ast.expr) -> int | None:
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None
