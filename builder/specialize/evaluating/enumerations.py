"""Members of an enumeration keep their values when one of them leaves."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Collection, Iterator

from builder.source.fields import nodes
from builder.source.ops import Replace
from builder.specialize.evaluating.names import names_of
from builder.specialize.world import SpecializerWorld, question

#: Methods with which a class makes the values of its members itself.
_MAKES_VALUES = ("__new__", "__init__")


#: The types that may stand beside the bases of Python that count.
_PLAIN = frozenset(["int", "str", "float", "ReprEnum"])
_OPERATIONS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.LShift: operator.lshift, ast.BitOr: operator.or_, ast.Add: operator.add, ast.Sub: operator.sub,
}  # fmt: skip
_MAX_SHIFT = 10_000


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
        """Return whether the class may give its members values that depend on how many there are."""
        functions = [s for s in self.stmt.body if isinstance(s, ast.FunctionDef)] if self.is_one else []
        return any(f.name in _MAKES_VALUES or _counts(f) for f in functions)

    def renames(self, removed: Collection[ast.AST]) -> bool:
        """Return whether a member that leaves is the one whose name others of the same value have."""
        if not self.is_one:
            return False
        first: dict[str, ast.stmt] = {}
        for inner in self.stmt.body:
            if isinstance(inner, ast.Assign) and isinstance(inner.targets[0], ast.Name):
                if self._is_automatic(inner.value):
                    if inner in removed and self._shares_number(inner):
                        return True
                    continue
                number = _number(inner.value)
                value = str(number) if number is not None else ast.dump(inner.value)
                if inner not in removed and first.setdefault(value, inner) in removed:
                    return True
                first.setdefault(value, inner)
        return False

    def _shares_number(self, automatic: ast.stmt) -> bool:
        """Return whether a number is written down for another member, which may share it."""
        values = (s.value for s in self.stmt.body if isinstance(s, ast.Assign) and s is not automatic)
        return any(_number(value) is not None for value in values)

    def kept_numbers(self, removed: Collection[ast.AST]) -> Iterator[Replace]:
        """Give a member its number where `auto()` would count anew, because one before it leaves."""
        for value, number in self._shifted(removed):
            if number is not None:
                yield Replace(value, str(number))

    def loses_count(self, removed: Collection[ast.AST]) -> bool:
        """Return whether `auto()` may count anew, because a member before it leaves, where its number
        cannot be told."""
        return any(number is None for _, number in self._shifted(removed))

    def _shifted(self, removed: Collection[ast.AST]) -> Iterator[tuple[ast.expr, int | None]]:
        """The values that `auto()` makes and that change, with what they were; None where nobody can tell."""
        known = [self._qualified(base) for base in self.stmt.bases]
        if removed.isdisjoint(self.stmt.body) or "enum.StrEnum" in known:  # type: ignore[attr-defined]
            return
        if any(getattr(s, "name", "") == "_generate_next_value_" for s in self.stmt.body):
            return
        flag = any(base.endswith("Flag") for base in self.bases)
        told = self.is_one and all(
            str(name).startswith("enum.") or base in _PLAIN
            for name, base in zip(known, self.bases, strict=True)
        )
        highest: int | None = None  # with what has left; None for no member
        counted: int | None = None  # as `auto()` will count
        left = False
        for inner in self.stmt.body:
            value = inner.value if isinstance(inner, (ast.Assign, ast.AnnAssign)) else None
            target = _target(inner)
            if value is None or not isinstance(target, ast.Name):
                continue
            if target.id.startswith("__"):
                continue  # no member
            number = _number(value)
            automatic = self._is_automatic(value)
            if automatic and told:
                number = _next(highest, flag)
            elif number is None:
                told = told and isinstance(value, ast.Constant)  # a text or a fraction: no number follows it
                inside = any(self._is_automatic(part) for part in nodes(value) if isinstance(part, ast.expr))
                if inside and left and inner not in removed:
                    yield value, None
            if inner in removed:
                left = True
                highest = _highest(highest, number)
                continue
            if automatic and left and (not told or _next(counted, flag) != number):
                yield value, number if told else None
            highest, counted = _highest(highest, number), _highest(counted, number)

    def _is_automatic(self, value: ast.expr) -> bool:
        if not isinstance(value, ast.Call):
            return False
        return self._qualified(value.func) == "enum.auto" or names_of(value.func)[:1] == ("auto",)


def _counts(function: ast.FunctionDef) -> bool:
    """Return whether a `_generate_next_value_` reads more than the name of the member."""
    if function.name != "_generate_next_value_":
        return False
    others = {argument.arg for argument in function.args.args[1:]}
    return any(isinstance(n, ast.Name) and n.id in others for s in function.body for n in nodes(s))


def _target(stmt: ast.stmt) -> ast.expr | None:
    if isinstance(stmt, ast.Assign):
        return stmt.targets[0]
    return stmt.target if isinstance(stmt, ast.AnnAssign) else None


def _highest(one: int | None, two: int | None) -> int | None:
    return max((number for number in (one, two) if number is not None), default=None)


def _next(highest: int | None, flag: bool) -> int:
    """The number that `auto()` gives after this one, and after no member."""
    if highest is None:
        return 1
    return 1 << max(highest, 0).bit_length() if flag else highest + 1


def _number(node: ast.expr) -> int | None:
    """The number that an expression of literals makes."""
    if isinstance(node, ast.Constant):
        return int(node.value) if isinstance(node.value, int) else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = _number(node.operand)
        return None if number is None else -number
    operation = _OPERATIONS.get(type(node.op)) if isinstance(node, ast.BinOp) else None
    if not isinstance(node, ast.BinOp) or operation is None:
        return None
    left, right = _number(node.left), _number(node.right)
    if left is None or right is None or not 0 <= right <= _MAX_SHIFT:
        return None
    return operation(left, right)


@question
def makes_values(world: SpecializerWorld, qualified: str) -> bool:
    """Return whether a class of the program, or one above it, makes the values of its members itself."""
    module = qualified.rpartition(".")[0]
    for binding in world.home(qualified)[1]:
        if isinstance(binding.node, ast.ClassDef):
            defined = {getattr(stmt, "name", "") for stmt in binding.node.body}
            bases = (world.canonical(module, (names_of(base) or ("",))[0]) for base in binding.node.bases)
            if not defined.isdisjoint([*_MAKES_VALUES, "_generate_next_value_"]) or any(
                isinstance(base, str) and makes_values(world, base) for base in bases
            ):
                return True
    return False
