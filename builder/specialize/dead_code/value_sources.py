"""The expressions from which another expression, a name or an attribute takes its value, within one file."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from builder.specialize.evaluating.scopes import Binding, Scope
from builder.specialize.world import Unit

#: Functions that give what they are given, its elements or its class.
_PASS_ON = frozenset(
    ["cast", "chain", "copy", "deepcopy", "deque", "dict", "enumerate", "filter", "from_iterable",
     "frozenset", "getattr", "getmodule", "getmro", "islice", "iter", "list", "map", "max", "min", "next",
     "partial", "reversed", "set", "sorted", "tuple", "type", "zip"]
)  # fmt: skip

#: Methods that put their arguments into a collection.
_FILLS = frozenset(
    [
        "add",
        "append",
        "appendleft",
        "extend",
        "insert",
        "put",
        "put_nowait",
        "register",
        "set",
        "setdefault",
        "update",
    ]
)


def parts(node: ast.AST) -> list[ast.expr]:
    """The subexpressions that may supply an expression's value, or a part of it."""
    match node:
        case ast.Subscript(value=value, slice=ast.Attribute(attr="__module__") as of):
            return [value, of]  # `sys.modules[it.__module__]`
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
        case ast.Dict(keys=keys, values=values):
            return [*filter(None, keys), *values]
        case ast.BinOp(left=left, right=right):
            return [left, right]
        case ast.ListComp(elt=item) | ast.SetComp(elt=item) | ast.GeneratorExp(elt=item):
            return [item, *(one.iter for one in node.generators)]
        case ast.DictComp(key=key, value=value):
            return [key, value, *(one.iter for one in node.generators)]
        case ast.Call(func=func, args=given):  # `given.items()`, `copy.copy(it)`, `make()`
            last = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
            named = [each for each in given if getattr(each, "attr", "") == "__module__"]
            return [func, *(given if last in _PASS_ON else named)]
    return []


def sources(unit: Unit, binding: Binding) -> Iterator[ast.AST]:
    """The expressions from which a binding takes its value."""
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
        case ast.Try(body=body):  # the exception that a handler names carries what its raiser gave it
            yield from (node.func for stmt in body for node in ast.walk(stmt) if isinstance(node, ast.Call))
        case ast.FunctionDef() | ast.AsyncFunctionDef() if binding.kind == "def":
            yield from results(at)
        case ast.Assign(value=value) | ast.AugAssign(value=value) | ast.NamedExpr(value=value):
            yield value
        case ast.AnnAssign(value=ast.expr() as value):
            yield value


def stored_inside(unit: Unit, declaration: ast.Nonlocal, name: str) -> Iterator[ast.AST]:
    """The expressions from which the function that declares a name `nonlocal` gives it values."""
    for node in ast.walk(unit.scope_of(declaration).node):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
            yield from sources(unit, Binding("other", node))


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


def filled(unit: Unit, name: str, owner: Scope) -> Iterator[ast.AST]:
    """What a function puts into a collection that a local variable of it holds."""
    for node in ast.walk(owner.node):
        if isinstance(node, ast.Name) and node.id == name:
            yield from put_into(unit, node)


def stored(unit: Unit, cls: ast.AST, name: str) -> Iterator[tuple[ast.AST, Scope]]:
    """What the methods of a class store in an attribute of this name, what its body says of it, and what a
    method of that name returns."""
    for node in ast.walk(cls):
        found: Iterable[ast.AST] = ()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
            found = results(node)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            found = (item.context_expr for item in node.items if _names(item.optional_vars, name))
        elif isinstance(node, ast.Attribute) and node.attr == name:
            found = put_into(unit, node)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "setattr":
            found = node.args[2:] if getattr(node.args[1], "value", None) == name else ()
        for value in found:
            yield value, unit.scope_of(value)
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


def default(function: ast.AST, parameter: str) -> Iterator[ast.expr]:
    """The default of a parameter, if it has one."""
    args = getattr(function, "args", None)
    if isinstance(args, ast.arguments):
        positional = [*args.posonlyargs, *args.args]
        named = zip(reversed(positional), reversed(args.defaults), strict=False)
        yield from (value for arg, value in named if arg.arg == parameter)
        named_only = zip(args.kwonlyargs, args.kw_defaults, strict=True)
        yield from (value for arg, value in named_only if arg.arg == parameter and value is not None)


def results(function: ast.AST) -> Iterator[ast.expr]:
    """What a function returns and yields."""
    for node in ast.walk(function):
        if isinstance(node, (ast.Return, ast.Yield, ast.YieldFrom)) and node.value is not None:
            yield node.value


def put_into(unit: Unit, node: ast.AST) -> Iterator[ast.expr]:
    """What a statement stores in a name or an item of it, and what it gives to a method that fills it.

    `NAME = it`, `NAME[key] = it`, `NAME[key].append(it)`, `NAME.register(key, it)`.
    """
    parents = unit.module.parents
    below, at = node, parents.get(node)
    while True:
        if isinstance(at, ast.Subscript) and at.value is below:
            below, at = at, parents.get(at)
            continue
        call = parents.get(at) if isinstance(at, ast.Attribute) and at.attr in _FILLS else None
        if not isinstance(call, ast.Call) or call.func is not at:
            break
        yield from call.args
        yield from (keyword.value for keyword in call.keywords)
        below, at = call, parents.get(call)
    if isinstance(getattr(below, "ctx", None), ast.Store):
        while isinstance(at, (ast.Tuple, ast.List, ast.Starred)):
            at = parents.get(at)
        value = getattr(at, "value", None)
        if isinstance(value, ast.expr):
            yield value
