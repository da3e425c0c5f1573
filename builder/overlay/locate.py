"""Resolves a qualified name to a file and to nodes of its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass

from builder.graph.names import imported_module, locate
from builder.source.layout import suites

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Scope = ast.Module | Definition
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True, slots=True)
class Target:
    """A qualified name taken apart: `module.path:parameter` lives in the file `file`."""

    file: str
    module: str
    path: tuple[str, ...]  # names below the module; empty: the module itself
    parameter: str | None = None


@dataclass(frozen=True, slots=True)
class Binding:
    """One place where a name is bound: the statement, and the target inside an assignment."""

    statement: ast.stmt
    name: ast.expr | None = None  # the assigned target; None for a definition


def resolve(name: str, packages: Mapping[str, str], files: Container[str]) -> Target | None:
    """The file of the longest prefix of a name that is a module of `files`; `packages`: name -> folder."""
    dotted, _, parameter = name.partition(":")
    located = locate(dotted, packages, files)
    if located is None:
        return None
    path, module, rest = located
    return Target(path, module, tuple(rest.split(".")) if rest else (), parameter or None)


def statements(scope: Scope | ast.stmt) -> Iterator[ast.stmt]:
    """The statements of a scope, those in both arms of an if, try, with, for or match included."""
    for suite in suites(scope):
        for statement in suite:
            yield statement
            if not isinstance(statement, _DEFINITIONS):
                yield from statements(statement)


def bindings(scope: Scope) -> Iterator[tuple[str, Binding]]:
    """Every definition and assignment of a name directly in a scope, in source order."""
    for statement in statements(scope):
        targets: list[ast.expr] = []
        if isinstance(statement, _DEFINITIONS):
            yield statement.name, Binding(statement)
        elif isinstance(statement, ast.Assign):
            targets = statement.targets
        elif isinstance(statement, (ast.AnnAssign, ast.AugAssign)):
            targets = [statement.target]
        for node in (node for target in targets for node in ast.walk(target)):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id, Binding(statement, node)


def find(tree: ast.Module, path: Iterable[str]) -> tuple[list[Binding], list[Scope]]:
    """(the bindings of the last name, the scopes that were searched for it)."""
    scopes: list[Scope] = [tree]
    result: list[Binding] = []
    for index, name in enumerate(path):
        if index:
            inner = [b.statement for b in result if isinstance(b.statement, _DEFINITIONS)]
            if not inner:
                return [], scopes
            scopes = list(inner)
        result = [binding for scope in scopes for bound, binding in bindings(scope) if bound == name]
        if not result:
            return [], scopes
    return result, scopes


def imports(scope: Scope, name: str) -> bool:
    """Whether an import statement of a scope binds a name."""
    return any(any(imported(statement, name)) for statement in statements(scope))


def imported(statement: ast.stmt, bound: str, package: str = "") -> Iterator[str]:
    """Yield what an import statement binds to a name; nothing for another statement.

    `package`: where its relative imports start.
    """
    home = f"{imported_module(statement, package)}." if isinstance(statement, ast.ImportFrom) else ""
    for alias in statement.names if isinstance(statement, (ast.Import, ast.ImportFrom)) else ():
        if bound == (alias.asname or alias.name.partition(".")[0]):
            yield f"{home}{alias.name}"
