"""Whether the text of the tree shows every name that an expression may give."""

from __future__ import annotations

import ast
import re

from builder.specialize.dead_code.dynamic_names import MIN_LETTERS
from builder.specialize.evaluating.scopes import Binding, Scope
from builder.specialize.text_index.identifier_index import IdentifierIndex
from builder.specialize.text_index.text_search import nodes_on
from builder.specialize.world import SpecializerWorld, Unit

#: In so many files at most the calls of a function are looked at.
MAX_HOLDERS = 12

_CONVERSION = re.compile(r"%(?:\(\w*\))?[-#0+]*\d*(?:\.\d+)?[a-zA-Z]")

Function = ast.FunctionDef | ast.AsyncFunctionDef


class SpelledNames:
    """Answers about the expressions of one file."""

    def __init__(self, world: SpecializerWorld, unit: Unit, words: IdentifierIndex) -> None:
        self._world = world
        self._unit = unit
        self._words = words

    def shows(self, node: ast.expr, scope: Scope, depth: int = 0) -> bool:
        """Do strings of the tree show every name that an expression may give, or enough of it?"""
        if depth > 8:
            return False
        if isinstance(node, ast.Constant):
            return True
        if isinstance(node, (ast.JoinedStr, ast.BinOp)):
            return any(
                isinstance(part, ast.Constant) and isinstance(part.value, str) and _tells(part.value)
                for part in _literal_parts(node)
            )
        if isinstance(node, ast.IfExp):
            return self.shows(node.body, scope, depth + 1) and self.shows(node.orelse, scope, depth + 1)
        if isinstance(node, ast.BoolOp):
            return all(self.shows(value, scope, depth + 1) for value in node.values)
        if isinstance(node, ast.Name):
            owner = scope.find(node.id)
            bindings = owner.names.get(node.id, []) if owner is not None else []
            return bool(bindings) and all(
                self._given(node.id, b, owner, depth + 1) for b in bindings if owner
            )
        if isinstance(node, ast.Attribute):
            if node.attr == "name" and isinstance(node.value, ast.Name) and self._field(node.value, scope):
                return True
            return self._stored(node.attr, depth + 1)
        return False

    def _stored(self, attribute: str, depth: int) -> bool:
        """Does only this file hold an attribute, and do strings show all that it stores there?"""
        if self._words.holders(attribute.encode()) != [self._unit.path]:
            return False
        stored = False
        for node in nodes_on(self._unit, attribute):
            name = (
                node.attr
                if isinstance(node, ast.Attribute)
                else getattr(node, "arg", getattr(node, "id", ""))
            )
            if name != attribute or (isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)):
                continue
            parent = self._unit.module.parents.get(node)
            if not isinstance(parent, (ast.Assign, ast.AnnAssign)) or parent.value is None:
                return False
            if isinstance(node, ast.Name) and not isinstance(parent, ast.Assign):
                return False
            if not self.shows(parent.value, scope_around(self._unit, parent), depth):
                return False
            stored = True
        return stored

    def _passed(self, name: str, owner: Scope, depth: int) -> bool:
        """Does the tree call a function, only call it, and do strings show all that it passes?"""
        function = owner.node
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) or depth > 4:
            return False
        args = [*function.args.posonlyargs, *function.args.args]
        place = next((index for index, arg in enumerate(args) if arg.arg == name), None)
        bound = owner.parent is not None and owner.parent.kind == "class"
        holders = self._words.holders(function.name.encode())
        if len(holders) > MAX_HOLDERS or function.decorator_list or function.name.endswith("__"):
            return False
        defaults = [*function.args.defaults, *(d for d in function.args.kw_defaults if d is not None)]
        if not all(isinstance(default, ast.Constant) for default in defaults):
            return False
        calls = [
            self._of(path)._passes(function, name, -1 if place is None else place, bound, depth)
            for path in holders
        ]
        return None not in calls and any(calls)

    def _of(self, path: str) -> SpelledNames:
        unit = self._world.unit(path)
        return self if unit is self._unit else SpelledNames(self._world, unit, self._words)

    def _passes(self, function: Function, name: str, place: int, bound: bool, depth: int) -> int | None:
        """How often this file calls the function; None when it does else, or strings show not all names."""
        calls = 0
        for node in nodes_on(self._unit, function.name):
            if isinstance(node, ast.ClassDef) and node.name == function.name:
                return None
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and function.name in node.value:
                return None
            if isinstance(node, ast.alias) and node.asname and function.name in (node.name, node.asname):
                return None
            if function.name not in (getattr(node, "id", ""), getattr(node, "attr", "")):
                continue
            call = self._unit.module.parents.get(node)
            if not isinstance(call, ast.Call) or call.func is not node:
                return None
            if any(isinstance(a, ast.Starred) for a in call.args) or any(
                k.arg is None for k in call.keywords
            ):
                return None
            shift = int(bound and isinstance(node, ast.Attribute))
            given = next((k.value for k in call.keywords if k.arg == name), None)
            if given is None and 0 <= place - shift < len(call.args):
                given = call.args[place - shift]
            if given is not None and not self.shows(given, scope_around(self._unit, call), depth + 2):
                return None
            calls += 1
        return calls

    def _given(self, name: str, binding: Binding, owner: Scope | None, depth: int) -> bool:
        """Do strings show every name that a binding gives a variable?"""
        if owner is None or binding.kind == "declare":
            return owner is not None
        if binding.kind == "assign" and binding.value is not None:
            return self.shows(binding.value, owner, depth)
        if binding.kind == "import":
            return self._constant(binding)
        if binding.kind == "parameter":
            if getattr(owner.node, "name", "") in ("__getattr__", "__getattribute__"):
                return True
            return self._passed(name, owner, depth)
        node = binding.node
        if isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)) or hasattr(node, "iter"):
            iterated: ast.expr = node.iter
            return self._lists(iterated, owner, depth)
        found = self._loop(node)
        return found is not None and self._lists(found, owner, depth)

    def _loop(self, node: ast.AST) -> ast.expr | None:
        """What the loop goes over whose target a name is."""
        parent = self._unit.module.parents.get(node)
        while isinstance(parent, (ast.Tuple, ast.List)):
            node, parent = parent, self._unit.module.parents.get(parent)
        if isinstance(parent, (ast.For, ast.AsyncFor)) and parent.target is node:
            return parent.iter
        return None

    def _lists(self, node: ast.expr, scope: Scope, depth: int) -> bool:
        """Do strings show every name that an iterable gives?"""
        if depth > 8:
            return False
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            return all(self._listed(item, scope, depth) for item in node.elts)
        if isinstance(node, ast.Dict):
            return all(key is not None and self.shows(key, scope, depth + 1) for key in node.keys)
        if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp)):
            return self._listed(node.elt, self._unit.scopes.of(node), depth + 1)
        if isinstance(node, ast.Call):
            last = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if last in ("sorted", "list", "tuple", "set", "enumerate", "zip", "reversed") and node.args:
                return all(self._lists(argument, scope, depth + 1) for argument in node.args)
            if last in ("keys", "items", "values") and isinstance(node.func, ast.Attribute):
                return self._lists(node.func.value, scope, depth + 1)
            if last == "vars":
                return True  # a look-up of its own
            if last == "split" and isinstance(node.func, ast.Attribute):
                return isinstance(node.func.value, ast.Constant)
            return _struct_fields(node)
        if isinstance(node, ast.Attribute) and node.attr == "__dict__":
            return True
        if isinstance(node, ast.Name):
            owner = scope.find(node.id)
            bindings = owner.names.get(node.id, []) if owner is not None else []
            values = [binding.value for binding in bindings if binding.kind == "assign" and binding.value]
            if owner is None or len(values) != len(bindings):
                return False
            if len(values) == 1 or any(map(_struct_fields, values)):
                return all(self._lists(value, owner, depth + 1) for value in values)
        return _struct_fields(node)

    def _listed(self, item: ast.expr, scope: Scope, depth: int) -> bool:
        if isinstance(item, (ast.Tuple, ast.List)):
            return all(self._listed(inner, scope, depth) for inner in item.elts)
        if isinstance(item, ast.Call) and getattr(item.func, "id", "") == "type":
            return True  # no string
        if isinstance(item, ast.Starred):
            return self._lists(item.value, scope, depth + 1)
        return self.shows(item, scope, depth + 1)

    def _constant(self, binding: Binding) -> bool:
        """Is an imported name a string that its file shows?"""
        name = self._world.imported(self._unit, binding)
        if not isinstance(name, str):
            return False
        module, _, last = name.rpartition(".")
        path = self._world.paths.get(module)
        if path is None:
            return False
        bindings = self._world.unit(path).scopes.root.names.get(last, [])
        return bool(bindings) and all(isinstance(b.value, ast.Constant) for b in bindings)

    def _field(self, node: ast.Name, scope: Scope) -> bool:
        """Does a variable go over the fields of a dataclass, which are no methods?"""
        owner = scope.find(node.id)
        bindings = owner.names.get(node.id, []) if owner is not None else []
        if not bindings:
            return False
        for binding in bindings:
            over = binding.node.iter if hasattr(binding.node, "iter") else self._loop(binding.node)
            func = over.func if isinstance(over, ast.Call) else None
            if getattr(func, "attr", getattr(func, "id", "")) != "fields":
                return False
        return True


