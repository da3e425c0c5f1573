"""The parent of each node of a syntax tree, found definition by definition as somebody asks."""

from __future__ import annotations

import ast
from bisect import bisect_left

from builder.source.fields import inner_fields


class Parents:
    """Looks up parents as a mapping does; the module itself has none.

    A definition at the top of the module, or of a class there, is walked when a node on its lines is
    asked for.
    """

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._found: dict[ast.AST, ast.AST] = {}
        self._walked: set[ast.AST] = set()

    def __getitem__(self, node: ast.AST) -> ast.AST:
        """The parent of a node; raises KeyError for one that the tree lacks, and for the module."""
        parent = self.get(node)
        if parent is None:
            raise KeyError(node)
        return parent

    def __contains__(self, node: ast.AST) -> bool:
        return self.get(node) is not None

    def get(self, node: ast.AST | None) -> ast.AST | None:
        """The parent of a node, or None."""
        if node is None:
            return None
        parent = self._found.get(node)
        if parent is None and node is not self._tree and self._tree not in self._walked:
            self._look_for(node)
            parent = self._found.get(node)
        return parent

    def _look_for(self, node: ast.AST) -> None:
        line: int | None = getattr(node, "lineno", None)
        if line is not None:
            self._enter(self._tree, line)
        if node not in self._found:  # places in f-strings are wrong before Python 3.12, some nodes have none
            self._walk(self._tree)

    def _enter(self, owner: ast.Module | ast.ClassDef, line: int) -> None:
        """Find the parents in the statements of a suite that span a line."""
        body = owner.body
        if body and body[0] not in self._found:
            self._found.update(dict.fromkeys(body, owner))
        at = bisect_left(body, line, key=_last_line)
        while at < len(body) and _first_line(body[at]) <= line:  # several can be on one line
            stmt = body[at]
            if isinstance(stmt, ast.ClassDef) and line > stmt.lineno and stmt.body[0].lineno <= line:
                self._enter(stmt, line)
            else:
                self._walk(stmt)
            at += 1

    def _walk(self, top: ast.AST) -> None:
        if top in self._walked:
            return
        self._walked.add(top)
        found = self._found
        stack = [top]
        while stack:
            node = stack.pop()
            for name in inner_fields(node.__class__):
                value = getattr(node, name, None)
                if isinstance(value, ast.AST):
                    found[value] = node
                    stack.append(value)
                elif isinstance(value, list):
                    for item in value:
                        if isinstance(item, ast.AST):
                            found[item] = node
                            stack.append(item)


def _last_line(stmt: ast.stmt) -> int:
    return stmt.end_lineno or stmt.lineno


def _first_line(stmt: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(stmt, "decorator_list", [])
    return min([stmt.lineno, *(decorator.lineno for decorator in decorators)])
