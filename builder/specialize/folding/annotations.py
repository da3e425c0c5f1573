"""Folds annotations: a type that is gone leaves its union, or the annotation leaves."""

from __future__ import annotations

import ast
from collections.abc import Callable

from builder.source.fields import inner_nodes, nodes
from builder.source.ops import DropAnnotation, DropItem, Op, Replace
from builder.source.oracle import expected
from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.facts import Gone
from builder.specialize.evaluating.names import names_of, text
from builder.specialize.evaluating.scopes import Comprehension, Scope

Annotated = ast.arg | ast.FunctionDef | ast.AsyncFunctionDef | ast.AnnAssign
Fold = Callable[[ast.expr, Scope], None]
#: What says something of a field besides its type.
_QUALIFIERS = frozenset(["Annotated", "ClassVar", "Final", "InitVar", "NotRequired", "ReadOnly", "Required"])
_SCOPED = (ast.Lambda, *Comprehension)


class Annotations:
    """Adds to `ops` what the facts ask of annotations; other expressions in them go to `fold`."""

    def __init__(self, evaluator: Evaluator, ops: list[Op], fold: Fold | None) -> None:
        """Without `fold` only unions are looked at in other expressions."""
        self.evaluator = evaluator
        self.ops = ops
        self._fold = fold

    def fold(
        self, owner: Annotated, node: ast.expr, scope: Scope, inspected: Callable[[], bool] = bool
    ) -> None:
        """Fold the annotation of a parameter, a return or an assignment.

        `inspected`: tells whether somebody may ask what is annotated; few annotations need to know.
        """
        if self.gone(node, scope):
            if isinstance(owner, ast.AnnAssign) and (owner.value is None or scope.kind == "class"):
                self._any_object(node)
            elif inspected():
                self.ops.append(Replace(node, "object"))
            else:
                self.ops.append(DropAnnotation(owner))
        elif _optional(node) and self.gone(node.slice, scope):  # type: ignore[attr-defined]
            self.ops.append(Replace(node, "None"))
        elif (quoted := text(node)) is not None:
            self._quoted(node, quoted, scope)
        elif not self._either(node, scope):
            self._other(node, scope)

    def _any_object(self, node: ast.expr) -> None:
        """A field keeps its annotation, and what the annotation says of the field: `ClassVar[object]`."""
        quoted = text(node)
        if quoted is not None:
            whole = ast.parse(quoted, mode="eval").body
            part = _about_the_type(whole)
            written = quoted[: part.col_offset] + "object" + quoted[part.end_col_offset :]
            self.ops.append(Replace(node, repr(written)))
        else:
            self.ops.append(Replace(_about_the_type(node), "object"))

    def _either(self, node: ast.expr, scope: Scope) -> bool:
        """Fold `A | B` of which one is gone."""
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr)):
            return False
        for side, other in ((node.left, node.right), (node.right, node.left)):
            if self.gone(side, scope):
                self.ops.append(Replace(node, other))
                self._other(other, scope)
                return True
        return self._either(node.left, scope) or self._either(node.right, scope)

    def _within(self, node: ast.expr, scope: Scope) -> bool:
        """Fold `A | B` of which one is gone inside of brackets: `list[A | B]`, `Callable[[A | B], C]`, and
        `Optional[A]` likewise."""
        if self.optional(node, scope):
            return True
        if isinstance(node, ast.List):
            parts = node.elts
        elif isinstance(node, ast.Subscript) and names_of(node.value)[:1] != ("Literal",):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            if names_of(node.value)[:1] == ("Annotated",):  # what comes after the type may be anything
                parts = parts[:1]
        else:
            return False
        folded = [self._either(part, scope) or self._within(part, scope) for part in parts]
        return any(folded)

    def union(self, node: ast.Subscript, scope: Scope) -> bool:
        """Fold `Union[...]` of which a member is gone."""
        if names_of(node.value)[:1] != ("Union",) or not isinstance(node.slice, ast.Tuple):
            return False
        members = node.slice.elts
        gone = [i for i, member in enumerate(members) if self.gone(member, scope)]
        if not gone or len(gone) == len(members):
            return False
        left = [member for i, member in enumerate(members) if i not in gone]
        if len(left) == 1:
            self.ops.append(Replace(node, left[0]))
        else:
            self.ops.extend(DropItem(node.slice, "elts", i) for i in gone)
        for member in left:
            self._other(member, scope)
        return True

    def optional(self, node: ast.expr, scope: Scope) -> bool:
        """Fold `Optional[A]` of which A is gone where it may be a part of something else."""
        if not isinstance(node, ast.Subscript) or not _optional(node) or not self.gone(node.slice, scope):
            return False
        self.ops.append(Replace(node.slice, "None"))
        return True

    def gone(self, node: ast.expr, scope: Scope) -> bool:
        """Return whether nothing can have this type any more."""
        quoted = text(node)
        if quoted is not None:
            inner = _parsed(quoted)
            return inner is not None and self.gone(inner, scope)
        if isinstance(self.evaluator.value(node, scope), Gone):
            return True
        if isinstance(node, ast.Subscript):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            kind = names_of(node.value)[:1]
            if kind in (("Optional",), ("Literal",)):
                return False
            which = all if kind == ("Union",) else any
            return which(self.gone(part, scope) for part in parts)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return self.gone(node.left, scope) and self.gone(node.right, scope)
        return False

    def _quoted(self, node: ast.expr, quoted: str, scope: Scope) -> None:
        """Fold what a string annotation says, as if it stood there without quotes."""
        if _parsed(quoted) is None:
            return
        holder = ast.parse(f"_: {quoted}")
        statement = holder.body[0]
        assert isinstance(statement, ast.AnnAssign)
        ops: list[Op] = []
        Annotations(self.evaluator, ops, None).fold(statement, statement.annotation, scope)
        if ops:
            after = expected(holder, ops).body[0]
            assert isinstance(after, ast.AnnAssign)
            self.ops.append(Replace(node, repr(ast.unparse(after.annotation))))

    def _other(self, node: ast.expr, scope: Scope) -> None:
        """Fold an expression that is no annotation of a kind of its own."""
        if self._within(node, scope):
            return  # the rest of it is folded in the next round
        if self._fold is not None:
            self._fold(node, scope)
        else:
            self._unions(node, scope)

    def _unions(self, node: ast.expr, scope: Scope) -> None:
        if isinstance(node, ast.Subscript) and self.union(node, scope):
            return
        for child in inner_nodes(node):
            if isinstance(child, ast.expr):
                self._unions(child, scope)


def _about_the_type(node: ast.expr) -> ast.expr:
    """The part of a field's annotation that is the type: `X` of `ClassVar[X]` and `Annotated[X, ...]`."""
    while (
        isinstance(node, ast.Subscript)
        and names_of(node.value)[:1]
        and names_of(node.value)[0] in _QUALIFIERS
    ):
        node = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice
    return node


def _optional(node: ast.expr) -> bool:
    return isinstance(node, ast.Subscript) and names_of(node.value)[:1] == ("Optional",)


def _parsed(quoted: str) -> ast.expr | None:
    """The expression in a string, if it is one that may be an annotation."""
    try:
        found = ast.parse(quoted, mode="eval").body
    except SyntaxError:
        return None
    return None if any(isinstance(n, _SCOPED) for n in nodes(found)) else found
