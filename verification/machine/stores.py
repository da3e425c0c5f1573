"""Which of its arguments a Triton kernel may write to, by its source."""

from __future__ import annotations

import ast
import functools
import textwrap
from collections.abc import Container, Iterator
from typing import Any

#: What a value that was loaded came from does not matter: it is a number.
_LOADS = ("load",)
_LANGUAGE = ("tl", "triton", "libdevice")
_STORES = ("store", "atomic", "inline_asm")
#: Functions that are no part of the language, and take numbers only.
_NUMBERS = ("range", "min", "max", "abs", "int", "float", "len", "isinstance", "print")


def written(kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The arguments that a kernel may write to: all of them, where its source does not tell."""
    names = _names(kernel.src) if isinstance(getattr(kernel, "src", None), str) else None
    if names is None:
        return args, kwargs
    return [value for name, value in named(kernel, args, kwargs).items() if name in names]


def named(kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """A kernel's arguments by name."""
    return {**dict(zip(getattr(kernel, "arg_names", []), args, strict=False)), **kwargs}


@functools.cache
def _names(source: str) -> frozenset[str] | None:
    """The parameters that reach a store, or a function of which nothing is known."""
    try:
        function = ast.parse(textwrap.dedent(source)).body[0]
    except (SyntaxError, IndexError):
        return None
    if not isinstance(function, ast.FunctionDef):
        return None
    given = function.args
    parts = {each.arg: {each.arg} for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
    before = None
    while before != parts:  # loops carry what is assigned to what comes earlier
        before = {name: set(it) for name, it in parts.items()}
        for target, value in _assignments(function):
            for name in _all_names(target):
                parts.setdefault(name, set()).update(_parts(value, parts))
    found: set[str] = set()
    for call in ast.walk(function):
        if isinstance(call, ast.Call) and _may_store(call.func, parts):
            found |= _parts(call, parts)
    return frozenset(found)


def _assignments(function: ast.FunctionDef) -> Iterator[tuple[ast.AST, ast.AST]]:
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            yield from ((target, node.value) for target in node.targets)
        elif isinstance(node, ast.AugAssign | ast.NamedExpr | ast.AnnAssign) and node.value is not None:
            yield node.target, node.value
        elif isinstance(node, ast.For):
            yield node.target, node.iter


def _all_names(node: ast.AST) -> Iterator[str]:
    return (each.id for each in ast.walk(node) if isinstance(each, ast.Name))


def _parts(node: ast.AST, parts: dict[str, set[str]]) -> set[str]:
    """The parameters that a value is made of, other than by loading from where they point."""
    if isinstance(node, ast.Name):
        return parts.get(node.id, set())
    if isinstance(node, ast.Call) and _last(node.func) in _LOADS:
        return set()
    return set().union(*(_parts(each, parts) for each in ast.iter_child_nodes(node)))


def _may_store(called: ast.AST, values: Container[str]) -> bool:
    """Stores, and functions that are neither of the language nor methods of a value."""
    if not isinstance(called, ast.Attribute):
        return _last(called) not in _NUMBERS
    first: ast.AST = called
    while isinstance(first, ast.Attribute):
        first = first.value
    known = not isinstance(first, ast.Name) or first.id in values or first.id in _LANGUAGE
    return not known or called.attr.startswith(_STORES)


def _last(called: ast.AST) -> str:
    if isinstance(called, ast.Attribute):
        return called.attr
    return called.id if isinstance(called, ast.Name) else ""
