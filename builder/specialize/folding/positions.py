"""Can anybody see at which position of a collection something stands, or how much it holds?

An element leaves only from a collection that is asked what it contains, or is made into a set or into text.
Where the collection has a name, every read of the name in the program must be such a use. A loop may number
what it goes through in any way, so that an element that could stay does; one that does not exist leaves where
the loop shows no count.
"""

from __future__ import annotations

import ast

from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.names import names_of, text
from builder.specialize.evaluating.scopes import Scope
from builder.specialize.folding.counting import counted
from builder.specialize.folding.numbering import filled, numbers
from builder.specialize.folding.reads import may_own, namespace_listed, some_read
from builder.specialize.text_index.text_search import nodes_on
from builder.specialize.world import SpecializerWorld, question

#: What is asked of the uses of a collection: whether they see the position of an element that does not exist;
#: that of one that may stay, so that a loop, and whoever reads an attribute, count as well; whether they may
#: take an element out, or a key of a dict.
GONE, KEPT, TAKEN, KEYS = "", "kept", "taken", "keys"
#: Methods that see positions, and take no element or no key out.
_TAKING_NOTHING = {TAKEN: ("count", "index"), KEYS: ("values",)}
#: Builtins whose result shows no positions of their argument, and those whose result has the same positions.
_BLIND_CALLS = frozenset(["all", "any", "isinstance", "issubclass"])
_COUNTABLE = frozenset(["dict", "frozenset", "set"])
_SAME_POSITIONS = frozenset(["list", "sorted", "tuple"])
#: Methods that add to a collection, or ask what it contains.
_BLIND_METHODS = frozenset(["add", "append", "discard", "extend", "get", "update"])
#: Those of them that show nothing even where somebody calls them later: `add_choices = CHOICES.extend`.
_ADDING_METHODS = frozenset(["add", "append", "discard", "extend", "update"])
#: Names of class attributes that Python itself reads by position.
_READ_BY_PYTHON = frozenset(["__match_args__", "__slots__", "_fields", "_fields_"])
#: What goes through the attributes of an object.
_LISTS_ATTRIBUTES = (b"__dict__", b"asdict", b"astuple", b"dir", b"fields", b"getmembers", b"vars")
#: What gives an attribute of an object whose name no text beside it shows.
_SHOWS_ATTRIBUTES = ("__dict__", "dir", "getmembers", "vars")
#: What may tell one turn of a comprehension from the next.
_MAY_NUMBER = (ast.Call, ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)


def unseen(evaluator: Evaluator, node: ast.expr, scope: Scope, asked: str) -> bool:
    """Does no use of this expression's value do what is asked: GONE, KEPT, TAKEN or KEYS?"""
    return _Uses(evaluator, asked).unseen(node, scope)


@question
def positions_seen(world: SpecializerWorld, qualified: str, asked: str) -> bool:
    """Does a read of a module's name in the program do what is asked with the collection that it holds?"""
    if namespace_listed(world, qualified.rpartition(".")[0]):
        return True
    return some_read(world, qualified, lambda at, node, scope: not unseen(at, node, scope, asked))


@question
def attribute_positions_seen(world: SpecializerWorld, name: str, asked: str) -> bool:
    """The same for every attribute of this name, whatever its owner is."""
    return some_read(world, name, lambda at, node, scope: not unseen(at, node, scope, asked))


@question
def member_positions_seen(world: SpecializerWorld, cls: str, name: str, asked: str) -> bool:
    """The same for every attribute of this name that the body of a class may bind; `cls`: its last name."""
    return some_read(
        world,
        name,
        lambda at, node, scope: not unseen(at, node, scope, asked) and may_own(at, node, cls, scope),
    )


def _reads_choices(world: SpecializerWorld, path: str) -> bool:
    """May a file take the choices of an argument: by an attribute, a text, or by going through all?"""
    unit = world.unit(path)
    if any(
        getattr(node, "attr", "") == "choices" or (isinstance(node, ast.Constant) and node.value == "choices")
        for node in nodes_on(unit, "choices")
    ):
        return True
    around = {
        _function(unit.scope_of(node)).node for node in nodes_on(unit, "_actions") if _names_actions(node)
    }
    return any(
        getattr(node, "attr", getattr(node, "id", "")) in _SHOWS_ATTRIBUTES
        for function in around
        for node in ast.walk(function)
    )


