"""Finds the parameters through which callers may give a function or class an object."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from builder.specialize.evaluating.scopes import Binding, Scope
from builder.specialize.world import Unit

#: Functions that give what they are given, its elements or its class.
_PASS_ON = frozenset(
    ["copy", "deepcopy", "enumerate", "filter", "frozenset", "getattr", "getmro", "iter", "list", "map",
     "max", "min", "next", "reversed", "set", "sorted", "tuple", "type", "zip"]
)  # fmt: skip

Function = ast.FunctionDef | ast.AsyncFunctionDef
#: The methods that get what the class is called with.
_CONSTRUCTORS = frozenset(["__init__", "__new__"])


@dataclass(frozen=True, slots=True)
class Entry:
    """A parameter through which callers give an object.

    called     the name that they call: of a function, a class or a method
    parameter  the name of the parameter; "" means any
    index      the position of its argument; None if it has none
    """

    called: str
    parameter: str = ""
    index: int | None = None

    def arguments(self, call: ast.Call) -> list[ast.expr]:
        """The arguments of a call that the parameter may get."""
        whole = [*call.args, *(keyword.value for keyword in call.keywords)]
        if not self.parameter:
            return whole
        spread = any(isinstance(argument, ast.Starred) for argument in call.args)
        given = call.args if spread and self.index is not None else []
        if not spread and self.index is not None:
            given = call.args[self.index : self.index + 1]
        return [*given, *(k.value for k in call.keywords if k.arg in (None, self.parameter))]


def entry(definition: ast.AST, function: ast.AST, parameter: str) -> Entry:
    """How callers outside a definition give a parameter of a function in it.

    `definition`: the function or class at the top of the module.
    """
    methods = [each for each in getattr(definition, "body", ()) if isinstance(each, Function)]
    inside = (each for each in methods if any(node is function for node in ast.walk(each)))
    method = next(inside, None) if isinstance(definition, ast.ClassDef) else None
    outer = definition if method is None else method
    called = getattr(outer, "name", "")
    if called in _CONSTRUCTORS:
        called = getattr(definition, "name", "")
    if function is not outer or not isinstance(function, Function):
        return Entry(called)  # a function inside may get anything that the outer one gets
    positional = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    static = any(getattr(decorator, "id", "") == "staticmethod" for decorator in function.decorator_list)
    bound = positional[1:] if method is not None and not static else positional
    if parameter in bound:
        return Entry(called, parameter, bound.index(parameter))
    named = any(a.arg == parameter for a in function.args.kwonlyargs)
    return Entry(called, parameter) if named else Entry(called)


def given_by(unit: Unit, node: ast.AST, scope: Scope) -> Iterator[tuple[ast.AST, str]]:
    """Yields (function, parameter) for each parameter that an expression may be, or be a part of.

    What a call of another function gives is not taken for what that function got.
    """
    todo, seen = [(node, scope)], {node}
    while todo:
        at, scope = todo.pop()
        further: list[tuple[ast.AST, Scope]] = [(each, scope) for each in _parts(at)]
        if isinstance(at, ast.Name):
            owner = scope.find(at.id)
            bindings = owner.names.get(at.id, []) if owner is not None and owner.kind != "module" else []
            for binding in bindings:
                if binding.kind == "parameter" and owner is not None and not is_self(at.id, owner):
                    yield owner.node, at.id
                further += [(each, owner or scope) for each in _sources(unit, binding)]
        elif isinstance(at, ast.Attribute) and isinstance(at.value, ast.Name):
            owner = scope.find(at.value.id)
            if owner is not None and is_self(at.value.id, owner) and owner.parent is not None:
                further = list(_stored(unit, owner.parent.node, at.attr))
        todo += [(each, where) for each, where in further if each not in seen]
        seen.update(each for each, _ in further)


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
        case ast.Call(
            func=ast.Attribute(value=value, attr=name), args=given
        ):  # `given.items()`, `copy.copy(it)`
            return [value, *(given if name in _PASS_ON else ())]
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


def is_self(name: str, owner: Scope | None) -> bool:
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
