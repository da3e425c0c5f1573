"""The class statements of the program: their names, their bases and what their bodies bind."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from builder.source.fields import inner_nodes
from builder.specialize.evaluating.scopes import Scope
from builder.specialize.unit import Unit
from builder.specialize.world import SpecializerWorld

#: Class decorators that call no method and remember no class.
HARMLESS_CLASS_DECORATORS = frozenset(
    [
        "dataclasses.dataclass",
        "enum.unique",
        "functools.total_ordering",
        "typing.final",
        "typing.runtime_checkable",
        "typing_extensions.final",
        "typing_extensions.runtime_checkable",
    ]
)
#: So many bases one above the other are looked at.
MAX_DEPTH = 30


@dataclass(frozen=True, slots=True, eq=False)
class Class:
    """A class statement of a kept file."""

    unit: Unit
    node: ast.ClassDef
    scope: Scope  # around it

    @property
    def qualified(self) -> str:
        return ".".join(part for part in (self.unit.name, self.scope.qualname, self.node.name) if part)


def defines_method(node: ast.ClassDef, name: str) -> bool:
    """Return whether the body of a class binds a name, at whatever depth of conditions."""
    for inner in statements_of(node):
        if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)) and inner.name == name:
            return True
        if isinstance(inner, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id == name for t in inner.targets
        ):
            return True
    return False


def statements_of(node: ast.ClassDef) -> Iterator[ast.stmt]:
    """The statements of the body of a class, at whatever depth of conditions."""
    todo: list[ast.stmt] = list(node.body)
    while todo:
        stmt = todo.pop()
        yield stmt
        if isinstance(stmt, (ast.If, ast.Try, ast.With)):
            todo += [inner for inner in inner_nodes(stmt) if isinstance(inner, ast.stmt)]
            for handler in getattr(stmt, "handlers", ()):
                todo += handler.body


def is_in_program(world: SpecializerWorld, name: str) -> bool:
    """Return whether this is the name of a module of the program, or of something in one."""
    while name:
        if world.is_module(name):
            return True
        name = name.rpartition(".")[0]
    return False
