"""Whether the name of a module that is imported by value comes from a caller, an option or a table.

Whoever hands over the name of a module of the program spells it out, and that string leads to the module. A
name that a function puts together, or finds in a folder, leads nowhere.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from builder.source.fields import last_name, nodes

#: Methods of texts and tables that give a part of what they are asked of.
_PARTS = frozenset([
    "get", "items", "keys", "lstrip", "partition", "pop", "removeprefix", "removesuffix", "rpartition",
    "rsplit", "rstrip", "split", "strip", "values",
])  # fmt: skip
#: Functions that give an option, or what they are asked of.
_GIVES = frozenset(["getattr", "getenv", "str", "sorted", "list", "tuple"])
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Callers:
    """Answers about one file."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        #: call -> the functions around it, the innermost first
        self._around: dict[ast.AST, list[ast.AST]] = {}
        for function in nodes(tree):
            if isinstance(function, _FUNCTIONS):
                for inner in nodes(function):
                    if isinstance(inner, ast.Call):
                        self._around.setdefault(inner, []).insert(0, function)

    def name(self, call: ast.Call) -> bool:
        """Whether a caller gives the module's name that a call gets."""
        around = [*self._around.get(call, ()), self._tree]
        return bool(call.args) and self._given(call.args[0], around, frozenset())

    def _given(self, node: ast.expr, around: list[ast.AST], busy: frozenset[str]) -> bool:
        match node:
            case ast.Name(id=name):
                return name in busy or self._name_given(name, around, busy | {name})
            case ast.Constant():
                return True
            case ast.Attribute(value=inner):
                return isinstance(inner, (ast.Name, ast.Attribute)) or self._given(inner, around, busy)
            case ast.Subscript(value=inner):
                return self._given(inner, around, busy)
            case ast.Call(func=ast.Attribute(value=inner, attr=name)) if name in _PARTS:
                return self._given(inner, around, busy)
            case ast.Call(func=ast.Attribute(value=ast.Constant(value="."), attr="join"), args=[inner]):
                return self._given(inner, around, busy)
            case ast.Call(func=called, args=[inner, *_]) if last_name(called) in _GIVES:
                return self._given(inner, around, busy)
            case ast.BoolOp(values=parts) | ast.Tuple(elts=parts) | ast.List(elts=parts):
                return all(self._given(part, around, busy) for part in parts)
            case ast.Dict(values=parts):
                return all(self._given(part, around, busy) for part in parts)
            case ast.IfExp(body=one, orelse=other):
                return self._given(one, around, busy) and self._given(other, around, busy)
        return False

    def _name_given(self, name: str, around: list[ast.AST], busy: frozenset[str]) -> bool:
        for place, function in enumerate(around):
            values = list(_stored(function, name))
            if values or (isinstance(function, _FUNCTIONS) and name in _parameters(function.args)):
                return all(value is not None and self._given(value, around[place:], busy) for value in values)
        return False


def _parameters(args: ast.arguments) -> set[str]:
    return {arg.arg for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs)}


def _stored(function: ast.AST, name: str) -> Iterator[ast.expr | None]:
    """What each statement of a function binds to a name or takes it from; None where that cannot be seen."""
    for node in nodes(function):
        targets: list[ast.expr] = []
        value: ast.expr | None = None
        match node:
            case ast.Assign():
                targets, value = node.targets, node.value
            case ast.AnnAssign() | ast.NamedExpr():
                targets, value = [node.target], node.value
            case ast.For() | ast.comprehension():
                targets, value = [node.target], node.iter
            case ast.AugAssign():
                targets = [node.target]
            case ast.alias() if (node.asname or node.name) == name:
                yield None
        parts = (part for target in targets for part in nodes(target))
        if any(isinstance(part, ast.Name) and part.id == name for part in parts):
            yield value
