"""Folds expressions: known values, shortened conditions, and members that name something gone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence

from builder.source.fields import inner_nodes, nodes
from builder.source.ops import DropItem, Op, Operands, Replace
from builder.specialize.attributes import attribute_bound, attribute_read, bound_by_heir, destination_read
from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.facts import Gone, KnownValue
from builder.specialize.evaluating.names import class_of_self, names_of, own_class, says, scalar, text
from builder.specialize.evaluating.scopes import Comprehension, Scope
from builder.specialize.folding.annotations import Annotations
from builder.specialize.folding.binding_guard import never_binds
from builder.specialize.folding.effects import leaves_trace
from builder.specialize.folding.positions import key_named, unseen, unseen_in
from builder.specialize.rebinding import defined_elsewhere, module_removed

_IN = (ast.In, ast.NotIn)
#: The name of a function that registers: `register_backend`, `autoRegister`, `_registry`, not `unregister`.
_REGISTERS = re.compile(r"(?:^|_)[Rr]egist(?:er|ry)(?:_|$|[A-Z])|[a-z0-9]Regist(?:er|ry)(?:$|[A-Z])")
#: Methods of a module of layers that give it an attribute of the name that they get.
_SETS_ATTRIBUTE = frozenset(["register_buffer", "register_module", "register_parameter"])
#: Calls whose result is known under the name that their argument would have.
_MAKERS = ("list", "set", "tuple", "frozenset", "sorted", "dict")
#: The same for their second argument.
_DEFAULTING = ("collections.defaultdict",)


class Expressions:
    """Adds to `ops` what the facts ask of the expressions of one file."""

    def __init__(self, evaluator: Evaluator, ops: list[Op]) -> None:
        self.evaluator = evaluator
        self.ops = ops
        self.doubts: list[tuple[int, str]] = []  # line, sentence

    @property
    def annotations(self) -> Annotations:
        # not kept: it would keep this, and so a whole syntax tree, alive until the next collection
        return Annotations(self.evaluator, self.ops, self.fold)

    def fold(
        self,
        node: ast.expr,
        scope: Scope,
        test: bool = False,
        names: Iterable[str] = (),
    ) -> None:
        """Fold one expression.

        `test`: only its truth matters; `names`: what it is assigned to or compared with.
        """
        if isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
            self.fold_children(node, scope)
            return
        if self._known(node, scope, test):
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
            self._call(node, scope, names)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.BitOr)):
            self.fold(node.left, scope, names=names)
            self.fold(node.right, scope, names=names)
        elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            self._members(node, scope, names)
        elif isinstance(node, ast.Dict):
            self._entries(node, scope, names)
        elif isinstance(node, ast.Subscript):
            self._subscript(node, scope)
        elif isinstance(node, ast.Lambda):
            self.fold(node.body, self.evaluator.unit.scopes.of(node))
        elif isinstance(node, Comprehension):
            self._comprehension(node, scope)
        elif not isinstance(node, ast.JoinedStr):  # positions inside f-strings differ between Pythons
            self.fold_children(node, scope)

    def fold_children(self, node: ast.AST, scope: Scope) -> None:
        """Fold the direct parts of an expression or statement."""
        for child in inner_nodes(node):
            if isinstance(child, ast.expr):
                self.fold(child, scope)
            elif isinstance(child, ast.keyword):
                self.fold(child.value, scope)

    def _known(self, node: ast.expr, scope: Scope, test: bool) -> bool:
        """Put a known value in the place of an expression that has no effect."""
        if isinstance(node, ast.Constant):
            return False
        known = self.evaluator.value(node, scope)
        if not isinstance(known, KnownValue) or not (known.exact or test):
            return False
        if known.value is None and self._is_owner(node):
            return False  # who takes a part of it has it: the fact is about another object of this name
        if not self.evaluator.pure(node, scope):
            return False
        self.ops.append(Replace(node, repr(known.truth if test else known.value)))
        return True

    def _is_owner(self, node: ast.expr) -> bool:
        parent = self.evaluator.unit.module.parents.get(node)
        return (isinstance(parent, (ast.Subscript, ast.Attribute)) and parent.value is node) or (
            isinstance(parent, ast.Call) and parent.func is node
        )

    # -- conditions ---------------------------------------------------------------------------

    def _bool(self, node: ast.BoolOp, scope: Scope, test: bool, names: tuple[str, ...]) -> None:
        stop = isinstance(node.op, ast.Or)
        keep: list[int] = []
        last = len(node.values) - 1
        for index, operand in enumerate(node.values):
            truth = self.evaluator.truth(operand, scope)
            if truth is None or not self.evaluator.pure(operand, scope):
                keep.append(index)
            elif truth is stop:
                keep.append(index)
                if not leaves_trace(node.values[index + 1 :], scope):
                    break
            elif not test and index == last:
                before = node.values[keep[-1]] if keep else operand
                if not self.evaluator.neutral(operand, before, stop, scope):
                    keep.append(index)  # it may be the value
        if len(keep) == 1:
            only = node.values[keep[0]]
            self.ops.append(Replace(node, only))
            self.fold(only, scope, test, names)
            return
        if len(keep) < len(node.values):
            self.ops.append(Operands(node, tuple(keep)))
        for index in keep:
            self.fold(node.values[index], scope, test, names)

    def _choice(self, node: ast.IfExp, scope: Scope, test: bool, names: tuple[str, ...]) -> None:
        truth = self.evaluator.truth(node.test, scope)
        if truth is None or not self.evaluator.pure(node.test, scope):
            truth = False if never_binds(self.evaluator, node.test, scope) else None
        if truth is not None:
            taken, other = (node.body, node.orelse) if truth else (node.orelse, node.body)
            if not leaves_trace([other], scope):
                self.ops.append(Replace(node, taken))
                self.fold(taken, scope, test, names)
                return
        self.fold(node.test, scope, test=True)
        self.fold(node.body, scope, test, names)
        self.fold(node.orelse, scope, test, names)

    def _compare(self, node: ast.Compare, scope: Scope) -> None:
        identity = any(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops)
        left = node.left
        for op, right in zip([None, *node.ops], [node.left, *node.comparators], strict=True):
            contains = isinstance(op, _IN)
            asked = getattr(right, "elts", ()) if contains else ()
            if self.evaluator.comparisons.of_gone_class(asked, scope):
                pass  # none of them leaves: the error names them
            elif not (identity and self._has_copies(right, scope)):
                names = names_of(left) if contains and not self._says_member(left, right) else ()
                self.fold(right, scope, names=names)
            left = right

    @staticmethod
    def _says_member(asked: ast.expr, container: ast.expr) -> bool:
        """Return whether what is asked for holds a member of the container as a literal."""
        members = (n.value for n in nodes(container) if isinstance(n, ast.Constant))
        return any(says(asked, member) for member in members)

    def _has_copies(self, node: ast.expr, scope: Scope) -> bool:
        """Return whether a value is known of which `is` may find another one that is equal."""
        known = self.evaluator.value(node, scope)
        return isinstance(known, KnownValue) and not (known.value is None or isinstance(known.value, bool))

    # -- members ------------------------------------------------------------------------------

    def _members(self, node: ast.List | ast.Tuple | ast.Set, scope: Scope, names: Sequence[str]) -> None:
        gone = {index for index, item in enumerate(node.elts) if self._member_gone(item, names, scope)}
        if gone and self._positions_seen(node, gone, scope):
            gone = set()  # an absent value does no harm there; what does not exist is told as a use of it
            self.doubts.append((node.lineno, "a collection whose positions are seen keeps its elements"))
        self.ops.extend(DropItem(node, "elts", index) for index in sorted(gone))
        for index, item in enumerate(node.elts):
            if index not in gone:
                self.fold(item, scope, names=names)

    def _positions_seen(self, node: ast.List | ast.Tuple | ast.Set, gone: set[int], scope: Scope) -> bool:
        if isinstance(node, ast.Set) and len(gone) < len(node.elts):
            return False
        return not unseen(self.evaluator, node, scope)

    def _member_gone(self, item: ast.expr, names: Sequence[str], scope: Scope) -> bool:
        if self.evaluator.comparisons.item_absent(item, names, scope):
            return True
        # a record with a part that is gone is gone as a whole
        parts = item.elts if isinstance(item, ast.Tuple) else []
        gone = [isinstance(self.evaluator.value(part, scope), Gone) for part in parts]
        others = [part for part, g in zip(parts, gone, strict=True) if not g]
        record = any(gone) and (gone[0] or all(isinstance(part, ast.Constant) for part in others))
        return record and all(self._harmless(part, scope) for part in others)

    def _entries(self, node: ast.Dict, scope: Scope, names: Sequence[str]) -> None:
        for index, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
            if self._entry_gone(node, index, scope, names) and not self._is_named(key, names):
                self.ops.append(DropItem(node, "keys", index))
                continue
            if key is not None:
                self.fold(key, scope)
            known_as = text(key) if key is not None else None
            self.fold(value, scope, names=() if known_as is None else (known_as,))

    def _entry_gone(self, node: ast.Dict, index: int, scope: Scope, names: Sequence[str]) -> bool:
        """Return whether an entry leaves: nobody is to ask for its key, or its value does not exist."""
        key, value = node.keys[index], node.values[index]
        if key is not None and self.evaluator.comparisons.item_absent(key, names, scope):
            return self._harmless(value, scope)
        if not isinstance(self.evaluator.value(value, scope), Gone):
            return False
        return (key is None or self._harmless(key, scope)) and not self._hides(node, index)

    def _is_named(self, key: ast.expr | None, names: Sequence[str]) -> bool:
        """Return whether the program takes an entry by this very key of a dict with these names."""
        said = text(key) if key is not None else None
        if said is None or not self.evaluator.hinders(key_named, said, *names):
            return False
        self.doubts.append((key.lineno, f"{said!r} stays: the program takes an entry by this key"))  # type: ignore[union-attr]
        return True

    def _harmless(self, node: ast.expr, scope: Scope) -> bool:
        """Return whether an expression has no effect, or cannot be evaluated, since something in it is
        gone."""
        return self.evaluator.pure(node, scope) or self.evaluator.holds_gone(node, scope)

    def _hides(self, node: ast.Dict, index: int) -> bool:
        """Return whether an entry may hide another one of the same key, which would be seen without it."""
        key = node.keys[index]
        for before in node.keys[:index]:
            if before is None or not (isinstance(before, ast.Constant) and isinstance(key, ast.Constant)):
                if before is None or ast.dump(before) == ast.dump(key or before):
                    return True
            elif before.value == key.value:
                return True
        parent = self.evaluator.unit.module.parents.get(node)
        if isinstance(parent, ast.Dict):
            return node in parent.values and parent.keys[parent.values.index(node)] is None
        if isinstance(parent, ast.BinOp):
            return node is parent.right
        if isinstance(parent, ast.keyword):
            return parent.arg is None
        return isinstance(parent, ast.Call) and getattr(parent.func, "attr", "") == "update"

    # -- calls --------------------------------------------------------------------------------

    def _call(self, node: ast.Call, scope: Scope, names: tuple[str, ...]) -> None:
        if isinstance(node.func, ast.Attribute):
            self.fold(node.func.value, scope)
        elif not isinstance(node.func, ast.Name):
            self.fold(node.func, scope)
        called = self.evaluator.qualified(node.func, scope)
        if called == "getattr" and len(node.args) == 3 and self._gives_default(node, scope):
            self.ops.append(Replace(node, node.args[2]))
            self.fold(node.args[2], scope, names=names)
            return
        if called in ("isinstance", "issubclass") and len(node.args) == 2:
            self.fold(node.args[0], scope)
            self.classes(node.args[1], scope)
            return
        last = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        flags = [flag for arg in node.args if (flag := text(arg)) is not None]
        option = flags[0].lstrip("-").replace("-", "_") if last == "add_argument" and flags else ""
        made_of = 1 if called in _DEFAULTING else 0 if called in _MAKERS and len(node.args) == 1 else None
        for index, arg in enumerate(node.args):
            self.fold(arg, scope, names=names if index == made_of else ())
        own = own_class(node.func, self.evaluator.unit) if node.keywords and called is None else None
        for index, keyword in enumerate(node.keywords):
            if isinstance(called, str) and self._leaves(keyword, (called, f"*.{last}"), scope):
                self.ops.append(DropItem(node, "keywords", index))
                continue
            if (
                own is not None
                and self._is_field_gone(keyword, f"{self.evaluator.unit.name}.{own}", scope)
                and not self.evaluator.hinders(bound_by_heir, keyword.arg or "", own.rpartition(".")[2])
            ):
                self.ops.append(DropItem(node, "keywords", index))
                continue
            known_as = [name for name in (option, keyword.arg) if name]
            self.fold(keyword.value, scope, names=known_as)

    def _gives_default(self, node: ast.Call, scope: Scope) -> bool:
        """Return whether `getattr` asks for what does not exist, so that its default takes its place."""
        return self.evaluator.lacks(node, scope) and self.evaluator.pure(node.args[0], scope)

    def _leaves(self, keyword: ast.keyword, called: Sequence[str], scope: Scope) -> bool:
        """Return whether a keyword may leave: it is its default, or a field that the class of this name
        has no more."""
        if self._is_default(keyword, called, scope):
            return True
        return self._is_field_gone(keyword, called[0], scope)

    def _is_field_gone(self, keyword: ast.keyword, called: str, scope: Scope) -> bool:
        """Return whether a keyword gives a class a field that it has no more."""
        absent = keyword.arg is not None and self.evaluator.world.is_gone(f"{called}.{keyword.arg}")
        return absent and self._harmless(keyword.value, scope)

    def _is_default(self, keyword: ast.keyword, called: Iterable[str], scope: Scope) -> bool:
        """Return whether a keyword gives the value that the facts say is its default anyway."""
        if keyword.arg is None:
            return False
        defaults = self.evaluator.facts.defaults
        stated = [defaults[c, keyword.arg] for c in called if (c, keyword.arg) in defaults]
        value = self.evaluator.value(keyword.value, scope)
        if not stated or not isinstance(value, KnownValue) or not value.exact:
            return False
        same = type(stated[0]) is type(value.value) and stated[0] == value.value
        return same and self.evaluator.pure(keyword.value, scope)

    def classes(self, classes: ast.expr, scope: Scope) -> None:
        """The second argument of isinstance, or what a handler catches: classes that are gone leave it."""
        if isinstance(classes, ast.BinOp) and isinstance(classes.op, ast.BitOr):
            for side, other in ((classes.left, classes.right), (classes.right, classes.left)):
                if isinstance(self.evaluator.value(side, scope), Gone):
                    self.ops.append(Replace(classes, other))
                    self.classes(other, scope)
                    return
        if not isinstance(classes, ast.Tuple):
            self.fold(classes, scope)
            return
        members = classes.elts
        gone = [i for i, c in enumerate(members) if isinstance(self.evaluator.value(c, scope), Gone)]
        if gone and len(members) - len(gone) == 1:
            self.ops.append(Replace(classes, next(c for i, c in enumerate(members) if i not in gone)))
        else:
            self.ops.extend(DropItem(classes, "elts", i) for i in gone)

    def calls_removed(self, node: ast.Call, scope: Scope) -> bool:
        """Return whether this is a call of what a rule removes, or of a declared runner of such a function,
        without other effects."""
        called = self.evaluator.qualified(node.func, scope)
        runs = isinstance(called, str) and called in self.evaluator.facts.runners
        asked = node.args if runs else [node.func]
        if not any(self._is_removed(one, scope) for one in asked):
            return False
        parts = [*node.args, *(k.value for k in node.keywords)]
        return all(self._harmless(part, scope) for part in parts)

    def adds_gone(self, node: ast.Call, scope: Scope) -> bool:
        """Return whether this adds something that is gone to a collection in which nobody sees positions."""
        func = node.func
        if not isinstance(func, ast.Attribute) or func.attr not in ("add", "append") or len(node.args) != 1:
            return False
        if node.keywords or not isinstance(self.evaluator.value(node.args[0], scope), Gone):
            return False
        return self._harmless(func.value, scope) and unseen_in(self.evaluator, func.value, scope)

    def _is_removed(self, node: ast.expr, scope: Scope) -> bool:
        """Return whether this names what is declared absent, something of a module that left, or a function
        that a word names and of which the facts leave nothing."""
        facts, world = self.evaluator.facts, self.evaluator.world
        found = self.evaluator.qualified(node, scope)
        if isinstance(found, Gone):
            return found.name in facts.symbols or module_removed(world, found.name)
        if isinstance(found, str):
            return found in (facts.named.get(found.rpartition(".")[2]) or ()) and self._does_nothing(found)
        if not isinstance(node, ast.Attribute) or class_of_self(node.value, scope) is None:
            return False
        if node.attr in facts.absent_names:
            return not self.evaluator.hinders(attribute_bound, node.attr)
        named = facts.named.get(node.attr) or ()
        others = bool(named) and self.evaluator.hinders(defined_elsewhere, node.attr, *named)
        return bool(named) and not others and all(map(self._does_nothing, named))

    def _does_nothing(self, qualified: str) -> bool:
        """Return whether the facts leave nothing of a function but the end of it."""
        known = self.evaluator.world.function(qualified)
        return known is not None and known.value is None

    def registers_absent(self, node: ast.Call, scope: Scope) -> bool:
        """Return whether this is a registration of an absent option value: `register("fa3", ...)`,
        `@backend("fa3")`.

        So are `add_argument("--flag")`, whose default may be gone as well, and `add_parser("command")`.
        """
        name = names_of(node.func)
        argument = name[:1] in (("add_argument",), ("add_parser",))
        if argument and any(
            k.arg == "default" and isinstance(self.evaluator.value(k.value, scope), Gone)
            for k in node.keywords
        ):
            return True
        if not name or not (argument or _REGISTERS.search(name[0])) or not node.args:
            return False
        if name[0] in _SETS_ATTRIBUTE or not self._names_absent(node, name[0], scope):
            return False
        if not argument and self._may_set_attribute(node, scope):
            self.doubts.append((node.lineno, "a registration stays: it may set an attribute that is read"))
            return False
        if name[0] == "add_argument" and (self.registers_another(node) or self._is_read(node)):
            self.doubts.append((node.lineno, "an argument that never occurs stays: its default is read"))
            return False
        return True

    def _may_set_attribute(self, node: ast.Call, scope: Scope) -> bool:
        """Return whether an object that is no module or class may get an attribute of the name that it
        registers, and the program reads such one."""
        if not isinstance(node.func, ast.Attribute) or self.evaluator.qualified(node.func, scope) is not None:
            return False
        said = text(node.args[0])
        return said is not None and self.evaluator.hinders(attribute_read, said)

    def _is_read(self, node: ast.Call) -> bool:
        """Return whether the program reads what an argument of the command line sets."""
        said = [text(k.value) for k in node.keywords if k.arg == "dest"]
        flags = sorted((flag for arg in node.args if (flag := text(arg))), key=lambda flag: flag[:2] != "--")
        if not said and not flags:
            return False  # its name is gone, and so is the call
        name = said[0] if said else flags[0].lstrip("-").replace("-", "_")
        return name is None or self.evaluator.hinders(destination_read, name)

    def _names_absent(self, node: ast.Call, name: str, scope: Scope) -> bool:
        """Return whether the first argument is an absent value, or an argument gone, and the others have
        no effect."""
        first = node.args[0]
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        if owner is not None and not self._harmless(owner, scope):
            return False
        if isinstance(first, ast.Constant):
            if not self.evaluator.facts.never_has((name,), scalar(first)):
                return False
            parts = [*node.args, *(k.value for k in node.keywords)]
            return all(self._harmless(part, scope) for part in parts)
        gone = [isinstance(self.evaluator.value(a, scope), Gone) for a in node.args]
        others = [
            *(a for a, g in zip(node.args, gone, strict=True) if not g),
            *(k.value for k in node.keywords),
        ]
        return any(gone) and all(self._harmless(part, scope) for part in others)

    def registers_another(self, node: ast.Call) -> bool:
        """Return whether a decorator `@backend("fa3", "triton")` states a name that occurs beside an
        absent one."""
        name = names_of(node.func)[:1]
        stated = [scalar(a) for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        return any(not self.evaluator.facts.never_has(name, value) for value in stated)

    def _comprehension(self, node: ast.expr, scope: Scope) -> None:
        inner = self.evaluator.unit.scopes.of(node)
        for index, generator in enumerate(node.generators):  # type: ignore[attr-defined]
            self.fold(generator.iter, inner if index else scope)
            for position, test in enumerate(generator.ifs):
                if self.evaluator.truth(test, inner) is True and self.evaluator.pure(test, inner):
                    self.ops.append(DropItem(generator, "ifs", position))
                else:
                    self.fold(test, inner, test=True)
        for name in ("elt", "key", "value"):
            child = getattr(node, name, None)
            if child is not None:
                self.fold(child, inner)

    def _subscript(self, node: ast.Subscript, scope: Scope) -> None:
        base = names_of(node.value)
        if base[:1] == ("Literal",):
            self._literal(node, scope)
        elif not (self.annotations.union(node, scope) or self.annotations.optional(node, scope)):
            self.fold(node.value, scope)
            self.fold(node.slice, scope)

    def _literal(self, node: ast.Subscript, scope: Scope) -> None:
        """`Literal["a", "b"]` loses absent values, but never the last one."""
        if not isinstance(node.slice, ast.Tuple):
            return
        members = node.slice.elts
        gone = [i for i, m in enumerate(members) if self.evaluator.comparisons.item_absent(m, ("*",), scope)]
        if len(members) - len(gone) == 1:
            self.ops.append(Replace(node.slice, next(m for i, m in enumerate(members) if i not in gone)))
        elif len(gone) < len(members):
            self.ops.extend(DropItem(node.slice, "elts", i) for i in gone)
