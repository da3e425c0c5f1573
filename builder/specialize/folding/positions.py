"""Can anybody see at which position of a collection something stands, or how much it holds?

An element leaves only from a collection that is asked what it contains, goes through, or is made into a set
or into text. Where the collection has a name, every read of the name in the program must be such a use.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.scopes import Scope
from builder.specialize.folding.relatives import class_of_self, may_share_objects
from builder.specialize.text_index.text_search import nodes_on
from builder.specialize.world import SpecializerWorld, Unit, question

#: Builtins whose result shows no positions of their argument, and those whose result has the same positions.
_BLIND_CALLS = frozenset(["all", "any", "dict", "frozenset", "isinstance", "issubclass", "set"])
_SAME_POSITIONS = frozenset(["list", "sorted", "tuple"])
#: Methods that add to a collection, or ask what it contains.
_BLIND_METHODS = frozenset(
    ["add", "append", "copy", "discard", "extend", "get", "items", "keys", "update", "union"]
)
#: Those of them that show nothing even where somebody calls them later: `add_choices = CHOICES.extend`.
_ADDING_METHODS = frozenset(["add", "append", "discard", "extend", "update"])
#: Names of class attributes that Python itself reads by position.
_READ_BY_PYTHON = frozenset(["__match_args__", "__slots__", "_fields", "_fields_"])


def unseen(evaluator: Evaluator, node: ast.expr, scope: Scope) -> bool:
    """Does every use of this expression's value leave open where its elements stand?"""
    return _Uses(evaluator).unseen(node, scope)


def entries_counted(evaluator: Evaluator, node: ast.Dict, scope: Scope) -> bool:
    """Does a use of a dict visibly count its entries: by `len`, `enumerate`, `list(...)[1]`?"""
    parent = evaluator.unit.module.parents.get(node)
    uses = _Uses(evaluator)
    if isinstance(parent, ast.Assign) and all(isinstance(t, ast.Name) for t in parent.targets):
        names = [t.id for t in parent.targets if isinstance(t, ast.Name)]
        return any(uses.counted_by_name(name, scope) for name in names)
    if isinstance(parent, ast.AnnAssign) and isinstance(parent.target, ast.Name):
        return uses.counted_by_name(parent.target.id, scope)
    return uses.counted(node, scope)


@question
def dict_counted(world: SpecializerWorld, qualified: str) -> bool:
    """Does a read of a module's name in the program count the entries of the dict that it holds?"""
    return _some_read(world, qualified, lambda uses, node, scope: uses.counted(node, scope))


@question
def positions_seen(world: SpecializerWorld, qualified: str) -> bool:
    """Does a read of a module's name in the program see the positions of the collection that it holds?"""
    return _some_read(world, qualified, lambda uses, node, scope: not uses.unseen(node, scope))


@question
def attribute_positions_seen(world: SpecializerWorld, name: str) -> bool:
    """The same for every attribute of this name, whatever its owner is."""
    return _some_read(world, name, lambda uses, node, scope: not uses.unseen(node, scope))


@question
def member_positions_seen(world: SpecializerWorld, cls: str, name: str) -> bool:
    """The same for every attribute of this name that the body of a class may bind; `cls`: its last name."""
    return _some_read(
        world,
        name,
        lambda uses, node, scope: not uses.unseen(node, scope) and uses.may_own(node, cls, scope),
    )


def _some_read(world: SpecializerWorld, named: str, shows: Callable[[_Uses, ast.expr, Scope], bool]) -> bool:
    """Does some read in the program show it? `named`: a qualified name, or a bare one of any owner."""
    owner, _, name = named.rpartition(".")
    for path in world.words.holders(name.encode()):
        try:
            unit = world.unit(path)
        except SyntaxError:
            return True
        uses = _Uses(Evaluator(world, unit))
        for node in _reads(unit, name):
            scope = unit.scope_of(node)
            meant = uses.evaluator.qualified(node, scope) == named if owner else _is_attribute(node, scope)
            if meant and shows(uses, node, scope):
                return True
    return False


