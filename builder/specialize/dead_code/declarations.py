"""Declarations: attributes of classes that the manifest names, and texts of collections that list them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from builder.specialize.evaluating.facts import Facts
from builder.specialize.evaluating.scopes import Scope, Scopes

Declared = tuple[str, ast.stmt | ast.Constant, Scope | None]


def declared(facts: Facts, module: str, tree: ast.Module, scopes: Scopes | None = None) -> Iterator[Declared]:
    """The names that a file declares, each with its statement and class, or with the text that lists it."""
    for stmt in tree.body:
        if isinstance(stmt, ast.ClassDef) and facts.declares(f"{module}.{stmt.name}"):
            scope = scopes.of(stmt) if scopes is not None else None
            yield from ((name, each, scope) for each in stmt.body if (name := bound(each)))
        elif (name := bound(stmt)) and facts.declares(f"{module}.{name}"):
            for text in getattr(stmt.value, "elts", ()):  # type: ignore[attr-defined]
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    yield text.value, text, scopes.root if scopes is not None else None


def bound(stmt: ast.stmt) -> str:
    """The one name to which a statement gives a value."""
    targets = getattr(stmt, "targets", [getattr(stmt, "target", None)])
    gives = isinstance(stmt, (ast.Assign, ast.AnnAssign)) and stmt.value is not None
    return targets[0].id if gives and len(targets) == 1 and isinstance(targets[0], ast.Name) else ""