def _names_actions(node: ast.AST) -> bool:
    return getattr(node, "attr", getattr(node, "value", None)) == "_actions"


def _function(scope: Scope) -> Scope:
    """The function around a comprehension, else the scope itself."""
    while scope.kind == "comprehension" and scope.parent is not None:
        scope = scope.parent
    return scope


class _Uses:
    def __init__(self, evaluator: Evaluator, asked: str = GONE) -> None:
        self.evaluator = evaluator
        self.asked = asked
        self.taken = asked in (TAKEN, KEYS)
        self.unit = evaluator.unit
        self._busy: set[tuple[ast.AST, str]] = set()

    def unseen(self, node: ast.expr, scope: Scope) -> bool:
        parent = self.unit.module.parents.get(node)
        method = getattr(self, f"_in_{type(parent).__name__}", None)
        return bool(method is not None and method(parent, node, scope))

    def _in_Expr(self, parent: ast.Expr, node: ast.expr, scope: Scope) -> bool:
        return True

    def _in_Compare(self, parent: ast.Compare, node: ast.expr, scope: Scope) -> bool:
        if self.taken:
            return True
        operators = zip(parent.ops, parent.comparators, strict=True)
        return all(isinstance(op, (ast.In, ast.NotIn)) for op, right in operators if right is node) and (
            node is not parent.left
        )

    def _in_For(self, parent: ast.For, node: ast.expr, scope: Scope) -> bool:
        if node is not parent.iter or numbers(parent.body):
            return False
        if self.asked:
            return all(
                isinstance(stmt, ast.Expr) and self._imports(stmt.value, scope) for stmt in parent.body
            )
        return all(self._named(collection, scope) for collection in filled(parent.body))

    _in_AsyncFor = _in_For

    def _imports(self, node: ast.expr, scope: Scope) -> bool:
        """Is this a call that only imports a module?"""
        if not isinstance(node, ast.Call) or names_of(node.func)[:1] != ("import_module",):
            return False
        return not self.evaluator.world.is_definition(str(self.evaluator.qualified(node.func, scope)))

    def _in_comprehension(self, parent: ast.comprehension, node: ast.expr, scope: Scope) -> bool:
        whole = self.unit.module.parents[parent]
        if node is not parent.iter:
            return True  # a condition: only its truth is asked
        if self.taken or (self.asked and any(isinstance(part, _MAY_NUMBER) for part in ast.walk(whole))):
            return False
        if numbers(child for child in ast.iter_child_nodes(whole) if isinstance(child, ast.expr)):
            return False
        if isinstance(whole, (ast.SetComp, ast.DictComp)):
            return not counted(self.evaluator, whole, scope)
        return self.unseen(whole, scope)  # type: ignore[arg-type]

    def _same(self, parent: ast.expr, node: ast.expr, scope: Scope) -> bool:
        return self.unseen(parent, scope)

    _in_BoolOp = _in_IfExp = _same

    def _in_BinOp(self, parent: ast.BinOp, node: ast.expr, scope: Scope) -> bool:
        return isinstance(parent.op, (ast.Add, ast.BitOr, ast.Sub)) and self.unseen(parent, scope)

    def _in_Starred(self, parent: ast.Starred, node: ast.expr, scope: Scope) -> bool:
        whole = self.unit.module.parents[parent]
        if isinstance(whole, ast.Set) and not self.taken:
            return not counted(self.evaluator, whole, scope)
        return isinstance(whole, (ast.List, ast.Tuple, ast.Set)) and self.unseen(whole, scope)

    def _in_FormattedValue(self, parent: ast.FormattedValue, node: ast.expr, scope: Scope) -> bool:
        return True

    def _in_keyword(self, parent: ast.keyword, node: ast.expr, scope: Scope) -> bool:
        call = self.unit.module.parents[parent]
        return parent.arg == "choices" and isinstance(call, ast.Call) and self._only_asks(call, scope)

    def _only_asks(self, call: ast.Call, scope: Scope) -> bool:
        """Does a function that gets `choices` only ask what they contain?

        Those outside the program do; but what they return has the choices, and so has a class named `action`.
        """
        called = self.evaluator.qualified(call.func, scope)
        module, _, name = called.rpartition(".") if isinstance(called, str) else ("", "", "")
        path = self.evaluator.world.paths.get(module)
        if path is None:
            words = self.evaluator.world.words
            if any(_reads_choices(self.evaluator.world, holder) for holder in words.holders(b"_actions")):
                return False
            acting = any(
                k.arg in (None, "action") and self._may_read_choices(k.value, scope) for k in call.keywords
            )
            return isinstance(self.unit.module.parents.get(call), ast.Expr) and not acting
        unit = self.evaluator.world.unit(path)
        functions = [b.node for b in unit.scopes.root.names.get(name, ()) if b.kind == "def"]
        inside = _Uses(Evaluator(self.evaluator.world, unit))
        return all(inside.locally_unseen(unit.scopes.of(node), "choices") for node in functions)

    def _may_read_choices(self, action: ast.expr, scope: Scope) -> bool:
        """May the action of an argument be a class of the program whose file speaks of choices?"""
        named = self.evaluator.qualified(action, scope)
        if text(action) is not None or not isinstance(named, str):
            return text(action) is None
        path = self.evaluator.world.paths.get(named.rpartition(".")[0])
        return path is not None and bool(self.evaluator.world.words.of(path)[b"choices"])

    def _in_Call(self, parent: ast.Call, node: ast.expr, scope: Scope) -> bool:
        if node is parent.func:
            return False
        if isinstance(parent.func, ast.Attribute):
            return self._in_method(parent, parent.func, node, scope)
        name = self.evaluator.qualified(parent.func, scope)
        if name in _SAME_POSITIONS:
            return len(parent.args) == 1 and self._made_of(parent, scope)
        if name in _COUNTABLE:
            if self.taken:
                return self.unseen(parent, scope) if name == "dict" else self._made_of(parent, scope)
            return not counted(self.evaluator, parent, scope)
        return (
            name in _BLIND_CALLS
            or (self.taken and name == "len")
            or (name == "collections.defaultdict" and node is parent.args[-1])
        )

    def _made_of(self, whole: ast.Call, scope: Scope) -> bool:
        """The same of a collection of the elements, or of the keys of a dict."""
        if self.asked == KEYS:
            return unseen(self.evaluator, whole, scope, TAKEN)
        return self.unseen(whole, scope)

    def _in_method(self, call: ast.Call, func: ast.Attribute, node: ast.expr, scope: Scope) -> bool:
        if func.attr == "join":  # a text that says what there is, unless it is a pattern for other texts
            return "|" not in (text(func.value) or "|")
        return func.attr in ("extend", "update", "union") and self._named(func.value, scope)

    def _in_Subscript(self, parent: ast.Subscript, node: ast.expr, scope: Scope) -> bool:
        """A name that another binding makes a dict is read by key."""
        if self.asked == KEYS:
            return node is parent.value
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
        if isinstance(whole, ast.Call) and called and parent.attr == "copy":
            return self.unseen(whole, scope)
        if isinstance(whole, ast.Call) and called and parent.attr in ("items", "keys", "union"):
            if self.taken:
                return self._made_of(whole, scope)
            return not counted(self.evaluator, whole, scope)
        if parent.attr in _TAKING_NOTHING.get(self.asked, ()):
            return True
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
            listed = self.asked == KEPT
            return not (listed or self.evaluator.hinders("attribute_positions_seen", target.attr, self.asked))
        if not isinstance(target, ast.Name) or target.id in _READ_BY_PYTHON:
            return False
        owner, name = scope.find(target.id) or scope, target.id
        if (owner.node, name) in self._busy:
            return True
        if owner.kind == "class":
            cls = owner.qualname.rpartition(".")[2]
            if self.asked and self._may_be_listed(owner.node):
                return False
            return not self.evaluator.hinders("member_positions_seen", cls, name, self.asked)
        if owner.kind == "module":
            qualified = f"{self.unit.name}.{name}"
            self._busy.add((owner.node, name))
            try:
                return not self.evaluator.hinders("positions_seen", qualified, self.asked)
            finally:
                self._busy.discard((owner.node, name))
        return self.locally_unseen(owner, name)

    def _may_be_listed(self, cls: ast.AST) -> bool:
        """May a file that names a class or a base go through their attributes, or a metaclass do so?"""
        if not isinstance(cls, ast.ClassDef) or cls.keywords:
            return True
        said = {cls.name, *(name for base in cls.bases for name in names_of(base)[:1])}
        names = {name.encode() for name in said}
        words = self.evaluator.world.words
        return any(not names.isdisjoint(words.of(path)) for path in words.holding(_LISTS_ATTRIBUTES))

    def locally_unseen(self, owner: Scope, name: str) -> bool:
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
