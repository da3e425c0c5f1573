"""The names under which an expression is known: what the patterns of options are matched against.

An expression may also be the object or the class in whose method it stands.
"""

from __future__ import annotations

import ast
import re

from builder.manifest.statements import Scalar
from builder.source.fields import nodes
from builder.specialize.evaluating.scopes import Scope
from builder.specialize.unit import Unit

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
#: Methods whose result is known under the name of what they are called on.
_TRANSPARENT = ("lower", "upper", "strip", "get")
_CONVERTING = frozenset(["lower", "upper", "strip"])
#: Methods of texts whose result is a part of the text, or made of it.
_PARTS = frozenset(dir(str)) - frozenset(_TRANSPARENT)


def longest_word(value: str) -> str:
    """The identifier of a text by which an index of words finds it; empty if there is none."""
    return max(_IDENTIFIER.findall(value), key=len, default="")


def names_of(node: ast.expr) -> tuple[str, ...]:
    """The last name first, then the dotted one where there is one; empty for what has no name.

    A subscript or `get` by a string is known under that string: `args["device"]` is `device`.
    """
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Attribute):
        owner = names_of(node.value)
        return (node.attr, f"{owner[0]}.{node.attr}") if owner else (node.attr,)
    if isinstance(node, ast.Call):
        return _call(node)
    if isinstance(node, ast.Subscript):
        key = text(node.slice)
        if isinstance(node.slice, ast.Slice):
            return ()  # a part of a text may be what the whole never is
        return names_of(node.value) if key is None else (key,)
    return ()


def operands(node: ast.expr) -> list[ast.expr]:
    """The expressions of which one is the value, but for values that are false: of `a or b` and `a and b`."""
    if not isinstance(node, ast.BoolOp):
        return [node]
    values = node.values if isinstance(node.op, ast.Or) else node.values[-1:]
    return [one for value in values for one in operands(value)]


def _call(node: ast.Call) -> tuple[str, ...]:
    func = node.func
    if isinstance(func, ast.Attribute) and func.attr in _TRANSPARENT:
        key = text(node.args[0]) if node.args else None
        return names_of(func.value) if key is None else (key,)
    if isinstance(func, ast.Attribute) and func.attr in _PARTS:
        return ()
    inner = names_of(func)
    if inner == ("str",) and len(node.args) == 1:
        return names_of(node.args[0])
    if inner[:1] == ("getattr",) and len(node.args) > 1:
        key = text(node.args[1])
        return inner if key is None else (key,)
    return inner


def converts(node: ast.expr) -> bool:
    """Return whether an expression gives a text in other letters than the one by whose name it is known."""
    return any(isinstance(part, ast.Attribute) and part.attr in _CONVERTING for part in nodes(node))


def says(node: ast.expr, value: object) -> bool:
    """Return whether an expression holds a value as a literal: `name or "a"`, `get("name", "a")`.

    Then it may be that value, whatever is known of the names in it.
    """
    return any(isinstance(part, ast.Constant) and part.value == value for part in nodes(node))


def names_in_class(name: str) -> list[bytes]:
    """What may stand for a name in a class: Python takes `__f` for `_A__f` in a class A."""
    if not name.startswith("_") or name.startswith("__") or name.endswith("__"):
        return []
    return [name[at:].encode() for at in range(2, len(name) - 2) if name.startswith("__", at)]


def text(node: ast.expr) -> str | None:
    """The value of a string literal."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def scalar(node: ast.Constant) -> Scalar:
    """A literal's value, or None for a literal of a type that no manifest can name."""
    value = node.value
    return value if isinstance(value, (bool, int, float, str)) else None


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
