"""What the facts say of comparisons: of two values, a member and a collection, or a subject and a pattern.

Of collections of texts that have a name only tuples and frozen sets count, which nothing can change.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from builder.manifest.statements import Scalar
from builder.source.fields import nodes
from builder.specialize.evaluating.facts import Gone, KnownValue
from builder.specialize.evaluating.names import converts, names_of, operands, says, scalar, text
from builder.specialize.evaluating.scopes import Scope
from builder.specialize.rebinding import is_class, part_of_value, rebound, written_otherwise
from builder.specialize.unit import Unit
from builder.specialize.world import SpecializerWorld, question

if TYPE_CHECKING:
    from builder.specialize.evaluating.evaluate import Evaluator

_LITERALS = (ast.Tuple, ast.List, ast.Set)
_ORDER: Mapping[type[ast.cmpop], Callable[..., bool]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip

#: Calls that make collections which nothing can change, and others.
_FROZEN = frozenset(["frozenset", "tuple"])
_MAKERS = _FROZEN | {"list", "set", "sorted"}


class Comparisons:
    """Decides the comparisons of one file."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.world, self.facts = evaluator.world, evaluator.facts

    def value(self, node: ast.Compare, scope: Scope) -> KnownValue | None:
        """What the facts say of a comparison."""
        if len(node.ops) != 1:
            return None
        op, left, right = node.ops[0], node.left, node.comparators[0]
        if type(op) in _ORDER:
            return self._ordered(_ORDER[type(op)], left, right, scope)
        negative = isinstance(op, (ast.NotEq, ast.IsNot, ast.NotIn))
        if isinstance(op, (ast.Eq, ast.Is, ast.NotEq, ast.IsNot)):
            same = self._same(left, right, scope, isinstance(op, (ast.Is, ast.IsNot)))
        elif isinstance(op, (ast.In, ast.NotIn)):
            same = self._contains(left, right, scope)
        else:
            return None
        return None if same is None else KnownValue(same is not negative)

    def any_of(self, made: ast.GeneratorExp, scope: Scope) -> KnownValue | None:
        """`any` of what is false of each: of `a in LISTED for a in names`, `a in names for a in LISTED`."""
        match made.elt, made.generators:
            case (
                ast.Compare(left=ast.Name(id=asked), ops=[ast.In()], comparators=[listed]),
                [ast.comprehension(target=ast.Name(id=each), iter=source)],
            ) if asked == each:
                if self.only_absent(listed, source, scope):
                    return KnownValue(False)
                # of another text a member may be a part
                known = self.facts.is_listed((names_of(listed) or ("",))[0])
                return KnownValue(False) if known and self.only_absent(source, listed, scope) else None
        return None

    def only_absent(self, container: ast.expr, asked: ast.expr, scope: Scope) -> bool:
        """Whether a collection holds only texts that what is asked for never is, or never holds."""
        names = names_of(asked)
        written = any(text(part) for part in nodes(asked) if isinstance(part, ast.Constant))
        if not names or written or converts(asked):
            return False
        for item in container.elts if isinstance(container, _LITERALS) else [ast.Starred(container)]:
            if isinstance(item, ast.Starred):
                named = self.evaluator.qualified(item.value, scope)
                absent = isinstance(named, str) and lists_only_absent(self.world, named, *names)
            else:
                absent = text(item) is not None and self.facts.never_has(names, text(item))
            if not absent:
                return False
        return True

    def _ordered(
        self, compare: Callable[..., bool], left: ast.expr, right: ast.expr, scope: Scope
    ) -> KnownValue | None:
        """Which of two numbers is larger: both are known, or one is and the other is written down."""
        found = [(self.evaluator.value(side, scope), getattr(side, "value", None)) for side in (left, right)]
        numbers = [k.value if isinstance(k, KnownValue) and k.exact else said for k, said in found]
        if not any(isinstance(k, KnownValue) for k, _ in found):
            return None
        return KnownValue(compare(*numbers)) if all(isinstance(n, (int, float)) for n in numbers) else None

    def _class(self, node: ast.expr, scope: Scope) -> str | None:
        """The class of the program that an expression is, also by a local name that one assignment binds."""
        owner = scope.find(node.id) if isinstance(node, ast.Name) else None
        if isinstance(node, ast.Name) and owner is not None and owner.kind == "function":
            bound = owner.names[node.id]
            if len(bound) != 1 or bound[0].kind != "assign" or bound[0].value is None:
                return None
            node, scope = bound[0].value, owner
            if isinstance(node, ast.IfExp) and (test := self.evaluator.truth(node.test, scope)) is not None:
                node = node.body if test else node.orelse
        named = self.evaluator.qualified(node, scope)
        return named if isinstance(named, str) and is_class(self.world, named) else None

    def _same(self, left: ast.expr, right: ast.expr, scope: Scope, identity: bool) -> bool | None:
        if identity and (this := self._class(left, scope)) and (that := self._class(right, scope)):
            return this == that
        one, two = self.evaluator.value(left, scope), self.evaluator.value(right, scope)
        if self.of_gone_class([left, right], scope):
            return None
        if isinstance(one, Gone) or isinstance(two, Gone):
            # no value is the one that is gone, but what a literal is compared with may be anything
            return None if isinstance(left, ast.Constant) or isinstance(right, ast.Constant) else False
        for known, other, other_value in ((one, right, two), (two, left, one)):
            if not isinstance(known, KnownValue) or not known.exact:
                continue
            if isinstance(other_value, KnownValue) and other_value.exact:
                return _equal(known.value, other_value.value, identity)
            if isinstance(other, ast.Constant):
                return _equal(known.value, other.value, identity)
        for literal, variable in ((right, left), (left, right)):
            if isinstance(literal, ast.Constant) and self._option_absent(variable, literal):
                return False
            items = literal.elts if isinstance(literal, (ast.List, ast.Tuple)) else []
            if any(self.only_absent(ast.Tuple([item]), variable, scope) for item in items):
                return False
        return None

    def of_gone_class(self, asked: Iterable[ast.expr], scope: Scope) -> bool:
        """Whether something asked for is a member of a class that is gone: the value may have been one."""
        owners = (node.value for node in asked if isinstance(node, ast.Attribute))
        return any(self._is_gone_class(owner, scope) for owner in owners)

    def _is_gone_class(self, node: ast.expr, scope: Scope) -> bool:
        if not isinstance(self.evaluator.qualified(node, scope), Gone):
            return False
        holder = self.evaluator.qualified(node.value, scope) if isinstance(node, ast.Attribute) else None
        return not isinstance(holder, str) or self.world.is_module(
            holder
        )  # else a member of a class that stays

    def _option_absent(self, variable: ast.expr, literal: ast.Constant) -> bool:
        return not says(variable, literal.value) and self._never(variable, literal)

    def _never(self, asked: ast.expr, literal: ast.Constant) -> bool:
        """Return whether no expression of which one is the value has this one, going by their names."""
        if not literal.value and isinstance(asked, ast.BoolOp):
            return False  # `a and b` may be what is false of the first one, whatever that is
        return all(
            isinstance(one, ast.Constant)
            or (
                self.facts.never_has(names_of(one), scalar(literal))
                and not (converts(one) and self._written_otherwise(one, literal))
            )
            for one in operands(asked)
        )

    def _written_otherwise(self, asked: ast.expr, literal: ast.Constant) -> bool:
        said = text(literal)
        return said is not None and self.evaluator.hinders(written_otherwise, said, *names_of(asked))

    def _contains(self, member: ast.expr, container: ast.expr, scope: Scope) -> bool | None:
        if isinstance(self.evaluator.value(member, scope), Gone) or isinstance(
            self.evaluator.value(container, scope), Gone
        ):
            return False
        if isinstance(container, _LITERALS):
            if container.elts and all(self.member_absent(item, member, scope) for item in container.elts):
                return None if self.of_gone_class(container.elts, scope) else False
            known = self.evaluator.value(member, scope)
            if (
                isinstance(known, KnownValue)
                and known.exact
                and all(isinstance(i, ast.Constant) for i in container.elts)
            ):
                return any(known.value == i.value for i in container.elts if isinstance(i, ast.Constant))
        if self.only_absent(container, member, scope):
            return False
        if isinstance(container, _LITERALS):
            return None
        if isinstance(member, ast.Constant) and self._option_absent(container, member):
            if self._is_text_with(container, str(member.value), scope):
                return None
            # `"a" in name` may ask for a part of a text, and another value may hold it
            any_case = "any case" if converts(container) else ""
            longer = self.evaluator.hinders(part_of_value, str(member.value), any_case, *names_of(container))
            return None if longer else False
        return None

    def _is_text_with(self, node: ast.expr, part: str, scope: Scope) -> bool:
        """Return whether this is a name that is bound to a text that holds another one."""
        owner = scope.find(node.id) if isinstance(node, ast.Name) else None
        bindings = owner.names[node.id] if owner is not None else []  # type: ignore[attr-defined]
        texts = (text(binding.value) for binding in bindings if binding.value is not None)
        return any(part in (bound or "") for bound in texts)

    def member_absent(self, item: ast.expr, asked: ast.expr, scope: Scope) -> bool:
        """Return whether a member of a literal, or the value of a pattern, is certain not to be what is
        asked for."""
        if isinstance(item, ast.Constant):
            return not says(asked, item.value) and self._never(asked, item)
        return self.item_absent(item, names_of(asked), scope)

    def item_absent(self, item: ast.expr, names: Sequence[str], scope: Scope) -> bool:
        """Return whether a member of a literal names something that never occurs.

        A pair of texts may name a module and something in it, as in a table of what may be unpickled.
        """
        match item:
            case ast.Constant():
                return self.facts.never_has(tuple(names), scalar(item))
            case ast.Tuple(elts=[ast.Constant(value=str(module)), ast.Constant(value=str(name))]):
                gone = self.world.module_gone(module) is not None or self.world.is_gone(f"{module}.{name}")
                return gone and "." in module
        return isinstance(self.evaluator.value(item, scope), Gone)

    def pattern_gone(self, pattern: ast.pattern, subject: ast.expr, scope: Scope) -> bool:
        """Return whether a pattern of `match` matches nothing that occurs."""
        if isinstance(pattern, ast.MatchValue):
            return self.member_absent(pattern.value, subject, scope)
        if isinstance(pattern, ast.MatchOr):
            return all(self.pattern_gone(p, subject, scope) for p in pattern.patterns)
        return self._holds_class_gone(pattern, scope)

    def _holds_class_gone(self, pattern: ast.pattern | None, scope: Scope) -> bool:
        """Return whether a pattern asks for a class that is gone in a part that has to match."""
        if isinstance(pattern, ast.MatchOr):
            return all(self._holds_class_gone(part, scope) for part in pattern.patterns)
        if isinstance(pattern, ast.MatchAs):
            return self._holds_class_gone(pattern.pattern, scope)
        parts = list(getattr(pattern, "patterns", ()))
        if isinstance(pattern, ast.MatchClass):
            if isinstance(self.evaluator.value(pattern.cls, scope), Gone):
                return True
            parts += pattern.kwd_patterns
        return any(self._holds_class_gone(part, scope) for part in parts)


