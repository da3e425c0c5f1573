"""Uses of something gone that no rule of folding could take away: each is an error with its place."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from builder.source.fields import inner_nodes, nodes
from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.facts import Gone
from builder.specialize.evaluating.scopes import Comprehension, Function, Scope
from builder.specialize.text_index.text_search import (
    Lines,
    RelevantLines,
    children,
    import_hits,
    statements,
    touches,
)
from builder.specialize.unit import Unit
from builder.specialize.world import SpecializerWorld

_SCOPED = (*Function, *Comprehension, ast.ClassDef)


@dataclass(frozen=True, slots=True, order=True)
class Leftover:
    """A use of `gone` at a line (1-based) of the current text of a file."""

    path: str
    line: int
    column: int
    name: str
    gone: str
    scope: str


def use_of(unit: Unit, node: ast.AST, used: str, gone: str, scope: str) -> Leftover:
    """A use at the place of a node: `used` is what it is called there."""
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1
    return Leftover(unit.path, line, column, used, gone, scope)


def leftovers(unit: Unit, world: SpecializerWorld, names: Iterable[str]) -> list[Leftover]:
    """Every use in one file of something that is gone; `names`: what such a use is called somewhere."""
    local = {name for _, name in world.local(unit.path)}
    offsets = import_hits(unit.content, unit.package, lambda m: world.module_gone(m) is not None)
    return sorted(_Finder(unit, world, RelevantLines(unit, {*names, *local}, offsets)).find())


class _Finder:
    def __init__(self, unit: Unit, world: SpecializerWorld, hits: RelevantLines) -> None:
        self.unit = unit
        self.world = world
        self.lines: Lines = hits.lines
        self.evaluator = Evaluator(world, unit)

    def find(self) -> Iterator[Leftover]:
        if self.lines:
            yield from self.visit(self.unit.module.tree, self.unit.scopes.root, self.lines)

    def visit(self, node: ast.AST, scope: Scope, lines: Lines | None) -> Iterator[Leftover]:
        """The uses in a node. `lines`: what spans none of them is skipped; None: look at everything."""
        inner = self.unit.scopes.of(node) if isinstance(node, _SCOPED) else scope
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
            found = self.evaluator.qualified(node, scope)
            if isinstance(found, str):
                found = self.covered(node, scope) or found
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
                outside += [a.annotation for a in nodes(node.args) if isinstance(a, ast.arg) and a.annotation]
                outside += [node.returns] if node.returns else []
            for item in outside:
                if lines is None or touches(lines, item):
                    yield from self.visit(item, scope, lines)
            for stmt in node.body if lines is None else statements(node.body, lines):
                yield from self.visit(stmt, inner, lines)
            return
        if isinstance(node, ast.JoinedStr):  # places inside f-strings are wrong before Python 3.12
            lines = None
        for child in inner_nodes(node) if lines is None else children(node, lines):
            yield from self.visit(child, inner, lines)

    def covered(self, node: ast.Name | ast.Attribute, scope: Scope) -> Gone | None:
        """What is gone of an import that a star import from outside the tree may bind again."""
        parts = ast.unparse(node).split(".")
        owner = scope.find(parts[0])
        if not self.unit.scopes.root.star or owner is None or owner.kind != "module":
            return None
        for binding in owner.names[parts[0]]:
            if binding.kind == "import":
                named = self.world.imported(self.unit, binding)
                full = ".".join([named, *parts[1:]]) if isinstance(named, str) else ""
                if self.world.is_gone(full):
                    return Gone(full)
        return None
