"""The class in whose method an expression stands."""

from __future__ import annotations

import ast

from builder.specialize.evaluating.names import names_of
from builder.specialize.evaluating.scopes import Scope
from builder.specialize.unit import Unit


def class_of_self(node: ast.expr, scope: Scope) -> str | None:
    """The last name of the class in whose method an expression is the method's own first argument."""
    owner = _scope_of_self(node, scope)
    return owner.qualname.rpartition(".")[2] if owner is not None else None


def own_class(node: ast.expr, unit: Unit) -> str | None:
    """The class of which this is `cls` in a class method, `type(self)` or `self.__class__`, as named in the
    file: an object of it, or of an heir."""
    if not is_own_class(node, unit):
        return None
    inner = node.args[0] if isinstance(node, ast.Call) else getattr(node, "value", node)
    owner = _scope_of_self(inner, unit.scope_of(node))
    return owner.qualname if owner is not None else None


def _scope_of_self(node: ast.expr, scope: Scope) -> Scope | None:
    owner = scope.find(node.id) if isinstance(node, ast.Name) else None
    if owner is None or owner.parent is None or owner.parent.kind != "class":
        return None
    arguments = getattr(owner.node, "args", None)
    first = [*arguments.posonlyargs, *arguments.args][:1] if arguments is not None else []
    plain = [a.arg for a in first] == [getattr(node, "id", "")] and len(owner.names[first[0].arg]) == 1
    static = any(names_of(d)[:1] == ("staticmethod",) for d in getattr(owner.node, "decorator_list", ()))
    return owner.parent if plain and not static else None


def is_own_class(node: ast.expr, unit: Unit) -> bool:
    """Return whether this is `cls` of a class method, `type(self)` or `self.__class__`."""
    if isinstance(node, ast.Call) and names_of(node.func) == ("type",) and len(node.args) == 1:
        node = node.args[0]
    elif isinstance(node, ast.Attribute) and node.attr == "__class__":
        node = node.value
    elif isinstance(node, ast.Name):
        owner = unit.scope_of(node).find(node.id)  # also from a comprehension or a function inside
        decorators = getattr(owner.node, "decorator_list", ()) if owner is not None else ()
        if not any(names_of(d)[:1] == ("classmethod",) for d in decorators):
            return False
    else:
        return False
    return class_of_self(node, unit.scope_of(node)) is not None