def _equal(one: Scalar, two: object, identity: bool) -> bool | None:
    """Return whether two values are equal, or the same; None for the identity of equal texts or numbers."""
    if not identity:
        return bool(one == two)
    if type(one) is not type(two) or one != two:
        return False
    return True if one is None or isinstance(one, bool) else None


@question
def lists_only_absent(world: SpecializerWorld, qualified: str, *names: str) -> bool:
    """Return whether a name is that of a collection whose texts the option `names` never has."""
    texts = _listed(world, qualified, ())
    return texts is not None and all(world.facts.never_has(names, each) for each in texts)


@question
def is_collection(world: SpecializerWorld, qualified: str) -> bool:
    """Return whether a name is that of a collection of texts."""
    return _listed(world, qualified, ()) is not None


def _listed(world: SpecializerWorld, qualified: str, busy: Sequence[str]) -> list[str] | None:
    """The texts in what the one binding of a module-level name gives it."""
    module, _, name = qualified.rpartition(".")
    path = world.paths.get(module)
    if path is None or qualified in busy:
        return None
    unit = world.unit(path)
    frozen = _frozen(unit, name)
    if frozen is None or rebound(world, qualified):
        return None
    return _texts(world, unit, frozen, (*busy, qualified))


def _frozen(unit: Unit, name: str) -> ast.expr | None:
    """What a name of the module is bound to once, if nothing can change it."""
    values = [binding.value for binding in unit.scopes.root.names.get(name, ())]
    return values[0] if len(values) == 1 and values[0] is not None and _is_frozen(values[0]) else None


