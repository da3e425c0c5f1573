"""Where leaving dead code out would change what live code means.

A `yield` in a dead branch makes the function a generator; an assignment there makes a name local. What a
false condition binds for its own branch is bound for nobody: `if c := find():`, `c.x if (c := f()) else 1`.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterable, Iterator

from builder.source.fields import inner_nodes, nodes
from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.facts import KnownValue
from builder.specialize.evaluating.scopes import Scope

_SCOPED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_YIELDS = (ast.Yield, ast.YieldFrom)
#: Functions that see the names of the function that calls them, whatever these are.
_LISTS_LOCALS = frozenset(["dir", "eval", "exec", "locals", "vars"])

#: What runs later, when the name may have been bound again.
_LATER = (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.GeneratorExp)


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


def never_binds(evaluator: Evaluator, test: ast.expr, scope: Scope) -> bool:
    """Return whether the condition is false, and nothing but its own branch reads what it binds."""
    bound = _bound(test)
    if bound is None or not _false(evaluator, test, scope):
        return False
    owner = scope.find(bound.target.id)
    if owner is None or owner.kind != "function":
        return False
    return not _reads_beyond_own_branch(owner.node, bound.target.id)


def _bound(test: ast.expr) -> ast.NamedExpr | None:
    """What a condition binds whenever it is true."""
    if isinstance(test, ast.NamedExpr):
        return test
    if isinstance(test, ast.Compare):
        return _bound(test.left)
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return next(filter(None, map(_bound, test.values)), None)
    return None


def _false(evaluator: Evaluator, test: ast.expr, scope: Scope) -> bool:
    match test:
        case ast.NamedExpr(value=value):
            return evaluator.pure(value, scope) and evaluator.truth(value, scope) is False
        case ast.Compare(
            left=ast.NamedExpr(value=value), ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]
        ):
            known = evaluator.value(value, scope)
            none = isinstance(known, KnownValue) and known.exact and known.value is None
            return none and evaluator.pure(value, scope)
        case ast.BoolOp(op=ast.And(), values=values):
            rest = [one for one in values if _bound(one) is None]
            binding = [one for one in values if _bound(one) is not None]
            pure = all(evaluator.pure(one, scope) for one in rest)
            return pure and len(binding) == 1 and _false(evaluator, binding[0], scope)
    return False


def _reads_beyond_own_branch(function: ast.AST, name: str) -> bool:
    """Return whether a name is read elsewhere than in the branch of a condition that has just bound it."""

    def reads(node: ast.AST) -> bool:
        if declares_or_lists(node, name):
            return True
        if isinstance(node, ast.Name):
            return node.id == name and not isinstance(node.ctx, ast.Store)
        if isinstance(node, ast.AugAssign) and getattr(node.target, "id", "") == name:
            return True
        if isinstance(node, (ast.If, ast.IfExp)):
            bound = _bound(node.test)
            if bound is not None and bound.target.id == name:
                body = node.body if isinstance(node.body, list) else [node.body]
                later = (one for stmt in body for one in nodes(stmt) if isinstance(one, _LATER))
                orelse = node.orelse if isinstance(node.orelse, list) else [node.orelse]
                return any(map(reads, (node.test, *later, *orelse)))
        return any(map(reads, inner_nodes(node)))

    return reads(function)
