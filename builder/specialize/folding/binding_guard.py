"""Where leaving dead code out would change what live code means.

A `yield` in a dead branch makes the function a generator; an assignment there makes a name local.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterable, Iterator

from builder.source.fields import inner_nodes, nodes
from builder.specialize.evaluating.scopes import Scope

_SCOPED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_YIELDS = (ast.Yield, ast.YieldFrom)
#: Functions that see the names of the function that calls them, whatever these are.
_LISTS_LOCALS = frozenset(["dir", "eval", "exec", "locals", "vars"])


def own(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of statements that belong to their own scope, not to one defined inside.

    What a definition evaluates where it stands belongs to the scope around it: decorators, defaults, bases,
    annotations.
    """
    stack = list(nodes)
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, _SCOPED):
            inside = set(node.body) if isinstance(node.body, list) else {node.body}
            stack.extend(each for each in inner_nodes(node) if each not in inside)
        else:
            stack.extend(inner_nodes(node))


class BindingGuard:
    """Remembers what has been left out of a file, and says what must not follow."""

    def __init__(self) -> None:
        self._lost: set[int] = set()

    def lose(self, nodes: Iterable[ast.AST]) -> None:
        """These statements are left out."""
        self._lost.update(id(node) for node in own(nodes))

    def take(self, stmt: ast.stmt, suite: Iterable[ast.stmt]) -> None:
        """Of a statement only this suite is left."""
        kept = {id(node) for node in own(suite)}
        self._lost.update(id(node) for node in own([stmt]) if id(node) not in kept)

    def needed(
        self,
        scope: Scope,
        lost: Iterable[ast.AST],
        known: Collection[str] = (),
        kept: Iterable[ast.AST] = (),
    ) -> bool:
        """Return whether these statements must stay, although they never run, for what the rest means.

        `known`: names that are remembered as gone wherever they are read; `kept`: statements in them that
        stay.
        """
        staying = {id(node) for node in own(kept)}
        nodes = [node for node in own(lost) if id(node) not in staying]
        return self._loses_yield(scope, nodes) or self._unbinds(scope, nodes, known)

    def _loses_yield(self, scope: Scope, lost: list[ast.AST]) -> bool:
        """Return whether the function would stop being a generator without these nodes."""
        if scope.kind != "function" or isinstance(scope.node, ast.Lambda):
            return False
        gone = {id(n) for n in lost if isinstance(n, _YIELDS)}
        if not gone:
            return False
        gone |= self._lost
        body = getattr(scope.node, "body", [])
        return not any(isinstance(n, _YIELDS) and id(n) not in gone for n in own(body))

    def _unbinds(self, scope: Scope, lost: list[ast.AST], known: Collection[str]) -> bool:
        """Return whether a name that is read elsewhere in the function would cease to be local without
        these nodes.

        Only matters where an outer scope, a star import or Python itself binds the name too, or where an
        inner function declares it `nonlocal`; also true for a `global` that would vanish.
        """
        if scope.kind == "module":
            return False
        if any(isinstance(n, (ast.Global, ast.Nonlocal)) for n in lost):
            return True
        if scope.kind == "class":
            return self._uncovers(scope, lost)
        if scope.kind != "function":
            return False
        inside = {id(n) for n in lost}
        if not any(id(b.node) in inside for bindings in scope.names.values() for b in bindings):
            return False
        inside |= self._lost
        for name, bindings in scope.names.items():
            left = [b for b in bindings if id(b.node) not in inside]
            if len(left) == len(bindings) or name in known:
                continue
            if left and all(isinstance(b.node, ast.Nonlocal) for b in left):
                return True
            visible = scope.parent is not None and scope.parent.find(name) is not None
            visible = visible or bool(scope.root.star)  # which names a star brings is not told here
            if not left and (visible or hasattr(builtins, name)) and reads(scope.node, name, inside):
                return True
        return False

    def _uncovers(self, scope: Scope, lost: list[ast.AST]) -> bool:
        """Return whether a name that a class reads would be that of a function around it without these nodes.

        A name that the class binds anywhere is its own or the module's, never the function's.
        """
        inside = {id(n) for n in lost} | self._lost
        for name, bindings in scope.names.items():
            owner = scope.parent.find(name) if scope.parent is not None else None
            if owner is None or owner.kind == "module" or any(id(b.node) not in inside for b in bindings):
                continue
            if reads(scope.node, name, inside):
                return True
        return False


def reads(function: ast.AST, name: str, inside: Collection[int] = ()) -> bool:
    """Return whether a name is read in a function or class. `inside`: nodes that do not count."""
    return any(
        isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Load)
        and id(node) not in inside
        for stmt in getattr(function, "body", [])
        for node in nodes(stmt)
    )


def captures_read(function: ast.AST, case: ast.match_case) -> bool:
    """Return whether a name that the pattern of a case binds is read, or visible, outside of the case."""
    bound: set[str] = set()
    for node in nodes(case.pattern):
        bound.update(n for n in (getattr(node, "name", None), getattr(node, "rest", None)) if n)
    inside = {id(node) for node in nodes(case)}
    return any(
        (isinstance(node, ast.Name) and node.id in bound and id(node) not in inside)
        or any(declares_or_lists(node, name) for name in bound)
        for stmt in getattr(function, "body", [])
        for node in nodes(stmt)
    )


def declares_or_lists(node: ast.AST, name: str) -> bool:
    """Return whether a node says whose a name is, or names what sees all names of the function around it."""
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        return name in node.names
    return isinstance(node, ast.Name) and node.id in _LISTS_LOCALS