def _is_frozen(node: ast.expr) -> bool:
    match node:
        case ast.BinOp(left=left):
            return _is_frozen(left)
        case ast.Call(func=ast.Name(id=name)):
            return name in _FROZEN
    return isinstance(node, (ast.Attribute, ast.Name, ast.Tuple))


def _texts(
    world: SpecializerWorld, unit: Unit, node: ast.expr | None, busy: Sequence[str]
) -> list[str] | None:
    from builder.specialize.evaluating.evaluate import Evaluator  # which asks about this itself

    match node:
        case ast.Constant(value=str(said)):
            return [said]
        case ast.Name() | ast.Attribute():
            named = Evaluator(world, unit).qualified(node, unit.scopes.root)
            return _listed(world, named, busy) if isinstance(named, str) else None
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            if not all(isinstance(part, (ast.Constant, ast.Starred)) for part in parts):
                return None
        case ast.Call(func=ast.Name(id=name), args=[*parts], keywords=[]) if (
            name in _MAKERS and len(parts) < 2 and not any(isinstance(p, ast.Constant) for p in parts)
        ):
            pass  # of a text these make letters
        case ast.BinOp(left=left, op=ast.Add() | ast.BitOr(), right=right):
            parts = [left, right]
        case ast.Starred(value=part) if not isinstance(part, ast.Constant):
            parts = [part]
        case _:
            return None
    found = [_texts(world, unit, part, busy) for part in parts]
    return None if None in found else [text for texts in found if texts is not None for text in texts]
