"""Members of an enumeration keep their values when one of them leaves."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator

from builder.source.ops import Replace
from builder.specialize.evaluating.names import names_of

#: Methods with which a class makes the values of its members itself.
_MAKES_VALUES = ("__new__", "__init__")


class Enumeration:
    """A class, as far as it is an enumeration. `qualified`: names an expression of its scope."""

    def __init__(self, stmt: ast.ClassDef, qualified: Callable[[ast.expr], object]) -> None:
        self.stmt = stmt
        self.bases = [(names_of(base) or ("",))[0] for base in stmt.bases]
        self._qualified = qualified

    @property
    def is_one(self) -> bool:
        return any(base.endswith(("Enum", "Flag")) for base in self.bases)

    def counts_itself(self) -> bool:
        """May the class give its members values that depend on how many there are?"""
        functions = [s for s in self.stmt.body if isinstance(s, ast.FunctionDef)] if self.is_one else []
        return any(f.name in _MAKES_VALUES or _counts(f) for f in functions)

    def renames(self, removed: Collection[ast.AST]) -> bool:
        """Is a member that leaves the one whose name others of the same value have?"""
        if not self.is_one:
            return False
        first: dict[str, ast.stmt] = {}
        for inner in self.stmt.body:
            if isinstance(inner, ast.Assign) and isinstance(inner.targets[0], ast.Name):
                if self._is_automatic(inner.value):
                    continue
                value = ast.dump(inner.value)
                if inner not in removed and first.setdefault(value, inner) in removed:
                    return True
                first.setdefault(value, inner)
        return False

    def kept_numbers(self, removed: Collection[ast.AST]) -> Iterator[Replace]:
        """Give a member its number where `auto()` would count anew, because one before it leaves.

        Nothing where the values are not numbers that can be told.
        """
        if not self.is_one or "StrEnum" in self.bases or removed.isdisjoint(self.stmt.body):  # type: ignore[attr-defined]
            return
        if any(getattr(s, "name", "") == "_generate_next_value_" for s in self.stmt.body):
            return
        flag = any(base.endswith("Flag") for base in self.bases)
        highest: int | None = 0  # with what has left
        counted: int | None = 0  # as `auto()` will count
        for inner in self.stmt.body:
            if not isinstance(inner, ast.Assign) or not isinstance(inner.targets[0], ast.Name):
                continue
            number = _number(inner.value)
            automatic = self._is_automatic(inner.value)
            if automatic:
                number = None if highest is None else _next(highest, flag)
            highest = number if number is None or highest is None else max(highest, number)
            if inner in removed:
                continue
            if automatic and number is not None and (counted is None or _next(counted, flag) != number):
                yield Replace(inner.value, str(number))
            counted = number if number is None or counted is None else max(counted, number)

    def _is_automatic(self, value: ast.expr) -> bool:
        if not isinstance(value, ast.Call):
            return False
        return self._qualified(value.func) == "enum.auto" or names_of(value.func)[:1] == ("auto",)


def _counts(function: ast.FunctionDef) -> bool:
    """Does a `_generate_next_value_` read more than the name of the member?"""
    if function.name != "_generate_next_value_":
        return False
    others = {argument.arg for argument in function.args.args[1:]}
    return any(isinstance(n, ast.Name) and n.id in others for s in function.body for n in ast.walk(s))


def _next(highest: int, flag: bool) -> int:
    return 1 << highest.bit_length() if flag else highest + 1


def _number(node: ast.expr) -> int | None:
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None
