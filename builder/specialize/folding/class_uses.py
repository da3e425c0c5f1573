"""What the program does with classes beside making objects of them and inheriting from them by name."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator

from builder.specialize.evaluating.names import names_of
from builder.specialize.text_index.text_search import nodes_on
from builder.specialize.unit import Unit
from builder.specialize.world import SpecializerWorld, question

#: Functions that only ask about the classes that they are given.
_ASK = frozenset(["isinstance", "issubclass", "super", "cast", "TypeVar", "NewType"])
#: Functions that make a class of bases that they are given.
_MAKERS = frozenset(["new_class", "make_dataclass", "type.__new__", "type.__call__"])
#: One of these is in every text in which something makes a class without a class statement.
_MAY_MAKE = re.compile(
    rb"\bnew_class\b|\bmake_dataclass\b|Meta\s*\(|__bases__|\btype\s*\.\s*__(?:new|call)__"
    rb"|\btype\s*\\?\s*\((?:[^\n]*[,*]|[^)\n]*$)",
    re.M,
)


@question
def inherits_unseen(world: SpecializerWorld) -> bool:
    """May some class of the program have a base that no text names: a parameter, an element, a call?"""
    return any(_computes_bases(world, path) for path in sorted(world.files) if path.endswith(".py"))


def _computes_bases(world: SpecializerWorld, path: str) -> bool:
    unit = world.unit(path)

    def find() -> bool:
        if _MAY_MAKE.search(world.files[path]) and any(map(_makes_class, ast.walk(unit.module.tree))):
            return True
        return any(
            isinstance(node, ast.ClassDef) and any(not is_named(unit, base, node) for base in node.bases)
            for node in nodes_on(unit, "class")
        )

    return unit.told(("computes bases",), find)


def _makes_class(node: ast.AST) -> bool:
    """Does it make a class without a class statement, or give one other bases?"""
    if isinstance(node, ast.Attribute):
        return node.attr == "__bases__" and isinstance(node.ctx, ast.Store)
    if not isinstance(node, ast.Call):
        return isinstance(node, ast.Constant) and node.value == "__bases__"
    names = names_of(node.func)
    several = len(node.args) > 1 or any(isinstance(each, ast.Starred) for each in node.args)
    called = names[0] if names and several else ""
    return called == "type" or called.endswith("Meta") or not _MAKERS.isdisjoint(names)


def is_named(unit: Unit, base: ast.expr, cls: ast.ClassDef) -> bool:
    """Is a base of a class one that a class statement or an import binds?"""
    plain = base.value if isinstance(base, ast.Subscript) else base
    while isinstance(plain, ast.Attribute):
        plain = plain.value
    if not isinstance(plain, ast.Name):
        return False
    owner = (unit.scopes.of(cls).parent or unit.scopes.root).find(plain.id)
    if owner is None:
        return hasattr(builtins, plain.id) or bool(unit.scopes.root.star)
    return all(binding.kind in ("class", "import") for binding in owner.names[plain.id])


@question
def used_as_value(world: SpecializerWorld, name: str) -> bool:
    """May a class of this last name become a base, or be changed, where its name does not stand?

    So it is where it is stored, returned, listed or given to a call that does not only ask about it, and
    where a text has its name.
    """
    for path in sorted(world.words.holders(name.encode())):
        unit = world.unit(path)
        if unit.told(("class used as a value", name), lambda: any(_values(unit, name))):  # noqa: B023
            return True
    return False


def _values(unit: Unit, name: str) -> Iterator[bool]:
    for node in nodes_on(unit, name):
        if isinstance(node, ast.Constant):
            said = re.split(r"[.:]", node.value)[-1] if isinstance(node.value, str) else ""
            yield said == name and not _is_listed(unit, node)
        elif isinstance(node, (ast.Name, ast.Attribute)) and names_of(node)[:1] == (name,):
            yield isinstance(node.ctx, ast.Load) and _is_value(unit, node)


def _is_listed(unit: Unit, node: ast.AST) -> bool:
    """Is a text in `__all__`, or in an annotation?"""
    parents = unit.module.parents
    at: ast.AST | None = node
    while at is not None and not isinstance(at, ast.stmt):
        if _annotates(parents.get(at), at):
            return True
        at = parents.get(at)
    targets = at.targets if isinstance(at, ast.Assign) else [getattr(at, "target", None)]
    return any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets)


def _annotates(parent: ast.AST | None, node: ast.AST) -> bool:
    if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return node is parent.returns
    return isinstance(parent, (ast.arg, ast.AnnAssign)) and node is parent.annotation


def _is_value(unit: Unit, node: ast.expr) -> bool:
    """Does an expression hand a class on, rather than call, ask, annotate, or inherit from it?"""
    parents = unit.module.parents
    below: ast.AST = node
    at = parents.get(node)
    while isinstance(at, (ast.Tuple, ast.BinOp, ast.Subscript, ast.Starred)):
        if (
            isinstance(at, ast.Subscript)
            and below is at.value
            and not isinstance(parents.get(at), ast.ClassDef)
        ):
            break
        below, at = at, parents.get(at)
    if isinstance(at, ast.Call):
        return below is not at.func and names_of(at.func)[:1] not in {(name,) for name in _ASK}
    if isinstance(at, ast.ClassDef):
        return below not in at.bases
    if isinstance(at, (ast.Attribute, ast.Compare, ast.ExceptHandler, ast.Expr)):
        return False
    return not _annotates(at, below)
