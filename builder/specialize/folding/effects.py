"""Decides whether an expression may be left out.

Reading a name, an attribute or an item has no effect. A call has one, unless it is declared pure. What binds
a name or suspends the function is never left out.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from builder.source.fields import inner_nodes, nodes
from builder.specialize.evaluating.comparisons import is_collection
from builder.specialize.evaluating.facts import PURE_BUILTINS, PURE_METHODS, KnownValue
from builder.specialize.evaluating.names import names_of
from builder.specialize.evaluating.scopes import Binding, Comprehension, Scope

if TYPE_CHECKING:
    from builder.specialize.evaluating.evaluate import Evaluator

#: Builtins that use up what they iterate over: pure only over what can be iterated again.
_CONSUMERS = frozenset(
    ["all", "any", "dict", "frozenset", "list", "max", "min", "set", "sorted", "sum", "tuple"]
)
#: Expressions that make a new object, so that nobody sees it used up.
_FRESH = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Constant, ast.JoinedStr, *Comprehension)
#: Methods and builtins whose result is no iterator, or one that nobody else holds.
_GIVES_FRESH = frozenset(["keys", "values", "items", "split", "range", "enumerate", "zip", "reversed"])
#: Annotations of what can be iterated again.
_CONTAINERS = frozenset([
    "dict", "Dict", "frozenset", "list", "List", "Mapping", "Sequence", "set", "Set", "str", "tuple",
    "Tuple",
])  # fmt: skip
#: Builtins that fail for a text that is no number.
_CONVERSIONS = frozenset(["float", "int"])
_BINDS = (ast.NamedExpr, ast.Yield, ast.YieldFrom)


def pure(evaluator: Evaluator, node: ast.expr, scope: Scope) -> bool:
    """Return whether the evaluation may be left out without anybody noticing."""
    if isinstance(node, (ast.Constant, ast.Name)):
        return True
    if isinstance(node, ast.Lambda):
        return _pure_defaults(evaluator, node, scope)
    if isinstance(node, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)):
        return False
    if isinstance(node, ast.Call):
        return _pure_call(evaluator, node, scope)
    if isinstance(node, Comprehension):
        return _pure_comprehension(evaluator, node, scope)
    if isinstance(node, ast.Compare) and evaluator.value(node, scope) is None:
        asked = zip(node.ops, node.comparators, strict=True)
        if any(isinstance(op, (ast.In, ast.NotIn)) and _may_be_iterator(right, scope) for op, right in asked):
            return False
    if isinstance(node, ast.Subscript) and _fills_itself(evaluator, node, scope):
        return False
    if isinstance(node, ast.Starred) and not repeatable(evaluator, node.value, scope):
        return False
    children = inner_nodes(node)
    return all(pure(evaluator, c, scope) for c in children if isinstance(c, ast.expr))


def _pure_defaults(evaluator: Evaluator, node: ast.Lambda, scope: Scope) -> bool:
    defaults = (*node.args.defaults, *node.args.kw_defaults)
    return all(pure(evaluator, default, scope) for default in defaults if default is not None)


def _pure_comprehension(evaluator: Evaluator, node: ast.expr, scope: Scope) -> bool:
    inner = evaluator.unit.scopes.of(node)
    parts: list[tuple[ast.expr, Scope]] = []
    for index, generator in enumerate(node.generators):  # type: ignore[attr-defined]
        if generator.is_async or not repeatable(evaluator, generator.iter, inner if index else scope):
            return False
        parts.append((generator.iter, inner if index else scope))
        parts += [(test, inner) for test in generator.ifs]
    parts += [(child, inner) for child in inner_nodes(node) if isinstance(child, ast.expr)]
    return all(pure(evaluator, part, where) for part, where in parts)


def _pure_call(evaluator: Evaluator, node: ast.Call, scope: Scope) -> bool:
    func = node.func
    parts = [*node.args, *(k.value for k in node.keywords)]
    if isinstance(func, ast.Attribute):
        parts.append(func.value)
    if not all(pure(evaluator, p, scope) for p in parts):
        return False
    attr = func.attr if isinstance(func, ast.Attribute) else None
    if isinstance(evaluator.value(node, scope), KnownValue):
        return attr != "pop"
    declared = evaluator.facts.pure
    name = evaluator.qualified(func, scope)
    if isinstance(name, str):
        if name in _CONSUMERS:
            compares = name in ("max", "min") and len(node.args) > 1  # its arguments with each other
            again = compares or not node.args or repeatable(evaluator, node.args[0], scope)
            return again and not any(keyword.arg == "key" for keyword in node.keywords)
        if name == "type":  # with more arguments it makes a class
            return len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], ast.Starred)
        if name in _CONVERSIONS:
            return all(_converts(argument) for argument in node.args)
        if name in PURE_BUILTINS or evaluator.facts.is_pure(name):
            return True
    if attr is None:
        return False
    return attr in declared or f"*.{attr}" in declared or (attr in PURE_METHODS and _asks(attr, node))


def _converts(node: ast.expr) -> bool:
    """Return whether this is certainly a number: a literal, a comparison, a length."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in ("bool", "len")
    return isinstance(node, (ast.Compare, ast.BoolOp)) or (
        isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float))
    )


