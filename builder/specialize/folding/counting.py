"""Does the program visibly count what a dict or a set holds, or number its entries?

Only what shows it counts: whoever is handed the collection may do anything with it.
"""

from __future__ import annotations

import ast
import re

from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.names import names_of, text
from builder.specialize.evaluating.scopes import Scope
from builder.specialize.folding.numbering import filled, numbers, stored
from builder.specialize.folding.reads import may_own, some_read
from builder.specialize.folding.relatives import class_of_self, is_own_class
from builder.specialize.text_index.text_search import nodes_like
from builder.specialize.unit import Unit
from builder.specialize.world import SpecializerWorld, question

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_COUNTS = frozenset(
    ["all", "any", "bool", "enumerate", "iter", "len", "max", "min", "reversed", "sum", "zip"]
)
_LISTS = frozenset(["list", "sorted", "tuple"])
_SAME = frozenset(["dict", "frozenset", "set"])
_VIEWS = frozenset(
    ["copy", "difference", "intersection", "items", "keys", "symmetric_difference", "union", "values"]
)
#: How many assignments are followed.
_MAX_DEPTH = 5
_ASKS_OF_CLASSES = frozenset(["hash", "id", "isinstance", "issubclass", "repr", "str", "typing.cast"])
_ASKS = (ast.In, ast.NotIn, ast.Is, ast.IsNot)


def counted(evaluator: Evaluator, node: ast.expr, scope: Scope) -> bool:
    """Does a use of a dict or a set visibly count its entries: by `len`, `enumerate`, `list(...)[1]`?"""
    return _Counts(evaluator).of(node, scope)


@question
def collection_counted(world: SpecializerWorld, qualified: str) -> bool:
    """Does a read of a module's name in the program count the entries of what it holds?"""
    return some_read(world, qualified, lambda at, node, scope: _Counts(at).of(node, scope))


@question
def list_counted(world: SpecializerWorld, qualified: str) -> bool:
    """The same where the name holds a list that was made of a dict or a set."""
    return some_read(world, qualified, lambda at, node, scope: _Counts(at).of(node, scope, True))


@question
def entry_counted(world: SpecializerWorld, key: str, listed: str) -> bool:
    """The same for what any dict of the program has under this key. `listed`: not empty if it is a list."""
    word = max(_IDENTIFIER.findall(key), key=len, default="")
    for path in sorted(world.words.holders(word.encode())):
        unit = world.unit(path)
        nodes = nodes_like(unit, word, f"takes the entry {key!r}", lambda node: _takes(node, key))
        taken = [node for node in nodes if isinstance(node, ast.expr)]
        counts = _Counts(Evaluator(world, unit)) if taken else None
        if counts and any(counts.of(node, unit.scope_of(node), bool(listed)) for node in taken):
            return True
    return not word


def _takes(node: ast.AST, key: str) -> bool:
    """Does an expression take the entry of a key: `a["key"]`, `a.get("key")`?"""
    if isinstance(node, ast.Subscript):
        return isinstance(node.ctx, ast.Load) and _is_text(node.slice, key)
    if not isinstance(node, ast.Call) or not node.args:
        return False
    return getattr(node.func, "attr", "") in ("get", "pop", "setdefault") and _is_text(node.args[0], key)


