"""The class statements of the program: their names, their bases and what their bodies bind."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.facts import Gone
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


def class_bases(
    world: SpecializerWorld, name: str
) -> Iterator[tuple[ast.expr | ast.keyword, str | Gone | None]]:
    """The bases and keywords of a class at the top of a module of the tree, and what they mean."""
    for unit, node in class_statements(world, name):
        evaluator, root = Evaluator(world, unit), unit.scopes.root
        for base in node.bases:
            plain = base.value if isinstance(base, ast.Subscript) else base
            yield plain, evaluator.qualified(plain, root)
        for keyword in node.keywords:
            yield keyword, evaluator.qualified(keyword.value, root) or ""


def class_statements(world: SpecializerWorld, name: str) -> Iterator[tuple[Unit, ast.ClassDef]]:
    """The statements of a class at the top of a module of the tree."""
    module, _, last = name.rpartition(".")
    path = world.paths.get(module)
    if path is not None:
        unit = world.unit(path)
        for binding in unit.scopes.root.names.get(last, []):
            if isinstance(binding.node, ast.ClassDef):
                yield unit, binding.node


def defines_method(node: ast.ClassDef, name: str) -> bool:
    """Does the body of a class bind a name, at whatever depth of conditions?"""
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
            todo += [inner for inner in ast.iter_child_nodes(stmt) if isinstance(inner, ast.stmt)]
            for handler in getattr(stmt, "handlers", ()):
                todo += handler.body


def is_in_program(world: SpecializerWorld, name: str) -> bool:
    """Is this the name of a module of the program, or of something in one?"""
    while name:
        if world.is_module(name):
            return True
        name = name.rpartition(".")[0]
    return False