def _asks(method: str, node: ast.Call) -> bool:
    """Return whether this is the call of a method of texts and dicts, and not of one that a queue or a
    path has too."""
    if method == "get":  # a queue's takes `block`
        return (
            bool(node.args)
            and isinstance(node.args[0], (ast.Constant, ast.JoinedStr))
            and not isinstance(getattr(node.args[0], "value", ""), bool)
        )
    return len(node.args) >= 2 if method == "replace" else True  # a path's takes one argument


def repeatable(evaluator: Evaluator, node: ast.expr, scope: Scope) -> bool:
    """Return whether it can be iterated without anybody noticing: it is new, or a container and no
    iterator."""
    if isinstance(node, ast.Starred):
        return repeatable(evaluator, node.value, scope)
    if isinstance(node, ast.GeneratorExp):
        return True
    if isinstance(node, _FRESH):
        return True
    if isinstance(node, ast.Call):
        func = node.func
        if isinstance(func, ast.Attribute):
            return func.attr in _GIVES_FRESH
        return isinstance(func, ast.Name) and func.id in (*_GIVES_FRESH, *_CONSUMERS)
    if not isinstance(node, (ast.Attribute, ast.Name)):
        return False
    if isinstance(node, ast.Name) and _is_container(scope, node.id):
        return True
    named = evaluator.qualified(node, scope)
    listed = isinstance(named, str) and is_collection(evaluator.world, named)
    return listed or evaluator.facts.is_listed(names_of(node)[0])


def _may_be_iterator(node: ast.expr, scope: Scope) -> bool:
    """Return whether `in` may use up what it searches.

    Parameters and what calls return may be iterators; attributes and what is imported are none.
    """
    if isinstance(node, ast.Name):
        owner = scope.find(node.id)
        if owner is not None and owner.kind == "module":
            return any(map(_binds_iterator, owner.names[node.id]))
        return owner is not None and not _is_container(scope, node.id)
    if isinstance(node, ast.BoolOp):
        return any(_may_be_iterator(value, scope) for value in node.values)
    if isinstance(node, ast.IfExp):
        return any(_may_be_iterator(value, scope) for value in (node.body, node.orelse))
    return isinstance(node, (ast.GeneratorExp, ast.Subscript))


def _fills_itself(evaluator: Evaluator, node: ast.Subscript, scope: Scope) -> bool:
    """Return whether reading an item makes one: this is a defaultdict, as far as the file tells."""
    data = evaluator.unit.module.data
    if b"defaultdict" not in data and b"__missing__" not in data:
        return False
    last = names_of(node.value)[:1] if isinstance(node.value, (ast.Name, ast.Attribute)) else ()
    made = (
        rb"\b%b\b(?:[^=\n]*=[^=\n]*[A-Z]\w*\(|[^\n]*=[^;]{0,80}?\bdefaultdict\b)" % last[0].encode()
        if last
        else rb"defaultdict"
    )
    return re.search(made, data) is not None


def _is_container(scope: Scope, name: str) -> bool:
    """Return whether every binding of a name gives it a container: a literal, or a parameter annotated as
    one."""
    owner = scope.find(name)
    bindings = owner.names[name] if owner is not None else []
    return bool(bindings) and all(map(_binds_container, bindings))


def _binds_container(binding: Binding) -> bool:
    value = binding.value
    if value is not None:
        return isinstance(value, _FRESH) and not isinstance(value, ast.GeneratorExp)
    annotation = getattr(binding.node, "annotation", None)
    if binding.kind not in ("parameter", "declare") or annotation is None:
        return False
    return (names_of(annotation) or ("",))[0] in _CONTAINERS


def _binds_iterator(binding: Binding) -> bool:
    """Return whether a binding may give a name an iterator: a generator, or what an unknown call returns."""
    value = binding.value
    if isinstance(value, ast.Call):
        return (names_of(value.func) or ("",))[0] not in _CONSUMERS
    return isinstance(value, ast.GeneratorExp)


def leaves_trace(parts: list[ast.expr], scope: Scope) -> bool:
    """Return whether leaving out these expressions, although never evaluated, would change what the
    function is.

    A walrus makes its name local, a yield makes the function a generator; an `await` makes a generator
    expression an asynchronous one.
    """
    inside = [inner for part in parts for inner in nodes(part)]
    at: Scope | None = scope
    while at is not None and at.kind == "comprehension":  # a list in a generator makes it asynchronous, too
        if isinstance(at.node, ast.GeneratorExp) and any(map(_is_asynchronous, inside)):
            return True
        at = at.parent
    return any(isinstance(inner, _BINDS) for inner in inside)


def _is_asynchronous(node: ast.AST) -> bool:
    return isinstance(node, ast.Await) or bool(getattr(node, "is_async", False))
