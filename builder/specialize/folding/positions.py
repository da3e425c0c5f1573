"""Decides whether anybody can see at which position of a collection an element stands.

An element leaves a list or a tuple only where every use asks what it contains, makes a set, a dict or a text
of it, or hands it on to such a use. Where the collection has a name, every read of the name in the program
counts; where a function or class of the program is called with it, every read of the parameter. Anything else
may see positions, and the element stays.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from builder.source.fields import nodes
from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.names import text
from builder.specialize.evaluating.scopes import Scope
from builder.specialize.folding.reads import namespace_listed, some_read
from builder.specialize.rebinding import is_class, rebound
from builder.specialize.world import SpecializerWorld, question

#: Builtins whose result shows no positions of their argument, and those whose result has the same positions.
_BLIND_CALLS = frozenset(["any", "dict", "frozenset", "isinstance", "issubclass", "set"])
_SAME_POSITIONS = frozenset(["list", "sorted", "tuple"])
#: Types of collections whose order is that in which keys came: those that stay keep theirs.
_BY_KEY = frozenset(["collections.OrderedDict", "collections.defaultdict"])
#: Methods that add to a collection, ask what it contains, or give what has no positions.
_BLIND_METHODS = frozenset(["add", "append", "discard", "extend", "get", "items", "keys", "union", "update"])
#: Those of them that show nothing even where somebody calls them later: `add_choices = CHOICES.extend`.
_ADDING_METHODS = frozenset(["add", "append", "discard", "extend", "update"])
#: Methods with which a loop adds to a collection.
_FILLS = frozenset(["append", "appendleft", "insert", "extend", "put", "put_nowait"])
#: Names of class attributes that Python itself reads by position.
_READ_BY_PYTHON = frozenset(["__match_args__", "__slots__", "_fields", "_fields_"])


def unseen(evaluator: Evaluator, node: ast.expr, scope: Scope) -> bool:
    """Return whether no use of this expression's value sees positions."""
    return _Uses(evaluator).unseen(node, scope)


def unseen_in(evaluator: Evaluator, target: ast.expr, scope: Scope) -> bool:
    """Return whether no read of the collection that this name or attribute holds sees positions."""
    return _Uses(evaluator).named(target, scope)


@question
def positions_seen(world: SpecializerWorld, qualified: str) -> bool:
    """Return whether a read of a module's name in the program sees positions in the collection that it
    holds."""
    if namespace_listed(world, qualified.rpartition(".")[0]):
        return True
    return some_read(world, qualified, lambda at, node, scope: not unseen(at, node, scope))


@question
def attribute_positions_seen(world: SpecializerWorld, name: str) -> bool:
    """The same for every attribute of this name, whatever its owner is."""
    return some_read(world, name, lambda at, node, scope: not unseen(at, node, scope))


@question
def parameter_positions_seen(world: SpecializerWorld, qualified: str, place: str) -> bool:
    """Return whether the program may see positions in the argument at this place of a function's or
    class's calls."""
    unit, bindings = world.home(qualified)
    assert unit is not None
    found, number = [binding.node for binding in bindings], int(place)
    if isinstance(found[0], ast.ClassDef):
        own = unit.scopes.of(found[0]).names
        if not is_class(world, qualified) or found[0].bases or found[0].keywords or "__new__" in own:
            return True
        found, number = [binding.node for binding in own.get("__init__", ())], number + 1
    elif rebound(world, qualified):
        return True
    function = found[0] if len(found) == 1 else None
    if not isinstance(function, ast.FunctionDef) or function.decorator_list:
        return True
    parameters = [*function.args.posonlyargs, *function.args.args]
    if number >= len(parameters):
        return True
    uses = _Uses(Evaluator(world, unit))
    return not uses.locally_unseen(unit.scopes.of(function), parameters[number].arg)


def _filled(body: Iterable[ast.stmt]) -> Iterator[ast.expr]:
    """The collections that a loop adds to, one element after the other."""
    for stmt in body:
        for node in nodes(stmt):
            if isinstance(node, ast.Attribute) and node.attr in _FILLS:
                yield node.value


def _denies(node: ast.expr) -> bool:
    if isinstance(node, ast.Compare):
        return any(isinstance(op, (ast.NotEq, ast.NotIn, ast.IsNot)) for op in node.ops)
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


