"""Folds assignments: what they bind may be gone, become a known constant, or be a set of choices."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Literal

from builder.source.ops import DropItem, Replace
from builder.specialize.attributes import attribute_named, has_setter
from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.facts import Gone
from builder.specialize.evaluating.names import names_of, text
from builder.specialize.evaluating.scopes import Scope
from builder.specialize.folding.expressions import Expressions
from builder.specialize.rebinding import gives_attributes, module_inspected
from builder.specialize.results import Folded

#: What lists the attributes of an object, or takes them by a name that is put together.
_LISTS_ATTRIBUTES = re.compile(
    rb"\bvars\(|\b__dict__\b|\bdir\(|\b(?:get|has)attr\((?:[^()\"',]|\([^()]*\))*,\s*"
    rb"(?:[^\"'\s]|[\"'][^\"'\n]*[\"']\s*[^\"'\s,)])"
)


class Assignments:
    """Folds the assignments of one file; each method says whether the statement stays."""

    def __init__(self, evaluator: Evaluator, expressions: Expressions, out: Folded) -> None:
        self.evaluator = evaluator
        self.expressions = expressions
        self.out = out
        self.unit = evaluator.unit
        self.world = evaluator.world

    def plain(self, stmt: ast.Assign, scope: Scope) -> bool:
        named = scope.kind == "module" or (scope.kind == "class" and not self._inherits(scope, stmt.targets))
        aliases = named and all(isinstance(target, ast.Name) for target in stmt.targets)
        if aliases and isinstance(self.evaluator.value(stmt.value, scope), Gone):
            return False  # an alias of what is gone is gone, and so are several
        if len(stmt.targets) == 1 and isinstance(stmt.targets[0], ast.Name):
            name = stmt.targets[0].id
            if self._binds_gone(name, scope):
                return False
            self._remember(name, scope)
            if name == "__all__" and self.exports(stmt.value):
                return True
        settled = self._settled(stmt.targets[0], stmt.value, scope) if len(stmt.targets) == 1 else None
        if settled is not None:
            return settled == "restated"
        for target in stmt.targets:
            self.expressions.fold(target, scope)
        self._value(stmt.targets, stmt.value, scope)
        return True

    def _inherits(self, scope: Scope, targets: Sequence[ast.expr]) -> bool:
        """Return whether a class may have attributes of these names from its base, or a text asks for one."""
        bases = scope.node.bases  # type: ignore[attr-defined]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        return any(map(gives_attributes, bases)) or any(
            self.evaluator.hinders(attribute_named, name) for name in names
        )

    def annotated(self, stmt: ast.AnnAssign, scope: Scope) -> bool:
        if isinstance(stmt.target, ast.Name):
            if self._binds_gone(stmt.target.id, scope):
                return False
            self._remember(stmt.target.id, scope)
        else:
            settled = self._settled(stmt.target, stmt.value, scope)
            if settled is not None:
                return settled == "restated"
        named = scope.kind == "module" and isinstance(stmt.target, ast.Name)

        def inspected() -> bool:
            return named and self.evaluator.hinders(module_inspected, self.unit.name)

        self.expressions.annotations.fold(stmt, stmt.annotation, scope, inspected)
        exported = (
            isinstance(stmt.target, ast.Name) and stmt.target.id == "__all__" and stmt.value is not None
        )
        if exported and self.exports(stmt.value):  # type: ignore[arg-type]
            return True
        if stmt.value is not None:
            self._value([stmt.target], stmt.value, scope)
        return True

    def augmented(self, stmt: ast.AugAssign, scope: Scope) -> None:
        self.expressions.fold(stmt.target, scope)
        exported = isinstance(stmt.target, ast.Name) and stmt.target.id == "__all__"
        if not (exported and self.exports(stmt.value)):
            self._value([stmt.target], stmt.value, scope)

    def gone(self, name: str) -> bool:
        """Return whether a name of this module (`Class.member` too) is declared absent, or gone since."""
        full = f"{self.unit.name}.{name}"
        return self.world.is_gone(full)

    def _binds_gone(self, name: str, scope: Scope) -> bool:
        full = f"{scope.qualname}.{name}" if scope.qualname else name
        return scope.kind in ("module", "class") and self.gone(full)

    def _settled(
        self, target: ast.expr, value: ast.expr | None, scope: Scope
    ) -> Literal["gone", "restated"] | None:
        """What becomes of a store of something without effect, or gone, to an attribute that a fact states.

        It leaves; where somebody may see whether the attribute exists, the stated value is stored.
        """
        if not isinstance(target, ast.Attribute):
            return None
        known = self.world.facts.attribute_value(target)
        if known is None or not self.evaluator.pure(target.value, scope):
            return None
        harmless = value is None or self.evaluator.pure(value, scope)
        if not harmless and not self.evaluator.holds_gone(value, scope):  # type: ignore[arg-type]
            return None
        if not self._existence_seen(target.attr):
            return "gone"
        if value is None or not known.exact:
            return None
        if ast.dump(value) != ast.dump(ast.Constant(known.value)):
            self.out.ops.append(Replace(value, repr(known.value)))
        return "restated"

    def _existence_seen(self, attribute: str) -> bool:
        """Return whether somebody may see whether an attribute is set: by `hasattr`, `vars`, `del`, a
        setter."""
        if _LISTS_ATTRIBUTES.search(self.unit.module.data):
            return True
        return self.evaluator.hinders(attribute_named, attribute) or self.evaluator.hinders(
            has_setter, attribute
        )

    def _value(self, targets: Sequence[ast.expr], value: ast.expr, scope: Scope) -> None:
        """Fold what is assigned."""
        names = [name for target in targets for name in names_of(target)]
        self.expressions.fold(value, scope, names=names)

    def _remember(self, name: str, scope: Scope) -> None:
        """Keep the derived value of a module-level constant."""
        if scope.kind == "module":
            known = self.evaluator.global_constant(name)
            if known is not None:
                self.out.constants[f"{self.unit.name}.{name}"] = known

    def exports(self, value: ast.expr) -> bool:
        """Drop what is gone from the names of `__all__`, in each list that it is put together of."""
        if isinstance(value, ast.BinOp):
            return self.exports(value.left) | self.exports(value.right)
        if isinstance(value, ast.Call):
            return [self.exports(argument) for argument in value.args].count(True) > 0
        if not isinstance(value, (ast.List, ast.Tuple, ast.Set)):
            return False
        for index, item in enumerate(value.elts):
            if isinstance(item, ast.Starred):
                self.exports(item.value)
            elif self.exports_gone(item):
                self.out.ops.append(DropItem(value, "elts", index))
        return True

    def exports_gone(self, item: ast.expr) -> bool:
        """Return whether an item of `__all__` is the name of something gone."""
        name = text(item)
        found = self.world.canonical(self.unit.name, name) if name is not None else None
        return isinstance(found, Gone) or found in self.world.facts.symbols
