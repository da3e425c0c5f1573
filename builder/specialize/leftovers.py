"""Uses of something gone that no rule of folding could take away: each is an error with its place."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from builder.specialize.evaluate import Evaluator
from builder.specialize.facts import Gone
from builder.specialize.scopes import Scope
from builder.specialize.world import Unit, World


@dataclass(frozen=True, slots=True, order=True)
class Leftover:
    """A use of `gone` at a line (1-based) of the current text of a file."""

    path: str
    line: int
    column: int
    name: str
    gone: str
    scope: str


def leftovers(unit: Unit, world: World) -> list[Leftover]:
    """Every use in one file of something that is gone."""
    return sorted(_Finder(unit, world).find())


class _Finder:
    def __init__(self, unit: Unit, world: World) -> None:
        self.unit = unit
        self.evaluator = Evaluator(world, unit)

    def find(self) -> Iterator[Leftover]:
        yield from self.visit(self.unit.module.tree, self.unit.scopes.root)

    def visit(self, node: ast.AST, scope: Scope) -> Iterator[Leftover]:
        inner = self.unit.scopes.by_node.get(node, scope)
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
            found = self.evaluator.qualified(node, scope)
            if isinstance(found, Gone):
                name = node.id if isinstance(node, ast.Name) else ast.unparse(node)
                yield Leftover(
                    self.unit.path, node.lineno, node.col_offset + 1, name, found.name, scope.qualname
                )
                return
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            outside = [*node.decorator_list]
            if isinstance(node, ast.ClassDef):
                outside += [*node.bases, *(k.value for k in node.keywords)]
            else:
                outside += [*node.args.defaults, *(d for d in node.args.kw_defaults if d)]
                outside += [
                    a.annotation for a in ast.walk(node.args) if isinstance(a, ast.arg) and a.annotation
                ]
                outside += [node.returns] if node.returns else []
            for item in outside:
                yield from self.visit(item, scope)
            for stmt in node.body:
                yield from self.visit(stmt, inner)
            return
        for child in ast.iter_child_nodes(node):
            yield from self.visit(child, inner)