class _Uses:
    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.unit = evaluator.unit
        self._busy: set[tuple[ast.AST, str]] = set()

    def unseen(self, node: ast.expr, scope: Scope) -> bool:
        parent = self.unit.module.parents.get(node)
        method = getattr(self, f"_in_{type(parent).__name__}", None)
        return bool(method is not None and method(parent, node, scope))

    def _in_Expr(self, parent: ast.Expr, node: ast.expr, scope: Scope) -> bool:
        return True

    _in_FormattedValue = _in_Expr

    def _in_Compare(self, parent: ast.Compare, node: ast.expr, scope: Scope) -> bool:
        operators = zip(parent.ops, parent.comparators, strict=True)
        return all(isinstance(op, (ast.In, ast.NotIn)) for op, right in operators if right is node) and (
            node is not parent.left
        )

    def _in_For(self, parent: ast.For, node: ast.expr, scope: Scope) -> bool:
        return node is parent.iter and all(
            self.named(collection, scope) for collection in _filled(parent.body)
        )

    _in_AsyncFor = _in_For

    def _in_comprehension(self, parent: ast.comprehension, node: ast.expr, scope: Scope) -> bool:
        whole = self.unit.module.parents[parent]
        if node is not parent.iter:
            return True  # a condition: only its truth is asked
        if isinstance(whole, ast.GeneratorExp) and _denies(whole.elt):
            return False  # what is false of a class that is gone becomes true of it
        return isinstance(whole, (ast.SetComp, ast.DictComp)) or self.unseen(whole, scope)  # type: ignore[arg-type]

    def _same(self, parent: ast.expr, node: ast.expr, scope: Scope) -> bool:
        return self.unseen(parent, scope)

    _in_BoolOp = _in_IfExp = _same

    def _in_BinOp(self, parent: ast.BinOp, node: ast.expr, scope: Scope) -> bool:
        return isinstance(parent.op, (ast.Add, ast.BitOr, ast.Sub)) and self.unseen(parent, scope)

    def _in_Starred(self, parent: ast.Starred, node: ast.expr, scope: Scope) -> bool:
        whole = self.unit.module.parents[parent]
        if isinstance(whole, ast.Set):
            return True
        return isinstance(whole, (ast.List, ast.Tuple)) and self.unseen(whole, scope)

    def _in_keyword(self, parent: ast.keyword, node: ast.expr, scope: Scope) -> bool:
        return parent.arg == "choices"

    def _in_Subscript(self, parent: ast.Subscript, node: ast.expr, scope: Scope) -> bool:
        """A name that another binding makes a dict is read by key."""
        owner = scope.find(node.id) if isinstance(node, ast.Name) and node is parent.value else None
        bindings = owner.names[node.id] if owner is not None and isinstance(node, ast.Name) else []
        return any(isinstance(binding.value, (ast.Dict, ast.DictComp)) for binding in bindings)

    def _in_Call(self, parent: ast.Call, node: ast.expr, scope: Scope) -> bool:
        if node is parent.func:
            return False
        if isinstance(parent.func, ast.Attribute):
            return self._in_method(parent.func, scope)
        name = self.evaluator.qualified(parent.func, scope)
        if name in _SAME_POSITIONS:
            return len(parent.args) == 1 and self.unseen(parent, scope)
        if name in _BLIND_CALLS or (name in _BY_KEY and node is parent.args[-1]):
            return True
        return isinstance(name, str) and self._handed_over(parent, node, name)

    def _handed_over(self, call: ast.Call, node: ast.expr, name: str) -> bool:
        """Return whether a function or class of the program, which no positions reach, takes this
        argument."""
        if not self.evaluator.world.is_definition(name) or node not in call.args:
            return False
        place = call.args.index(node)
        if any(isinstance(before, ast.Starred) for before in call.args[:place]):
            return False
        return not self.evaluator.hinders(parameter_positions_seen, name, str(place))

    def _in_method(self, func: ast.Attribute, scope: Scope) -> bool:
        if func.attr == "join":  # a text that says what there is, unless it is a pattern for other texts
            return "|" not in (text(func.value) or "|")
        return func.attr in ("extend", "update", "union") and self.named(func.value, scope)

    def _in_Attribute(self, parent: ast.Attribute, node: ast.expr, scope: Scope) -> bool:
        whole = self.unit.module.parents.get(parent)
        if not isinstance(whole, ast.Call) or whole.func is not parent:
            return parent.attr in _ADDING_METHODS
        return parent.attr in _BLIND_METHODS or (parent.attr == "copy" and self.unseen(whole, scope))

    def _in_Assign(
        self, parent: ast.Assign | ast.AnnAssign | ast.AugAssign, node: ast.expr, scope: Scope
    ) -> bool:
        targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
        return node is parent.value and all(self.named(target, scope) for target in targets)

    _in_AnnAssign = _in_AugAssign = _in_Assign

    def _in_NamedExpr(self, parent: ast.NamedExpr, node: ast.expr, scope: Scope) -> bool:
        return self.named(parent.target, scope) and self.unseen(parent, scope)

    def named(self, target: ast.expr, scope: Scope) -> bool:
        """Return whether all reads of the name that holds the collection leave the positions open."""
        if isinstance(target, ast.Attribute):
            return not self.evaluator.hinders(attribute_positions_seen, target.attr)
        if not isinstance(target, ast.Name) or target.id in _READ_BY_PYTHON:
            return False
        owner, name = scope.find(target.id) or scope, target.id
        if (owner.node, name) in self._busy:
            return True
        if owner.kind == "class":
            return not self.evaluator.hinders(attribute_positions_seen, name)
        self._busy.add((owner.node, name))
        try:
            if owner.kind == "module":
                return not self.evaluator.hinders(positions_seen, f"{self.unit.name}.{name}")
            return self.locally_unseen(owner, name)
        finally:
            self._busy.discard((owner.node, name))

    def locally_unseen(self, owner: Scope, name: str) -> bool:
        for node in nodes(owner.node):
            if isinstance(node, (ast.Global, ast.Nonlocal)) and name in node.names:
                return False
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
                scope = self.unit.scope_of(node)
                if scope.find(name) is owner and not self.unseen(node, scope):
                    return False
        return True
