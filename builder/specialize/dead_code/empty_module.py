"""Whether anything is left in a module that somebody could use."""

from __future__ import annotations

import ast

from builder.source.fields import nodes

#: What makes a logger: a module's own is nothing that others take.
_LOGGER = "logging.getLogger"


def is_empty_module(tree: ast.Module) -> bool:
    """Return whether nothing is left but a docstring, a logger, an empty `__all__`, and what these read.

    An import that nothing here reads counts as something: other modules may take it from here.
    """
    own = [stmt for stmt in tree.body if not isinstance(stmt, (ast.Import, ast.ImportFrom))]
    if not all(map(_nothing, own)):
        return False
    read = {node.id for stmt in own for node in nodes(stmt) if isinstance(node, ast.Name)}
    return all(
        bound in read
        for stmt in tree.body
        if isinstance(stmt, (ast.Import, ast.ImportFrom))
        if not (isinstance(stmt, ast.ImportFrom) and stmt.module == "__future__")
        for bound in (alias.asname or alias.name for alias in stmt.names)
    )


def _nothing(stmt: ast.stmt) -> bool:
    if isinstance(stmt, ast.Pass):
        return True
    if isinstance(stmt, ast.Expr):
        return isinstance(stmt.value, ast.Constant)
    if isinstance(stmt, ast.If):
        typing = isinstance(stmt.test, ast.Name) and stmt.test.id == "TYPE_CHECKING"
        return typing and all(map(_nothing, (*stmt.body, *stmt.orelse)))
    if not isinstance(stmt, ast.Assign) or len(stmt.targets) != 1:
        return False
    target, value = stmt.targets[0], stmt.value
    if not isinstance(target, ast.Name):
        return False
    if isinstance(value, ast.Call):
        return ast.unparse(value.func) == _LOGGER
    return target.id == "__all__" and isinstance(value, (ast.List, ast.Tuple)) and not value.elts
