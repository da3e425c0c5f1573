"""Decides whether anybody can see at which position of a collection an element stands.

An element leaves a list or a tuple only where every use asks what it contains, makes a set, a dict or a text
of it, or hands it on to such a use. Where the collection has a name, every read of the name in the program
counts; where a function or class of the program is called with it, every read of the parameter. Anything else
may see positions, and the element stays.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator

from builder.source.fields import nodes
from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.names import longest_word, names_of, text
from builder.specialize.evaluating.scopes import Scope
from builder.specialize.namespaces import lists_own_names
from builder.specialize.rebinding import is_class, module_exposed, rebound
from builder.specialize.text_index.text_search import nodes_like, nodes_on
from builder.specialize.unit import Unit, told
from builder.specialize.world import SpecializerWorld, question

#: Functions and methods that take an attribute or an item whose name is a text.
_LOOK_UPS = frozenset(["getattr", "getattr_static", "__getattribute__", "attrgetter"])
#: Methods that take the entry of a key.
_TAKING = frozenset(["__getitem__", "get", "pop", "setdefault"])
_NAMESPACES = frozenset(["globals", "locals", "vars", "__dict__"])

#: Says of one read whether it shows what is asked for.
Shows = Callable[[Evaluator, ast.expr, Scope], bool]
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


@question
def key_named(world: SpecializerWorld, value: str, *names: str) -> bool:
    """Return whether the program takes an entry by this text: `a["key"]`, `a.pop("key")`, by a pattern, or
    from a dict of one of these names by another method."""
    word = longest_word(value)
    holders = world.words.holders(word.encode()) if word else ()
    return not word or any(_takes_entry(world.unit(path), word, value, names) for path in holders)


@told
def _takes_entry(unit: Unit, word: str, value: str, names: tuple[str, ...]) -> bool:
    return any(_is_entry(unit, node, value, names) for node in nodes_on(unit, word))


def _is_entry(unit: Unit, node: ast.AST, value: str, names: tuple[str, ...]) -> bool:
    if isinstance(node, ast.MatchMapping):
        return any(text(key) == value for key in node.keys)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _TAKING:
        owner = (names_of(node.func.value) or ("",))[0]
        own = node.func.attr == "pop" or not names or owner in names
        return own and bool(node.args) and text(node.args[0]) == value
    if isinstance(node, ast.Call) and names_of(node.func)[:1] == ("itemgetter",):
        return value in map(text, node.args)
    if not isinstance(node, ast.Subscript) or text(node.slice) != value:
        return False
    return not isinstance(node.ctx, ast.Store) or isinstance(unit.module.parents.get(node), ast.AugAssign)


def some_read(world: SpecializerWorld, named: str, shows: Shows) -> bool:
    """Return whether some read in the program shows it. `named`: a qualified name, or a bare one of any
    owner."""
    owner, _, name = named.rpartition(".")
    for called in sorted(names_given(world, name)) if owner else [name]:
        for path in sorted(world.words.holders(called.encode())):
            unit = world.unit(path)
            evaluator = Evaluator(world, unit)
            for node in _reads(unit, called):
                scope = unit.scope_of(node)
                if not isinstance(node, (ast.Name, ast.Attribute)):
                    meant = True  # by a text, of whatever object
                elif owner:
                    meant = evaluator.qualified(node, scope) == named
                else:
                    meant = _is_attribute(node, scope)
                if meant and shows(evaluator, node, scope):
                    return True
    return False


def namespace_listed(world: SpecializerWorld, module: str) -> bool:
    """Return whether something may go through the names of a module: a file has it as a value, or its
    namespace."""
    path = world.paths.get(module)
    return module_exposed(world, module) or (path is not None and lists_own_names(world.unit(path)))


def _is_attribute(node: ast.expr, scope: Scope) -> bool:
    """Return whether a read takes an attribute. A bare name does so in the body of a class alone."""
    if not isinstance(node, ast.Name):
        return True
    owner = scope.find(node.id)
    return owner is not None and owner.kind == "class"


def names_given(world: SpecializerWorld, name: str) -> set[str]:
    """A name, and those that imports give to what has it: `from module import NAME as OTHER`."""
    found, todo = {name}, [name]
    while todo:
        called = todo.pop()
        for path in world.words.holders(called.encode()):
            unit = world.unit(path)
            for node in nodes_on(unit, called):
                other = node.asname if isinstance(node, ast.alias) and node.name == called else None
                if other is not None and other not in found:
                    found.add(other)
                    todo.append(other)
    return found


def _reads(unit: Unit, name: str) -> Iterator[ast.expr]:
    for node in nodes_like(unit, name, "may be read", lambda node: _may_read(node, name)):
        if isinstance(node, (ast.Name, ast.Attribute)):
            yield node
        elif isinstance(node, ast.Constant):
            yield from _by_text(unit, node)


def _may_read(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Constant):
        return bool(node.value == name)
    named = getattr(node, "id", getattr(node, "attr", None)) == name
    return named and isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load)


def _by_text(unit: Unit, node: ast.Constant) -> Iterator[ast.expr]:
    """What takes an attribute or an entry of a namespace that a text names."""
    parent = unit.module.parents.get(node)
    if isinstance(parent, ast.Call) and node in parent.args:
        looks_up = not _LOOK_UPS.isdisjoint(names_of(parent.func))
        if looks_up or (isinstance(parent.func, ast.Attribute) and _is_namespace(parent.func.value)):
            yield parent
    elif isinstance(parent, ast.Subscript) and parent.slice is node and _is_namespace(parent.value):
        yield parent


def _is_namespace(node: ast.expr) -> bool:
    called = node.func if isinstance(node, ast.Call) else node
    return getattr(called, "attr", getattr(called, "id", "")) in _NAMESPACES
