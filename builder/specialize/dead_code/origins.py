"""Whether an object may come from whoever calls a function, or makes an object of a class."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from builder.specialize.evaluating.scopes import Binding, Scope
from builder.specialize.world import Unit

#: Builtins that give what they are given, or its elements.
_PASS_ON = frozenset(
    ["enumerate", "filter", "frozenset", "getattr", "iter", "list", "map", "max", "min", "next", "reversed",
     "set", "sorted", "tuple", "zip"]
)  # fmt: skip
_MAX_DEPTH = 12


def may_be_given(unit: Unit, node: ast.AST, scope: Scope, depth: int = 0) -> bool:
    """May an expression be an object that a caller gives, or a part of one?

    What a call of another function gives is not taken for what that function got.
    """
    if depth > _MAX_DEPTH:
        return True
    further: list[tuple[ast.AST, Scope]] = [(each, scope) for each in _parts(node)]
    if isinstance(node, ast.Name):
        owner = scope.find(node.id)
        bindings = owner.names.get(node.id, []) if owner is not None and owner.kind != "module" else []
        for binding in bindings:
            if binding.kind == "parameter" and not _is_self(node.id, owner):
                return True
            further += [(each, owner or scope) for each in _sources(unit, binding)]
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        owner = scope.find(node.value.id)
        if owner is not None and _is_self(node.value.id, owner) and owner.parent is not None:
            further = list(_stored(unit, owner.parent.node, node.attr))
    return any(may_be_given(unit, each, where, depth + 1) for each, where in further)


def _parts(node: ast.AST) -> list[ast.expr]:
    """The expressions whose value, or a part of it, an expression may be."""
    match node:
        case ast.Attribute(value=value) | ast.Subscript(value=value) | ast.Starred(value=value):
            return [value]
        case ast.Await(value=value) | ast.NamedExpr(value=value):
            return [value]
        case ast.IfExp(body=body, orelse=other):
            return [body, other]
        case ast.BoolOp(values=values):
            return list(values)
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            return list(items)
        case ast.Dict(values=values):
            return list(values)
        case ast.ListComp(elt=item) | ast.SetComp(elt=item) | ast.GeneratorExp(elt=item):
            return [item, *(one.iter for one in node.generators)]
        case ast.Call(func=ast.Name(id=name), args=given) if name in _PASS_ON:
            return list(given)
        case ast.Call(func=ast.Attribute(value=value)):  # `given.items()`, `given.get(key)`
            return [value]
    return []


def _sources(unit: Unit, binding: Binding) -> Iterator[ast.AST]:
    """The expressions of which a binding takes its value."""
    at: ast.AST | None = binding.node
    while at is not None and not isinstance(at, (ast.stmt, ast.comprehension, ast.NamedExpr)):
        at = unit.module.parents.get(at)
    match at:
        case ast.For(iter=value) | ast.AsyncFor(iter=value) | ast.comprehension(iter=value):
            yield value
        case ast.With(items=items) | ast.AsyncWith(items=items):
            yield from (item.context_expr for item in items)
        case ast.Match(subject=value):
            yield value
        case ast.Assign(value=value) | ast.AugAssign(value=value) | ast.NamedExpr(value=value):
            yield value
        case ast.AnnAssign(value=ast.expr() as value):
            yield value


def _is_self(name: str, owner: Scope | None) -> bool:
    """Is this the first parameter of a method?"""
    if owner is None or owner.parent is None or owner.parent.kind != "class":
        return False
    if not isinstance(owner.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    if any(getattr(decorator, "id", "") == "staticmethod" for decorator in owner.node.decorator_list):
        return False
    first = [*owner.node.args.posonlyargs, *owner.node.args.args][:1]
    return bool(first) and first[0].arg == name


def _stored(unit: Unit, cls: ast.AST, name: str) -> Iterator[tuple[ast.AST, Scope]]:
    """What the methods of a class store in an attribute of this name, and what its body says of it."""
    for node in ast.walk(cls):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        for target in targets:
            if isinstance(node, (ast.For, ast.AsyncFor)) and _names(target, name):
                yield node.iter, unit.scope_of(node)
            elif isinstance(value, ast.expr) and _names(target, name):
                yield value, unit.scope_of(node)


def _names(target: ast.AST | None, name: str) -> bool:
    """Does a target store in an attribute of this name, or in a part of it?"""
    while isinstance(target, (ast.Subscript, ast.Starred)):
        target = target.value
    if isinstance(target, (ast.Tuple, ast.List)):
        return any(_names(item, name) for item in target.elts)
    return isinstance(target, ast.Attribute) and target.attr == name