def _is_attribute(node: ast.expr, scope: Scope) -> bool:
    """Does a read take an attribute? A bare name does so in the body of a class alone."""
    if not isinstance(node, ast.Name):
        return True
    owner = scope.find(node.id)
    return owner is not None and owner.kind == "class"


def _reads(unit: Unit, name: str) -> Iterator[ast.expr]:
    for node in nodes_on(unit, name):
        named = getattr(node, "id", getattr(node, "attr", None)) == name
        if named and isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
            yield node


class _Uses:
    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.unit = evaluator.unit
        self._busy: set[tuple[ast.AST, str]] = set()

    def may_own(self, node: ast.expr, cls: str, scope: Scope) -> bool:
        """May the owner of an attribute be this class or an instance of it?"""
        if not isinstance(node, ast.Attribute):
            return True
        around = class_of_self(node.value, scope)
        if around is not None:
            return may_share_objects(self.evaluator.world, around, cls)
        named = self.evaluator.qualified(node.value, scope)
        return not (isinstance(named, str) and self._is_module(node.value, named, scope))

    def _is_module(self, node: ast.expr, named: str, scope: Scope) -> bool:
        """Is what an expression names a module: one of the program, or one that `import` binds whole?"""
        if self.evaluator.world.is_module(named):
            return True
        owner = scope.find(node.id) if isinstance(node, ast.Name) else None
        bindings = owner.names[node.id] if owner is not None and isinstance(node, ast.Name) else []
        return bool(bindings) and all(isinstance(binding.node, ast.Import) for binding in bindings)

    def counted(self, node: ast.expr, scope: Scope) -> bool:
        """Is this use of a dict one that counts its entries?"""
        parents = self.unit.module.parents
        parent = parents.get(node)
        if isinstance(parent, ast.Attribute) and parent.attr in ("items", "keys", "values"):
            call = parents.get(parent)
            return isinstance(call, ast.Call) and self.counted(call, scope)
        if isinstance(parent, (ast.If, ast.IfExp, ast.While)):
            return node is parent.test
        if isinstance(parent, (ast.BoolOp, ast.UnaryOp)):
            return True
        if not isinstance(parent, ast.Call) or node not in parent.args:
            return False
        name = self.evaluator.qualified(parent.func, scope)
        if name in ("all", "any", "bool", "enumerate", "iter", "len", "max", "min", "sum", "zip"):
            return True
        return name in ("list", "tuple") and isinstance(parents.get(parent), ast.Subscript)

    def counted_by_name(self, name: str, scope: Scope) -> bool:
        owner = scope.find(name) or scope
        if owner.kind == "module":
            return self.evaluator.hinders("dict_counted", f"{self.unit.name}.{name}")
        return any(
            self.counted(node, self.unit.scope_of(node))
            for node in ast.walk(owner.node)
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
        )

    def unseen(self, node: ast.expr, scope: Scope) -> bool:
        parent = self.unit.module.parents.get(node)
        method = getattr(self, f"_in_{type(parent).__name__}", None)
        return bool(method is not None and method(parent, node, scope))

    def _in_Expr(self, parent: ast.Expr, node: ast.expr, scope: Scope) -> bool:
        return True

    def _in_Compare(self, parent: ast.Compare, node: ast.expr, scope: Scope) -> bool:
        operators = zip(parent.ops, parent.comparators, strict=True)
        return all(isinstance(op, (ast.In, ast.NotIn)) for op, right in operators if right is node) and (
            node is not parent.left
        )

    def _in_For(self, parent: ast.For, node: ast.expr, scope: Scope) -> bool:
        return node is parent.iter

    _in_AsyncFor = _in_For

    def _in_comprehension(self, parent: ast.comprehension, node: ast.expr, scope: Scope) -> bool:
        whole = self.unit.module.parents[parent]
        if node is not parent.iter:
            return True  # a condition: only its truth is asked
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

    def _in_FormattedValue(self, parent: ast.FormattedValue, node: ast.expr, scope: Scope) -> bool:
        return True

    def _in_keyword(self, parent: ast.keyword, node: ast.expr, scope: Scope) -> bool:
        return parent.arg == "choices"

    def _in_Call(self, parent: ast.Call, node: ast.expr, scope: Scope) -> bool:
        if node is parent.func:
            return False
        if isinstance(parent.func, ast.Attribute):
            return self._in_method(parent, parent.func, node, scope)
        name = self.evaluator.qualified(parent.func, scope)
        if name in _SAME_POSITIONS:
            return len(parent.args) == 1 and self.unseen(parent, scope)
        return name in _BLIND_CALLS or (name == "collections.defaultdict" and node is parent.args[-1])

    def _in_method(self, call: ast.Call, func: ast.Attribute, node: ast.expr, scope: Scope) -> bool:
        if func.attr == "join":
            return True  # a text that says what there is
        return func.attr in ("extend", "update", "union") and self._named(func.value, scope)

    def _in_Subscript(self, parent: ast.Subscript, node: ast.expr, scope: Scope) -> bool:
        """A name that another binding makes a dict is read by key."""
        if node is not parent.value or not isinstance(node, ast.Name):
            return False
        if isinstance(parent.slice, (ast.Slice, ast.UnaryOp)) or isinstance(
            getattr(parent.slice, "value", None), int
        ):
            return False
        owner = scope.find(node.id)
        bindings = owner.names[node.id] if owner is not None else []
        return any(isinstance(b.value, (ast.Dict, ast.DictComp)) for b in bindings)

    def _in_Attribute(self, parent: ast.Attribute, node: ast.expr, scope: Scope) -> bool:
        whole = self.unit.module.parents.get(parent)
        called = isinstance(whole, ast.Call) and whole.func is parent
        return parent.attr in (_BLIND_METHODS if called else _ADDING_METHODS)

    def _in_Assign(self, parent: ast.Assign, node: ast.expr, scope: Scope) -> bool:
        return node is parent.value and all(self._named(target, scope) for target in parent.targets)

    def _in_AnnAssign(self, parent: ast.AnnAssign, node: ast.expr, scope: Scope) -> bool:
        return node is parent.value and self._named(parent.target, scope)

    def _in_AugAssign(self, parent: ast.AugAssign, node: ast.expr, scope: Scope) -> bool:
        return node is parent.value and self._named(parent.target, scope)

    def _in_NamedExpr(self, parent: ast.NamedExpr, node: ast.expr, scope: Scope) -> bool:
        return self._named(parent.target, scope) and self.unseen(parent, scope)

    def _named(self, target: ast.expr, scope: Scope) -> bool:
        """Do all reads of the name that holds the collection leave the positions open?"""
        if isinstance(target, ast.Attribute):
            return not self.evaluator.hinders("attribute_positions_seen", target.attr)
        if not isinstance(target, ast.Name) or target.id in _READ_BY_PYTHON:
            return False
        owner, name = scope.find(target.id) or scope, target.id
        if (owner.node, name) in self._busy:
            return True
        if owner.kind == "class":
            cls = owner.qualname.rpartition(".")[2]
            return not self.evaluator.hinders("member_positions_seen", cls, name)
        if owner.kind == "module":
            qualified = f"{self.unit.name}.{name}"
            self._busy.add((owner.node, name))
            try:
                return not self.evaluator.hinders("positions_seen", qualified)
            finally:
                self._busy.discard((owner.node, name))
        return self._locally_unseen(owner, name)

    def _locally_unseen(self, owner: Scope, name: str) -> bool:
        self._busy.add((owner.node, name))
        try:
            for node in ast.walk(owner.node):
                if isinstance(node, (ast.Global, ast.Nonlocal)) and name in node.names:
                    return False
                if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
                    scope = self.unit.scope_of(node)
                    if scope.find(name) is owner and not self.unseen(node, scope):
                        return False
            return True
        finally:
            self._busy.discard((owner.node, name))
