"""Finds where an object comes from: callers give it through a parameter, or a name of a module holds it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from builder.specialize.dead_code.class_statements import Function, is_protocol, makes_own
from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.scopes import Binding, Scope
from builder.specialize.unit import Unit

#: Functions that give what they are given, its elements or its class.
_PASS_ON = frozenset(
    ["cast", "chain", "copy", "deepcopy", "deque", "dict", "enumerate", "filter", "from_iterable",
     "frozenset", "getattr", "getmodule", "getmro", "islice", "iter", "list", "map", "max", "min", "next",
     "partial", "reversed", "set", "sorted", "tuple", "type", "zip"]
)  # fmt: skip
#: The methods that get what the class is called with.
_CONSTRUCTORS = frozenset(["__init__", "__new__"])


@dataclass(frozen=True, slots=True)
class Entry:
    """A parameter through which callers give an object.

    home       the qualified name of the function or class at the top of a module that has the parameter
    callee     the name that they call: of a function, a class or a method
    parameter  the name of the parameter; "" means any
    index      the position of its argument; None if it has none
    class_name the class that its annotation names; "" without one
    """

    home: str
    callee: str
    parameter: str = ""
    index: int | None = None
    class_name: str = ""

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


@dataclass(frozen=True, slots=True)
class Global:
    """A name at the top of a module: what it holds, or what the function of that name returns.

    name  the qualified name
    """

    name: str


Origin = Entry | Global


def entry(unit: Unit, definition: ast.AST, function: ast.AST, parameter: str) -> Entry:
    """How callers outside a definition give a parameter of a function in it.

    `definition`: the function or class at the top of the module.
    """
    home = f"{unit.name}.{getattr(definition, 'name', '')}"
    methods = [each for each in getattr(definition, "body", ()) if isinstance(each, Function)]
    inside = (each for each in methods if any(node is function for node in ast.walk(each)))
    method = next(inside, None) if isinstance(definition, ast.ClassDef) else None
    outer = definition if method is None else method
    callee = getattr(outer, "name", "")
    if callee in _CONSTRUCTORS:
        callee = getattr(definition, "name", "")
    if function is not outer or not isinstance(function, Function):
        return Entry(home, callee)  # a function inside may get anything that the outer one gets
    positional = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    static = any(getattr(decorator, "id", "") == "staticmethod" for decorator in function.decorator_list)
    bound = positional[1:] if method is not None and not static else positional
    if parameter in bound:
        return Entry(home, callee, parameter, bound.index(parameter))
    named = any(a.arg == parameter for a in function.args.kwonlyargs)
    return Entry(home, callee, parameter) if named else Entry(home, callee)


def origins(evaluator: Evaluator, node: ast.AST, scope: Scope, attributes: bool = False) -> Iterator[Origin]:
    """Yields where the value of an expression, or a part of it, may come from.

    `self` is left out: the file of its class has the name of the class. `attributes`: an attribute of what is
    no global comes from where the object comes from.
    """
    unit = evaluator.unit
    todo, seen = [(node, scope)], {node}
    while todo:
        at, scope = todo.pop()
        further: list[tuple[ast.AST, Scope]] = []
        if attributes or not isinstance(at, ast.Attribute):
            further += ((each, unit.scope_of(each)) for each in _parts(at))
        if isinstance(at, ast.Call):
            made = evaluator.qualified(at.func, scope)
            if isinstance(made, str) and not makes_own(evaluator.world, made):
                given = [*at.args, *(keyword.value for keyword in at.keywords)]
                further += ((each, unit.scope_of(each)) for each in given)
        if isinstance(at, (ast.Name, ast.Attribute)):
            name = _global(evaluator, at, scope)
            if name:
                yield Global(name)
                continue
        if isinstance(at, ast.Name):
            owner = scope.find(at.id)
            bindings = owner.names.get(at.id, []) if owner is not None and owner.kind != "module" else []
            for binding in bindings:
                if binding.kind == "import":
                    yield from imported(evaluator, binding)
                if binding.kind == "parameter" and owner is not None and not is_self(at.id, owner):
                    definition = definition_around(unit, owner.node)
                    if definition is not None:
                        named = named_by(evaluator, _annotation(owner.node, at.id))
                        yield replace(entry(unit, definition, owner.node, at.id), class_name=named)
                    further += ((each, unit.scope_of(each)) for each in _default(owner.node, at.id))
                further += ((each, owner or scope) for each in sources(unit, binding))
                if isinstance(binding.node, ast.Nonlocal):
                    further += (
                        (each, unit.scope_of(each)) for each in _stored_inside(unit, binding.node, at.id)
                    )
        elif isinstance(at, ast.Attribute) and isinstance(at.value, ast.Name):
            owner = scope.find(at.value.id)
            if owner is not None and is_self(at.value.id, owner) and owner.parent is not None:
                further = list(_stored(unit, owner.parent.node, at.attr))
        todo += [(each, where) for each, where in further if each not in seen]
        seen.update(each for each, _ in further)


def imported(evaluator: Evaluator, binding: Binding) -> Iterator[Global]:
    """Yields the global that an import binds, if it is one of the tree."""
    name = evaluator.world.imported(evaluator.unit, binding)
    if isinstance(name, str) and name.rpartition(".")[0] in evaluator.world.paths:
        yield Global(name)


def definition_around(unit: Unit, node: ast.AST) -> Function | ast.ClassDef | None:
    """The function or class at the top of the module that a node is in, or is."""
    parents = unit.module.parents
    while parents.get(node) not in (None, unit.module.tree):
        node = parents[node]
    return node if isinstance(node, (Function, ast.ClassDef)) else None


def named_by(evaluator: Evaluator, annotation: ast.expr | None) -> str:
    """The qualified name of the one class that an annotation names, `None` beside it or not; "" otherwise.

    A protocol is none: the object need not inherit from it.
    """
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            annotation = ast.parse(annotation.value, mode="eval").body
    match annotation:
        case ast.BinOp(left=inner, op=ast.BitOr(), right=ast.Constant(value=None)):
            return named_by(evaluator, inner)
        case ast.Subscript(value=ast.Name(id="Optional") | ast.Attribute(attr="Optional"), slice=inner):
            return named_by(evaluator, inner)
        case ast.Name() | ast.Attribute():
            name = evaluator.qualified(annotation, evaluator.unit.scopes.root)
            return name if isinstance(name, str) and not is_protocol(evaluator.world, name) else ""
    return ""


def _annotation(function: ast.AST, parameter: str) -> ast.expr | None:
    args = getattr(function, "args", None)
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs] if isinstance(args, ast.arguments) else []
    return next((arg.annotation for arg in every if arg.arg == parameter), None)


def _global(evaluator: Evaluator, node: ast.expr, scope: Scope) -> str:
    """The name at the top of a module of the tree that an expression is, or an attribute of; "" if none."""
    name = evaluator.qualified(node, scope)
    if isinstance(name, str) and not evaluator.world.is_module(name):
        if name.rpartition(".")[0] in evaluator.world.paths:
            return name
        return _global(evaluator, node.value, scope) if isinstance(node, ast.Attribute) else ""
    if name is None and isinstance(node, ast.Name):  # the name of a submodule, too
        owner = scope.find(node.id)
        return f"{evaluator.unit.name}.{node.id}" if owner is not None and owner.kind == "module" else ""
    return ""


def _default(function: ast.AST, parameter: str) -> Iterator[ast.expr]:
    """The default of a parameter, if it has one."""
    args = getattr(function, "args", None)
    if isinstance(args, ast.arguments):
        positional = [*args.posonlyargs, *args.args]
        named = zip(reversed(positional), reversed(args.defaults), strict=False)
        yield from (value for arg, value in named if arg.arg == parameter)
        named_only = zip(args.kwonlyargs, args.kw_defaults, strict=True)
        yield from (value for arg, value in named_only if arg.arg == parameter and value is not None)


def _parts(node: ast.AST) -> list[ast.expr]:
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
        case ast.Assign(value=value) | ast.AugAssign(value=value) | ast.NamedExpr(value=value):
            yield value
        case ast.AnnAssign(value=ast.expr() as value):
            yield value


def _stored_inside(unit: Unit, declaration: ast.Nonlocal, name: str) -> Iterator[ast.AST]:
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
