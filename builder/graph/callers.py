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
#: Functions that list modules or files.
_LISTS = frozenset([
    "glob", "iglob", "iter_modules", "iterdir", "listdir", "rglob", "scandir", "walk", "walk_packages",
])  # fmt: skip
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
            case ast.Attribute(value=ast.Name(id=name)):
                # an object has the name from somewhere else, unless a loop found it in a folder
                return not any(_lists_files(found) for function in around for found in _loops(function, name))
            case ast.Attribute(value=inner):
                return self._given(inner, around, busy)
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


def _loops(function: ast.AST, name: str) -> Iterator[ast.expr]:
    """What the loops of a function go through that bind a name."""
    for node in nodes(function):
        if isinstance(node, (ast.For, ast.comprehension)) and _binds(node.target, name):
            yield node.iter


def _lists_files(values: ast.expr) -> bool:
    return any(isinstance(part, ast.Call) and last_name(part.func) in _LISTS for part in nodes(values))


def _stored(function: ast.AST, name: str) -> Iterator[ast.expr | None]:
    """What each statement of a function binds to a name or takes it from; None where that cannot be seen."""
    yield from _loops(function, name)
    for node in nodes(function):
        match node:
            case ast.For() | ast.comprehension():
                pass
            case ast.Assign():
                if any(_binds(target, name) for target in node.targets):
                    yield node.value
            case ast.AnnAssign() | ast.NamedExpr():
                if _binds(node.target, name):
                    yield node.value
            case ast.AugAssign(target=target) | ast.withitem(optional_vars=ast.expr() as target):
                if _binds(target, name):
                    yield None
            case ast.alias() if (node.asname or node.name) == name:
                yield None
            case ast.FunctionDef() | ast.ClassDef() | ast.ExceptHandler() | ast.MatchAs() | ast.MatchStar():
                if node.name == name and node is not function:
                    yield None


def _binds(target: ast.expr, name: str) -> bool:
    return any(isinstance(part, ast.Name) and part.id == name for part in nodes(target))
