"""Folds expressions: known values, shortened conditions, and members that name something gone."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from builder.source.ops import DropAnnotation, DropItem, Op, Operands, Replace
from builder.specialize.evaluate import Evaluator, names_of
from builder.specialize.facts import Gone, Known
from builder.specialize.scopes import Scope

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_UNIONS = ("Union", "Optional")


class Expressions:
    """Adds to `ops` what the facts ask of the expressions of one file."""

    def __init__(self, evaluator: Evaluator, ops: list[Op]) -> None:
        self.evaluator = evaluator
        self.ops = ops

    def fold(self, node: ast.expr, scope: Scope, test: bool = False, names: Iterable[str] = ()) -> None:
        """Fold one expression. `test`: only its truth matters. `names`: what it is assigned to."""
        known = self.evaluator.value(node, scope)
        if (
            isinstance(known, Known)
            and not isinstance(node, ast.Constant)
            and self._may_stand_in(known, test)
        ):
            if self.evaluator.pure(node, scope):
                self.ops.append(Replace(node, repr(known.truth if test else known.value)))
                return
        names = tuple(names)
        if isinstance(node, ast.BoolOp):
            self._bool(node, scope, test, names)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self.fold(node.operand, scope, test=True)
        elif isinstance(node, ast.IfExp):
            self._choice(node, scope, test, names)
        elif isinstance(node, ast.Compare):
            self._compare(node, scope)
        elif isinstance(node, ast.Call):
            self._call(node, scope)
        elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            self._members(node, scope, names)
        elif isinstance(node, ast.Dict):
            self._entries(node, scope, names)
        elif isinstance(node, ast.Subscript):
            self._subscript(node, scope)
        elif isinstance(node, ast.Lambda):
            self.fold(node.body, self.evaluator.unit.scopes.of(node))
        elif isinstance(node, _COMPREHENSIONS):
            self._comprehension(node, scope)
        elif not isinstance(node, ast.JoinedStr):  # positions inside f-strings differ between Pythons
            self.fold_children(node, scope)

    def fold_children(self, node: ast.AST, scope: Scope) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.fold(child, scope)
            elif isinstance(child, ast.keyword):
                self.fold(child.value, scope)

    @staticmethod
    def _may_stand_in(known: Known, test: bool) -> bool:
        return known.exact or test

    # -- conditions ---------------------------------------------------------------------------

    def _bool(self, node: ast.BoolOp, scope: Scope, test: bool, names: tuple[str, ...]) -> None:
        stop = isinstance(node.op, ast.Or)
        keep: list[int] = []
        last = len(node.values) - 1
        for index, operand in enumerate(node.values):
            truth = self.evaluator.truth(operand, scope)
            if truth is not None and self.evaluator.pure(operand, scope):
                if truth is not stop and (test or index < last):
                    continue
                if truth is stop:
                    keep.append(index)
                    break
            keep.append(index)
        if not keep:
            return
        if len(keep) == 1:
            only = node.values[keep[0]]
            self.ops.append(Replace(node, only))
            self.fold(only, scope, test, names)
            return
        if len(keep) < len(node.values):
            self.ops.append(Operands(node, tuple(keep)))
        for index in keep:
            self.fold(node.values[index], scope, test=test or (index != keep[-1] and False), names=names)

    def _choice(self, node: ast.IfExp, scope: Scope, test: bool, names: tuple[str, ...]) -> None:
        truth = self.evaluator.truth(node.test, scope)
        if truth is not None and self.evaluator.pure(node.test, scope):
            taken = node.body if truth else node.orelse
            self.ops.append(Replace(node, taken))
            self.fold(taken, scope, test, names)
            return
        self.fold(node.test, scope, test=True)
        self.fold(node.body, scope, test, names)
        self.fold(node.orelse, scope, test, names)

    def _compare(self, node: ast.Compare, scope: Scope) -> None:
        self.fold(node.left, scope)
        for op, right in zip(node.ops, node.comparators, strict=True):
            names: tuple[str, ...] = ()
            if isinstance(op, (ast.In, ast.NotIn)):
                names = names_of(node.left)
            self.fold(right, scope, names=names)

    # -- members ------------------------------------------------------------------------------

    def _members(self, node: ast.List | ast.Tuple | ast.Set, scope: Scope, names: Sequence[str]) -> None:
        gone = [i for i, item in enumerate(node.elts) if self.evaluator.item_absent(item, names, scope)]
        if isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Store):
            gone = []
        self.ops.extend(DropItem(node, "elts", i) for i in gone)
        for index, item in enumerate(node.elts):
            if index not in gone:
                self.fold(item, scope, names=names if not isinstance(item, ast.Constant) else ())

    def _entries(self, node: ast.Dict, scope: Scope, names: Sequence[str]) -> None:
        for index, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
            if key is not None and self.evaluator.item_absent(key, names, scope):
                self.ops.append(DropItem(node, "keys", index))
                continue
            if isinstance(self.evaluator.value(value, scope), Gone):
                self.ops.append(DropItem(node, "keys", index))
                continue
            if key is not None:
                self.fold(key, scope)
            inner = (key.value,) if isinstance(key, ast.Constant) and isinstance(key.value, str) else ()
            self.fold(value, scope, names=inner)

    def _call(self, node: ast.Call, scope: Scope) -> None:
        self.fold_children(node.func, scope)
        called = self.evaluator.qualified(node.func, scope)
        if called in ("isinstance", "issubclass") and len(node.args) == 2:
            classes = node.args[1]
            if isinstance(classes, ast.Tuple):
                gone = [
                    i for i, c in enumerate(classes.elts) if isinstance(self.evaluator.value(c, scope), Gone)
                ]
                if len(classes.elts) - len(gone) == 1:
                    left = next(c for i, c in enumerate(classes.elts) if i not in gone)
                    if gone:
                        self.ops.append(Replace(classes, left))
                    self.fold(node.args[0], scope)
                    return
                self.ops.extend(DropItem(classes, "elts", i) for i in gone)
                self.fold(node.args[0], scope)
                return
        last = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        flags = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        option = flags[0].lstrip("-").replace("-", "_") if last == "add_argument" and flags else ""
        for arg in node.args:
            self.fold(arg, scope)
        for index, keyword in enumerate(node.keywords):
            value = self.evaluator.value(keyword.value, scope)
            if isinstance(value, Known) and isinstance(called, str) and keyword.arg is not None:
                for name in (called, f"*.{last}"):
                    if (name, keyword.arg) in self.evaluator.facts.defaults:
                        if self.evaluator.facts.defaults[name, keyword.arg] == value.value:
                            self.ops.append(DropItem(node, "keywords", index))
                            break
                else:
                    self.fold(keyword.value, scope, names=(keyword.arg,))
                continue
            self.fold(keyword.value, scope, names=[n for n in (option, keyword.arg) if n])

    def registers_absent(self, node: ast.Call, scope: Scope) -> bool:
        """Is this a registration of an absent option value: `register("fa3", ...)`, `@backend("fa3")`?"""
        name = names_of(node.func)
        if not name or "regist" not in name[0].lower() or not node.args:
            return False
        first = node.args[0]
        if isinstance(first, ast.Constant):
            return self.evaluator.facts.option_absent((name[0],), first.value) is not None
        return any(isinstance(self.evaluator.value(a, scope), Gone) for a in node.args)

    def _comprehension(self, node: ast.expr, scope: Scope) -> None:
        inner = self.evaluator.unit.scopes.of(node)
        for index, generator in enumerate(node.generators):  # type: ignore[attr-defined]
            self.fold(generator.iter, inner if index else scope)
            for position, test in enumerate(generator.ifs):
                truth = self.evaluator.truth(test, inner)
                if truth is True and self.evaluator.pure(test, inner):
                    self.ops.append(DropItem(generator, "ifs", position))
                else:
                    self.fold(test, inner, test=True)
        for name in ("elt", "key", "value"):
            child = getattr(node, name, None)
            if child is not None:
                self.fold(child, inner)

    def pattern_gone(self, pattern: ast.pattern, subject: ast.expr, scope: Scope) -> bool:
        if isinstance(pattern, ast.MatchValue):
            return self.evaluator.item_absent(pattern.value, names_of(subject), scope)
        if isinstance(pattern, ast.MatchOr):
            return all(self.pattern_gone(p, subject, scope) for p in pattern.patterns)
        if isinstance(pattern, ast.MatchClass):
            return isinstance(self.evaluator.value(pattern.cls, scope), Gone)
        return False

    # -- annotations --------------------------------------------------------------------------

    def _subscript(self, node: ast.Subscript, scope: Scope) -> None:
        base = names_of(node.value)
        if base and base[0] == "Literal" and isinstance(node.slice, ast.Tuple):
            self._members(node.slice, scope, ("*",))
            return
        if base and base[0] in _UNIONS and self._union(node, scope):
            return
        self.fold(node.value, scope)
        self.fold(node.slice, scope)

    def _union(self, node: ast.Subscript, scope: Scope) -> bool:
        if not isinstance(node.slice, ast.Tuple):
            return False
        gone = [i for i, m in enumerate(node.slice.elts) if self._type_gone(m, scope)]
        if not gone or len(gone) == len(node.slice.elts):
            return False
        left = [m for i, m in enumerate(node.slice.elts) if i not in gone]
        if len(left) == 1:
            self.ops.append(Replace(node, left[0]))
        else:
            self.ops.extend(DropItem(node.slice, "elts", i) for i in gone)
        for member in left:
            self.fold(member, scope)
        return True

    def _type_gone(self, node: ast.expr, scope: Scope) -> bool:
        """Can nothing have this type any more?"""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                inner = ast.parse(node.value, mode="eval").body
            except SyntaxError:
                return False
            return self._type_gone(inner, scope)
        if isinstance(self.evaluator.value(node, scope), Gone):
            return True
        if isinstance(node, ast.Subscript):
            base = names_of(node.value)
            if base[:1] == ("Optional",):
                return False
            if base[:1] == ("Union",) and isinstance(node.slice, ast.Tuple):
                return all(self._type_gone(m, scope) for m in node.slice.elts)
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            return any(self._type_gone(p, scope) for p in parts)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return self._type_gone(node.left, scope) and self._type_gone(node.right, scope)
        return False

    def annotation(
        self,
        owner: ast.arg | ast.FunctionDef | ast.AsyncFunctionDef | ast.AnnAssign,
        node: ast.expr,
        scope: Scope,
    ) -> None:
        """An annotation names types; one that is gone leaves the union, or the annotation leaves."""
        if self._type_gone(node, scope):
            if isinstance(owner, ast.AnnAssign) and (owner.value is None or scope.kind == "class"):
                self.ops.append(Replace(node, "object"))
            else:
                self.ops.append(DropAnnotation(owner))
            return
        if isinstance(node, ast.Subscript) and names_of(node.value)[:1] == ("Optional",):
            if self._type_gone(node.slice, scope):
                self.ops.append(Replace(node, "None"))
                return
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            self._quoted(node, scope)
            return
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            for side, other in ((node.left, node.right), (node.right, node.left)):
                if self._type_gone(side, scope):
                    self.ops.append(Replace(node, other))
                    self.fold(other, scope)
                    return
        self.fold(node, scope)

    def _quoted(self, node: ast.Constant, scope: Scope) -> None:
        try:
            inner = ast.parse(node.value, mode="eval").body
        except SyntaxError:
            return
        ops: list[Op] = []
        from builder.source.oracle import expected

        holder = ast.parse(f"_: {node.value}")
        statement = holder.body[0]
        assert isinstance(statement, ast.AnnAssign)
        Expressions(self.evaluator, ops).annotation(statement, statement.annotation, scope)
        if ops and inner is not None:
            after = expected(holder, ops).body[0]
            assert isinstance(after, ast.AnnAssign)
            self.ops.append(Replace(node, repr(ast.unparse(after.annotation))))
