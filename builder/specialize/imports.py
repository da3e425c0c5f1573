"""Imports of what is gone: they leave, and what they bound is remembered as gone."""

from __future__ import annotations

import ast

from builder.source.ops import DropItem, Op, Remove
from builder.specialize.facts import Gone
from builder.specialize.scopes import Binding, Scope
from builder.specialize.world import Unit, World

_CATCHES = frozenset(("ImportError", "ModuleNotFoundError", "Exception", "BaseException"))


class Imports:
    """Folds the import statements of one file."""

    def __init__(self, unit: Unit, world: World, ops: list[Op], local: dict[tuple[str, str], str]) -> None:
        self.unit = unit
        self.world = world
        self.ops = ops
        self.local = local

    def plain(self, stmt: ast.Import, scope: Scope) -> bool:
        gone = {}
        for index, alias in enumerate(stmt.names):
            why = self.world.module_gone(alias.name)
            if why is not None:
                gone[index] = why
        return self._drop(stmt, scope, gone)

    def names(self, stmt: ast.ImportFrom, scope: Scope) -> bool:
        gone = {}
        module = self.unit.absolute(stmt)
        for index, alias in enumerate(stmt.names):
            if alias.name == "*":
                why = self.world.module_gone(module)
                if why is not None:
                    self.ops.append(Remove(stmt))
                    return False
                continue
            found = self.world.imported(self.unit, Binding("import", stmt, alias=alias))
            if isinstance(found, Gone):
                gone[index] = found.name
        return self._drop(stmt, scope, gone)

    def _drop(self, stmt: ast.Import | ast.ImportFrom, scope: Scope, gone: dict[int, str]) -> bool:
        for index, why in gone.items():
            alias = stmt.names[index]
            name = alias.asname or (alias.name.split(".")[0] if isinstance(stmt, ast.Import) else alias.name)
            others = [b for b in scope.names.get(name, ()) if b.alias is not alias]
            if not others:
                self.local[scope.qualname, name] = why
        if gone and len(gone) == len(stmt.names):
            self.ops.append(Remove(stmt))
            return False
        self.ops.extend(DropItem(stmt, "names", index) for index in gone)
        return True

    def failing(self, stmt: ast.Try, scope: Scope) -> ast.ExceptHandler | None:
        """The handler that always runs, because the body begins with an import of what is gone."""
        if stmt.finalbody:
            return None
        for inner in stmt.body:
            if not isinstance(inner, (ast.Import, ast.ImportFrom)):
                return None
            if self._fails(inner):
                break
        else:
            return None
        for handler in stmt.handlers:
            if not _catches(handler):
                continue
            used = {n.id for n in ast.walk(handler) if isinstance(n, ast.Name)}
            if handler.name is not None and handler.name in used:
                return None
            if any(isinstance(n, ast.Raise) and n.exc is None for s in handler.body for n in ast.walk(s)):
                return None
            return handler
        return None

    def _fails(self, stmt: ast.Import | ast.ImportFrom) -> bool:
        if isinstance(stmt, ast.Import):
            return any(self.world.module_gone(a.name) is not None for a in stmt.names)
        if self.world.module_gone(self.unit.absolute(stmt)) is not None:
            return True
        return any(
            isinstance(self.world.imported(self.unit, Binding("import", stmt, alias=a)), Gone)
            for a in stmt.names
            if a.name != "*"
        )


def _catches(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(k is None or (isinstance(k, ast.Name) and k.id in _CATCHES) for k in kinds)