def _is_text(node: ast.expr, said: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == said


@question
def member_counted(world: SpecializerWorld, cls: str, name: str) -> bool:
    """The same for every attribute of this name that a class may have; `cls`: its last name, or none."""
    return some_read(
        world,
        name,
        lambda at, node, scope: _Counts(at).of(node, scope) and (not cls or may_own(at, node, cls, scope)),
    )


@question
def result_counted(world: SpecializerWorld, qualified: str) -> bool:
    """The same for what a function returns."""
    return _some_result(world, qualified, listed=False)


@question
def result_list_counted(world: SpecializerWorld, qualified: str) -> bool:
    """The same where the function returns a list that was made of a dict or a set."""
    return _some_result(world, qualified, listed=True)


def _some_result(world: SpecializerWorld, qualified: str, listed: bool) -> bool:
    def shows(at: Evaluator, node: ast.expr, scope: Scope) -> bool:
        call = at.unit.module.parents.get(node)
        if isinstance(call, ast.Call) and call.func is node:
            return _Counts(at).of(call, scope, listed)
        return "." not in qualified and _Counts(at).of(node, scope, listed)  # a property

    return some_read(world, qualified, shows)


@question
def members_counted(world: SpecializerWorld, qualified: str) -> bool:
    """Does the program count or number the members of an enumeration?"""

    def shows(at: Evaluator, node: ast.expr, scope: Scope) -> bool:
        parents = at.unit.module.parents
        parent = parents.get(node)
        if isinstance(parent, ast.Attribute) and parent.attr == "__members__":
            return _Counts(at).of(parent, scope)
        if isinstance(parent, ast.Call) and node in parent.args:
            called = at.qualified(parent.func, scope)
            return called not in _ASKS_OF_CLASSES and (
                called not in _LISTS | _SAME or _Counts(at).of(node, scope)
            )
        if isinstance(parent, ast.Attribute):
            return isinstance(parents.get(parent), ast.UnaryOp)  # `~Flag.MEMBER` has all the others
        iterated = isinstance(parent, (ast.For, ast.Starred, ast.comprehension))
        return iterated and _Counts(at).of(node, scope)

    return _counts_itself(world, qualified) or some_read(world, qualified, shows)


def _counts_itself(world: SpecializerWorld, qualified: str) -> bool:
    """Does a method use its class for more than to make an object, or to take a member by its name?

    So does `@verify`, which asks for all members.
    """
    module, _, name = qualified.rpartition(".")
    unit = world.unit(world.paths[module]) if module in world.paths else None
    if unit is None:
        return False
    at = Evaluator(world, unit)
    classes = [binding.node for binding in unit.scopes.root.names.get(name, ())]
    return any(
        names_of(decorator)[:1] == ("verify",) for cls in classes for decorator in _decorators(cls)
    ) or any(
        _is_bare(unit, node) or _Counts(at).of(node, unit.scope_of(node))
        for cls in classes
        for node in ast.walk(cls)
        if isinstance(node, ast.expr)
        and (getattr(node, "attr", "") == "__class__" or is_own_class(node, unit))
    )


def _decorators(cls: ast.AST) -> list[ast.expr]:
    return getattr(cls, "decorator_list", [])


def _is_bare(unit: Unit, node: ast.AST) -> bool:
    parent = unit.module.parents.get(node)
    if isinstance(parent, ast.Attribute):
        return parent.attr.startswith("_") and parent.attr not in ("__name__", "__qualname__")
    if isinstance(parent, ast.Call):
        return parent.func is not node and names_of(parent.func)[:1] not in (("isinstance",), ("super",))
    return not isinstance(parent, (ast.Subscript, ast.Compare, ast.For, ast.comprehension))


def _calls_alike(comprehension: ast.AST) -> bool:
    """Does each turn make a call that says nothing of what the turn is about, and so may count the turns?"""
    turns = [part for part in ast.iter_child_nodes(comprehension) if isinstance(part, ast.comprehension)]
    bound = {name.id for turn in turns for name in ast.walk(turn.target) if isinstance(name, ast.Name)}
    calls = (
        node
        for part in (*ast.iter_child_nodes(comprehension), *(test for turn in turns for test in turn.ifs))
        if isinstance(part, ast.expr)
        for node in ast.walk(part)
        if isinstance(node, ast.Call)
    )
    return any(
        bound.isdisjoint(name.id for name in ast.walk(call) if isinstance(name, ast.Name)) for call in calls
    )


class _Counts:
    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.parents = evaluator.unit.module.parents
        self._busy: set[tuple[ast.AST, str]] = set()

    def of(self, node: ast.expr, scope: Scope, listed: bool = False) -> bool:
        """`listed`: the expression is a list that was made of the collection, or part of one."""
        parent = self.parents.get(node)
        method = getattr(self, f"_in_{type(parent).__name__}", None)
        return bool(method is not None and method(parent, node, scope, listed))

    def _test(
        self, parent: ast.If | ast.IfExp | ast.While, node: ast.expr, scope: Scope, listed: bool
    ) -> bool:
        return node is parent.test

    _in_If = _in_While = _test

    def _in_IfExp(self, parent: ast.IfExp, node: ast.expr, scope: Scope, listed: bool) -> bool:
        return node is parent.test or self.of(parent, scope, listed)

    def _in_BoolOp(self, parent: ast.BoolOp, node: ast.expr, scope: Scope, listed: bool) -> bool:
        return True

    def _in_UnaryOp(self, parent: ast.UnaryOp, node: ast.expr, scope: Scope, listed: bool) -> bool:
        return True

    def _in_Compare(self, parent: ast.Compare, node: ast.expr, scope: Scope, listed: bool) -> bool:
        if not listed and len(parent.ops) == 1:
            other = parent.left if node in parent.comparators else parent.comparators[0]
            within = ast.LtE if node in parent.comparators else ast.GtE
            if isinstance(parent.ops[0], within) and self._met(other, scope):
                return False  # whether this collection holds what the other one does
        return not all(isinstance(op, _ASKS) for op in parent.ops)

    def _met(self, node: ast.expr, scope: Scope, depth: int = 0) -> bool:
        """Does a set hold only what the program met when it ran, and so no value that never occurs?"""
        if depth > _MAX_DEPTH:
            return False
        for inner in ast.walk(node):
            if isinstance(inner, ast.Constant) and isinstance(inner.value, (str, bytes)):
                return False
            if not isinstance(inner, ast.Name):
                continue
            owner = scope.find(inner.id)
            bindings = owner.names.get(inner.id, []) if owner is not None else []
            if owner is not None and owner.kind == "module" and any(b.kind == "assign" for b in bindings):
                return False
            values = [binding.value for binding in bindings if binding.value is not None]
            if not all(self._met(value, owner or scope, depth + 1) for value in values):
                return False
        return True

    def _in_Attribute(self, parent: ast.Attribute, node: ast.expr, scope: Scope, listed: bool) -> bool:
        call = self.parents.get(parent)
        if not isinstance(call, ast.Call) or call.func is not parent:
            return False
        if parent.attr in _VIEWS:
            asked = parent.attr == "values" and isinstance(self.parents.get(call), ast.Compare)
            return asked or self.of(call, scope, listed)
        if parent.attr in ("pop", "remove") and all(isinstance(arg, ast.Constant) for arg in call.args):
            return len(call.args) < 2  # without a default it fails where the entry is missing
        return parent.attr == "popitem" or (listed and parent.attr in ("index", "pop", "reverse"))

    def _in_Subscript(self, parent: ast.Subscript, node: ast.expr, scope: Scope, listed: bool) -> bool:
        return node is parent.value and (listed or isinstance(parent.ctx, ast.Del))

    def _in_Return(self, parent: ast.Return, node: ast.expr, scope: Scope, listed: bool) -> bool:
        function = scope
        while function.kind == "comprehension" and function.parent is not None:
            function = function.parent
        if function.parent is None:
            return False
        if function.parent.kind == "function":
            return self._by_calls(function.parent, function.qualname.rpartition(".")[2], listed)
        asked = "result_list_counted" if listed else "result_counted"
        if function.parent.kind == "class":
            return self.evaluator.hinders(asked, function.qualname.rpartition(".")[2])
        return self.evaluator.hinders(asked, f"{self.evaluator.unit.name}.{function.qualname}")

    def _by_calls(self, owner: Scope, name: str, listed: bool) -> bool:
        """Does a function count what one that stands in it returns?"""
        if (owner.node, f"{name}()") in self._busy:
            return False
        self._busy.add((owner.node, f"{name}()"))
        return any(
            self.of(node, self.evaluator.unit.scope_of(node), listed)
            for node in ast.walk(owner.node)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
        )

    def _in_Starred(self, parent: ast.Starred, node: ast.expr, scope: Scope, listed: bool) -> bool:
        whole = self.parents[parent]
        if isinstance(whole, ast.Call):
            return True
        return isinstance(whole, (ast.List, ast.Tuple, ast.Set)) and self.of(
            whole, scope, not isinstance(whole, ast.Set)
        )

    def _in_Dict(self, parent: ast.Dict, node: ast.expr, scope: Scope, listed: bool) -> bool:
        if node not in parent.values:
            return False
        key = parent.keys[parent.values.index(node)]
        said = text(key) if key is not None else None
        return (
            self.of(parent, scope, listed) if key is None else said is not None and self._entry(said, listed)
        )

    def _in_BinOp(self, parent: ast.BinOp, node: ast.expr, scope: Scope, listed: bool) -> bool:
        other = parent.left if node is parent.right else parent.right
        apart = isinstance(parent.op, ast.Sub) and node is parent.right
        if (apart or isinstance(parent.op, ast.BitAnd)) and self._met(other, scope):
            return False  # what the other one holds besides, or as well
        return self.of(parent, scope, listed)

    def _in_For(self, parent: ast.For, node: ast.expr, scope: Scope, listed: bool) -> bool:
        if node is not parent.iter:
            return False
        return (
            numbers(parent.body)
            or any(self._target(one, scope, True) for one in filled(parent.body))
            or any(self._outlives(one, parent, scope) for one in stored(parent.body))
        )

    def _outlives(self, owner: ast.expr, loop: ast.For, scope: Scope) -> bool:
        """Does somebody count what a loop stores items in, or read the constant that it gives to a name?"""
        if isinstance(owner.ctx, ast.Load):  # type: ignore[attr-defined]
            return self._target(owner, scope, False)
        at = scope.find(owner.id) or scope  # type: ignore[attr-defined]
        inside = set(ast.walk(loop))
        return any(
            isinstance(node, ast.Name)
            and node.id == owner.id  # type: ignore[attr-defined]
            and isinstance(node.ctx, ast.Load)
            and node not in inside
            for node in ast.walk(at.node)
        )

    def _in_AugAssign(self, parent: ast.AugAssign, node: ast.expr, scope: Scope, listed: bool) -> bool:
        return node is parent.value and self._target(parent.target, scope, listed)

    def _in_Tuple(self, parent: ast.Tuple, node: ast.expr, scope: Scope, listed: bool) -> bool:
        """`ids, n = IDS, 1`"""
        whole, at = self.parents.get(parent), parent.elts.index(node)
        targets = whole.targets if isinstance(whole, ast.Assign) else []
        return any(
            isinstance(each, (ast.Tuple, ast.List))
            and len(each.elts) == len(parent.elts)
            and self._target(each.elts[at], scope, listed)
            for each in targets
        )

    def _in_Lambda(self, parent: ast.Lambda, node: ast.expr, scope: Scope, listed: bool) -> bool:
        whole = self.parents.get(parent)
        if node is not parent.body or not isinstance(whole, ast.Assign):
            return False
        around = self.evaluator.unit.scope_of(parent)
        return any(self._called(target, around, listed) for target in whole.targets)

    def _called(self, target: ast.expr, scope: Scope, listed: bool) -> bool:
        """Does somebody count what a function returns that is stored here?"""
        asked = "result_list_counted" if listed else "result_counted"
        if isinstance(target, ast.Attribute):
            return self.evaluator.hinders(asked, target.attr)
        if not isinstance(target, ast.Name):
            return True
        owner = scope.find(target.id) or scope
        if owner.kind == "function":
            return self._by_calls(owner, target.id, listed)
        module = f"{self.evaluator.unit.name}." if owner.kind == "module" else ""
        return self.evaluator.hinders(asked, f"{module}{target.id}")

    def _in_keyword(self, parent: ast.keyword, node: ast.expr, scope: Scope, listed: bool) -> bool:
        call = self.parents.get(parent)
        makes = isinstance(call, ast.Call) and names_of(call.func) == ("dict",)
        return makes and parent.arg is not None and self._entry(parent.arg, listed)

    def _in_withitem(self, parent: ast.withitem, node: ast.expr, scope: Scope, listed: bool) -> bool:
        return parent.optional_vars is not None and self._target(parent.optional_vars, scope, listed)

    def _in_YieldFrom(self, parent: ast.YieldFrom, node: ast.expr, scope: Scope, listed: bool) -> bool:
        return True

    def _in_comprehension(
        self, parent: ast.comprehension, node: ast.expr, scope: Scope, listed: bool
    ) -> bool:
        whole = self.parents[parent]
        if node is not parent.iter:
            return False
        parts = [child for child in ast.iter_child_nodes(whole) if isinstance(child, ast.expr)]
        ordered = isinstance(whole, (ast.ListComp, ast.GeneratorExp))
        if numbers(parts) or _calls_alike(whole):
            return True
        return self.of(whole, scope, ordered)  # type: ignore[arg-type]

    def _in_Call(self, parent: ast.Call, node: ast.expr, scope: Scope, listed: bool) -> bool:
        if node not in parent.args:
            return False
        name = self.evaluator.qualified(parent.func, scope)
        if name in _LISTS:
            return self.of(parent, scope, True)
        if name in _SAME:
            return self.of(parent, scope, False)
        if name == "contextlib.nullcontext":
            return self.of(parent, scope, listed)
        return name in _COUNTS or name == "next"

    def _in_Assign(self, parent: ast.Assign, node: ast.expr, scope: Scope, listed: bool) -> bool:
        return node is parent.value and any(self._target(target, scope, listed) for target in parent.targets)

    def _in_AnnAssign(self, parent: ast.AnnAssign, node: ast.expr, scope: Scope, listed: bool) -> bool:
        return node is parent.value and self._target(parent.target, scope, listed)

    def _in_NamedExpr(self, parent: ast.NamedExpr, node: ast.expr, scope: Scope, listed: bool) -> bool:
        return self._target(parent.target, scope, listed) or self.of(parent, scope, listed)

    def _target(self, target: ast.expr, scope: Scope, listed: bool) -> bool:
        """Does somebody count what is stored here?"""
        if isinstance(target, (ast.Tuple, ast.List)):
            return True
        if isinstance(target, ast.Attribute):
            return self.evaluator.hinders(
                "member_counted", class_of_self(target.value, scope) or "", target.attr
            )
        if isinstance(target, ast.Subscript):
            key = text(target.slice)
            return key is not None and self._entry(key, listed)
        return isinstance(target, ast.Name) and self._by_name(target.id, scope, listed)

    def _entry(self, key: str, listed: bool) -> bool:
        """Does somebody count what a dict has under a key that is a text?"""
        return self.evaluator.hinders("entry_counted", key, "listed" if listed else "")

    def _by_name(self, name: str, scope: Scope, listed: bool) -> bool:
        owner = scope.find(name) or scope
        if owner.kind == "class":
            return self.evaluator.hinders("member_counted", owner.qualname.rpartition(".")[2], name)
        if owner.kind == "module":
            asked = "list_counted" if listed else "collection_counted"
            return self.evaluator.hinders(asked, f"{self.evaluator.unit.name}.{name}")
        if (owner.node, name) in self._busy:
            return False
        self._busy.add((owner.node, name))
        return any(
            self.of(node, self.evaluator.unit.scope_of(node), listed)
            for node in ast.walk(owner.node)
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
        )