def _literal_parts(node: ast.JoinedStr | ast.BinOp) -> list[ast.expr]:
    """The parts of a composed string that are in it as they are: of `"%s_x" % y` the template alone."""
    if isinstance(node, ast.JoinedStr):
        return node.values
    if isinstance(node.op, ast.Mod):
        return [node.left]
    return [node.left, node.right] if isinstance(node.op, ast.Add) else []


def _struct_fields(node: ast.expr) -> bool:
    """Are these the names of the fields of a struct, which are no methods?"""
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "getattr" and len(node.args) > 1:
        return isinstance(node.args[1], ast.Constant) and node.args[1].value == "__struct_fields__"
    return isinstance(node, ast.Attribute) and node.attr == "__struct_fields__"


def _tells(part: str) -> bool:
    """Does a part of a string say enough of the name?"""
    said = _CONVERSION.sub("", part)
    return sum(map(str.isalpha, said)) >= MIN_LETTERS and said.replace(".", "_").isidentifier()


def scope_around(unit: Unit, node: ast.AST) -> Scope:
    """The scope in which a node is evaluated."""
    parents, scopes = unit.module.parents, unit.scopes
    below, at = node, parents.get(node)
    while at is not None:
        if isinstance(at, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            if isinstance(below, ast.stmt) and below in at.body:
                return scopes.of(at)
        elif isinstance(at, ast.Lambda):
            if below is at.body:
                return scopes.of(at)
        elif isinstance(at, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            first = at.generators[0]
            if not (below is first and _within_iter(unit, node, first)):
                return scopes.of(at)
        below, at = at, parents.get(at)
    return scopes.root


def _within_iter(unit: Unit, node: ast.AST, generator: ast.comprehension) -> bool:
    at: ast.AST | None = node
    while at is not None and at is not generator:
        if at is generator.iter:
            return True
        at = unit.module.parents.get(at)
    return False
