"""Whether the text of the tree shows every name that an expression may give."""

from __future__ import annotations

import ast
import re

from builder.source.parents import Parents
from builder.specialize.dead_code.dynamic_names import Formed, fits, formed
from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.scopes import Binding, Scope
from builder.specialize.text_index.identifier_index import IdentifierIndex, identifier_counts
from builder.specialize.text_index.text_search import nodes_on, possible_names
from builder.specialize.unit import Unit
from builder.specialize.world import SpecializerWorld

#: In so many files at most the calls of a function are looked at.
MAX_HOLDERS = 12

_CONVERSION = re.compile(r"%(?:\([^()]*\))?[-#0+ ]*(?:\d+|\*)?(?:\.(?:\d+|\*)?)?[a-zA-Z]")
#: What stands for a part of a composed string that is not known: in no name.
_UNKNOWN = "\0"
_WORD = re.compile(r"[A-Za-z_]\w*")
#: Functions that give what they get in another order or as another kind of collection.
_COPIES = frozenset(["sorted", "list", "tuple", "set", "frozenset", "enumerate", "zip", "reversed"])
#: Functions to which a collection may be given, since they put nothing in.
_LOOKERS = _COPIES | frozenset(
    ["len", "any", "all", "min", "max", "sum", "dict", "str", "repr", "print", "iter"]
)
#: Methods of a collection or a mapping that put nothing in.
_READING = frozenset(["get", "keys", "values", "items", "index", "count", "copy", "join"])

Function = ast.FunctionDef | ast.AsyncFunctionDef


class SpelledNames:
    """Answers about the expressions of one file."""

    def __init__(self, world: SpecializerWorld, unit: Unit, words: IdentifierIndex) -> None:
        self._world = world
        self._unit = unit
        self._words = words
        self._evaluator = Evaluator(world, unit)
        self._owner: tuple[ast.expr, Scope] | None = None

    def _is_owner(self, node: ast.expr, scope: Scope) -> bool:
        """Is this the object on which the names are looked up, or the class of it?"""
        if self._owner is None:
            return False
        owner, there = self._owner
        node = _instance(node)
        if ast.dump(node) != ast.dump(owner):
            return False
        names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        return all(scope.find(name) is there.find(name) for name in names)

    def shows(self, node: ast.expr, scope: Scope, depth: int = 0) -> bool:
        """Do strings of the tree show every name that an expression may give, or enough of it?

        What lists the fields of the object itself on which the names are looked up shows these.
        """
        names = self._of(self._unit.path)
        owner = _looked_up_on(node, self._unit.module.parents.get(node))
        names._owner = (_instance(owner), scope) if owner is not None else None
        return names._shows(node, scope, depth)

    def _shows(self, node: ast.expr, scope: Scope, depth: int) -> bool:
        if depth > 8:
            return False
        if isinstance(node, ast.Constant):
            return not isinstance(node.value, str) or self._written(node)
        if isinstance(node, (ast.JoinedStr, ast.BinOp)):
            return self._composed(node)
        if isinstance(node, ast.IfExp):
            return self._shows(node.body, scope, depth + 1) and self._shows(node.orelse, scope, depth + 1)
        if isinstance(node, ast.BoolOp):
            return all(self._shows(value, scope, depth + 1) for value in node.values)
        if isinstance(node, ast.Name):
            owner = scope.find(node.id)
            bindings = owner.names.get(node.id, []) if owner is not None else []
            return bool(bindings) and all(
                self._given(node.id, b, owner, depth + 1) for b in bindings if owner
            )
        if isinstance(node, ast.Attribute):
            if node.attr == "name" and isinstance(node.value, ast.Name) and self._field(node.value, scope):
                return True
            return self._stored(node, scope, depth + 1)
        return False

    def _composed(self, node: ast.JoinedStr | ast.BinOp) -> bool:
        """Does the text of a composed string give patterns that all of its names fit?

        The text is read without parsing it, so that a comment between two parts, say, hides what they form.
        """
        module = self._unit.module
        read = formed(module.data[module.start(node) : module.end(node)]).patterns & self._formed().patterns
        *_, last = _sample(node).split(".")
        return any(fits(last, pattern) for pattern in read)

    def _written(self, node: ast.Constant) -> bool:
        """Has the text every word of a string as it is: not in parts, or behind a backslash?"""
        module, value = self._unit.module, str(node.value)
        words = identifier_counts(module.data[module.start(node) : module.end(node)])
        return all(word.encode() in words or word in self._formed().names for word in _WORD.findall(value))

    def _formed(self) -> Formed:
        """What the text of the file may form."""
        data = self._unit.module.data
        return self._unit.told(("formed",), lambda: formed(data))

    def _stored(self, node: ast.Attribute, scope: Scope, depth: int) -> bool:
        """Does only the class around hold an attribute of `self`, and do strings show all that it stores?

        Of another object, which may come from another package, the text does not tell what it holds.
        """
        attribute = node.attr
        cls = _class_of_self(node.value, scope)
        if (cls is None) or self._words.holders(attribute.encode()) != [self._unit.path]:
            return False
        stored = False
        for held in nodes_on(self._unit, attribute):
            if isinstance(held, ast.Constant) and isinstance(held.value, str) and attribute in held.value:
                return False  # `setattr(x, "name", ...)`
            names = [getattr(held, part, "") for part in ("attr", "arg", "id", "name")]
            if attribute not in names or (isinstance(held, ast.Attribute) and isinstance(held.ctx, ast.Load)):
                continue
            parent = self._unit.module.parents.get(held)
            if not isinstance(parent, (ast.Assign, ast.AnnAssign)) or parent.value is None:
                return False
            if isinstance(held, ast.Name) and not isinstance(parent, ast.Assign):
                return False
            around = scope_around(self._unit, parent)
            own = around is cls or (
                isinstance(held, ast.Attribute) and _class_of_self(held.value, around) is cls
            )
            if (not own) or not self._shows(parent.value, around, depth):
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
        if bound and not function.name.startswith("_"):
            return False  # whoever has the object may call it, another package too
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
        return SpelledNames(self._world, self._world.unit(path), self._words)

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
            if given is not None and not self._shows(given, scope_around(self._unit, call), depth + 2):
                return None
            calls += 1
        return calls

    def _given(self, name: str, binding: Binding, owner: Scope | None, depth: int) -> bool:
        """Do strings show every name that a binding gives a variable?"""
        if owner is None or binding.kind == "declare":
            return owner is not None
        if owner.kind == "module" and self._world.ask("rebound", f"{self._unit.name}.{name}"):
            return False
        if binding.kind == "assign" and binding.value is not None:
            return self._shows(binding.value, owner, depth)
        if binding.kind == "import":
            return self._constant(binding)
        if binding.kind == "parameter":
            if getattr(owner.node, "name", "") in (
                "__getattr__",
                "__getattribute__",
            ):
                return True
            return self._passed(name, owner, depth)
        loop = binding.node if hasattr(binding.node, "iter") else self._loop(binding.node)
        if not isinstance(loop, (ast.For, ast.AsyncFor, ast.comprehension)):
            return False
        if _takes_keys(loop, name) and isinstance(loop.iter, ast.Call):
            return self._lists(loop.iter.func.value, owner, depth)  # type: ignore[attr-defined]
        return self._lists(loop.iter, owner, depth)

    def _loop(self, node: ast.AST) -> ast.AST | None:
        """The loop whose target a name is."""
        parent = self._unit.module.parents.get(node)
        while isinstance(parent, (ast.Tuple, ast.List)):
            node, parent = parent, self._unit.module.parents.get(parent)
        if isinstance(parent, (ast.For, ast.AsyncFor)) and parent.target is node:
            return parent
        return None

    def _lists(self, node: ast.expr, scope: Scope, depth: int) -> bool:
        """Do strings show every name that an iterable gives?"""
        if depth > 8:
            return False
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            return all(self._listed(item, scope, depth) for item in node.elts)
        if isinstance(node, ast.Dict):
            return all(key is not None and self._shows(key, scope, depth + 1) for key in node.keys)
        if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp)):
            return self._listed(node.elt, self._unit.scopes.of(node), depth + 1)
        if isinstance(node, ast.Call):
            last = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if last in _COPIES and node.args:
                return all(self._lists(argument, scope, depth + 1) for argument in node.args)
            if last in ("keys", "items", "values") and isinstance(node.func, ast.Attribute):
                of = node.func.value
                keys = last == "values" or self._lists(of, scope, depth + 1)
                return keys and (last == "keys" or self._values(of, scope, depth + 1))
            if last == "vars":  # a look-up of its own, but of no other object
                return bool(node.args) and self._is_owner(node.args[0], scope)
            if last == "split" and isinstance(node.func, ast.Attribute):
                return self._split(node, node.func.value)
            return self._struct_fields(node, scope)
        if isinstance(node, ast.Attribute) and node.attr == "__dict__":
            return self._is_owner(node.value, scope)
        if isinstance(node, ast.Name):
            owner = scope.find(node.id)
            bindings = owner.names.get(node.id, []) if owner is not None else []
            values = [binding.value for binding in bindings if binding.kind == "assign" and binding.value]
            if owner is None or len(values) != len(bindings):
                return False
            if not all(map(_stays_as_it_is, values)) and not self._unfilled(node.id, owner):
                return False
            if len(values) == 1 or any(self._struct_fields(value, owner) for value in values):
                return all(self._lists(value, owner, depth + 1) for value in values)
        return self._struct_fields(node, scope)

    def _values(self, node: ast.expr, scope: Scope, depth: int) -> bool:
        """Do strings show every name that is a value of a mapping?"""
        if depth > 8:
            return False
        if isinstance(node, ast.Dict):
            values = zip(node.keys, node.values, strict=True)
            return all(key is not None and self._listed(value, scope, depth) for key, value in values)
        owner = scope.find(node.id) if isinstance(node, ast.Name) else None
        if owner is None or not isinstance(node, ast.Name) or not self._unfilled(node.id, owner):
            return False
        bindings = owner.names[node.id]
        return all(
            b.kind == "assign" and b.value is not None and self._values(b.value, owner, depth + 1)
            for b in bindings
        )

    def _unfilled(self, name: str, owner: Scope) -> bool:
        """Is the collection that a variable is bound to only read, so that nothing is put in later?"""
        paths = self._words.holders(name.encode()) if owner.kind == "module" else [self._unit.path]
        return len(paths) <= MAX_HOLDERS and all(self._of(path)._only_reads(name, owner) for path in paths)

    def _only_reads(self, name: str, owner: Scope) -> bool:
        """Does this file only read a collection, the one of this variable or of a module's attribute?"""
        here = owner.root is self._unit.scopes.root
        for node in nodes_on(self._unit, name):
            if isinstance(node, ast.Name) and node.id == name:
                if here and scope_around(self._unit, node).find(name) is not owner:
                    continue
            elif owner.kind != "module":
                continue
            elif isinstance(node, ast.alias):
                if node.asname and name in (node.name, node.asname):
                    return False
                continue
            elif not (isinstance(node, ast.Attribute) and node.attr == name):
                if isinstance(node, ast.Constant) and node.value == name:
                    return False
                continue
            if isinstance(node.ctx, ast.Load) and not _reads(node, self._unit.module.parents):
                return False
        return True

    def _split(self, call: ast.Call, split: ast.expr) -> bool:
        """Is every word of a text that is split a name to which the text refers for the search, too?"""
        if not isinstance(split, ast.Constant) or not isinstance(split.value, str):
            return False
        by = [*call.args, *(keyword.value for keyword in call.keywords)]
        if not all(isinstance(one, ast.Constant) and not _within_words(one.value) for one in by):
            return False
        return self._written(split) and set(possible_names(split.value)).issuperset(
            _WORD.findall(split.value)
        )

    def _listed(self, item: ast.expr, scope: Scope, depth: int) -> bool:
        if isinstance(item, (ast.Tuple, ast.List)):
            return all(self._listed(inner, scope, depth) for inner in item.elts)
        if isinstance(item, ast.Call) and getattr(item.func, "id", "") == "type":
            return True  # no string
        if isinstance(item, ast.Starred):
            return self._lists(item.value, scope, depth + 1)
        return self._shows(item, scope, depth + 1)

    def _constant(self, binding: Binding) -> bool:
        """Is an imported name a string that its file shows?"""
        name = self._world.imported(self._unit, binding)
        if not isinstance(name, str):
            return False
        module, _, last = name.rpartition(".")
        path = self._world.paths.get(module)
        if path is None:
            return False
        there = self._of(path)
        bindings = there._unit.scopes.root.names.get(last, [])
        return (
            bool(bindings)
            and not self._world.ask("rebound", name)
            and all(
                isinstance(b.value, ast.Constant) and there._shows(b.value, there._unit.scopes.root, 1)
                for b in bindings
            )
        )

    def _field(self, node: ast.Name, scope: Scope) -> bool:
        """Does a variable go over the fields of a dataclass, which are no methods?"""
        owner = scope.find(node.id)
        bindings = owner.names.get(node.id, []) if owner is not None else []
        if not bindings:
            return False
        for binding in bindings:
            loop = binding.node if hasattr(binding.node, "iter") else self._loop(binding.node)
            over = getattr(loop, "iter", None)
            if not isinstance(over, ast.Call) or len(over.args) != 1:
                return False
            if self._evaluator.qualified(over.func, scope) != "dataclasses.fields":
                return False
            if not self._is_owner(over.args[0], scope):
                return False
        return True

    def _struct_fields(self, node: ast.expr, scope: Scope) -> bool:
        """Are these the names of the fields of a struct, which are no methods of its own?"""
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "getattr" and len(node.args) > 1:
            named = isinstance(node.args[1], ast.Constant) and node.args[1].value == "__struct_fields__"
            return named and self._is_owner(node.args[0], scope)
        if isinstance(node, ast.Attribute) and node.attr == "__struct_fields__":
            return self._is_owner(node.value, scope)
        return False


def _class_of_self(node: ast.expr, scope: Scope) -> Scope | None:
    """The class around, if this is the first parameter of one of its methods."""
    owner = scope.find(node.id) if isinstance(node, ast.Name) else None
    if owner is None or owner.parent is None or owner.parent.kind != "class":
        return None
    function = owner.node
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return None
    first = [*function.args.posonlyargs, *function.args.args][:1]
    static = any(getattr(decorator, "id", "") == "staticmethod" for decorator in function.decorator_list)
    return owner.parent if first and first[0].arg == getattr(node, "id", "") and not static else None


def _sample(node: ast.expr) -> str:
    """A composed string with something that is in no name in place of each part that is not known."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_sample, node.values))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _sample(node.left) + _sample(node.right)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return _CONVERSION.sub(_UNKNOWN, _sample(node.left))
    return _UNKNOWN


def _within_words(separator: object) -> bool:
    """May a text that is split by this be split within a word?"""
    return isinstance(separator, str) and re.search(r"\w", separator) is not None


def _takes_keys(loop: ast.For | ast.AsyncFor | ast.comprehension, name: str) -> bool:
    """Is this `for name, ... in x.items()`?"""
    if not isinstance(loop.iter, ast.Call) or not isinstance(loop.iter.func, ast.Attribute):
        return False
    parts = loop.target.elts if isinstance(loop.target, ast.Tuple) else []
    names = [{n.id for n in ast.walk(part) if isinstance(n, ast.Name)} for part in parts]
    return loop.iter.func.attr == "items" and len(names) == 2 and names[0] == {name} and name not in names[1]


def _stays_as_it_is(value: ast.expr) -> bool:
    """Is this certainly no collection into which something can be put?"""
    return isinstance(value, (ast.Tuple, ast.GeneratorExp, ast.Constant))


def _reads(node: ast.expr, parents: Parents) -> bool:
    """Is a collection read where it stands, so that nothing is put in and nobody else gets it?"""
    parent = parents.get(node)
    if isinstance(parent, (ast.For, ast.AsyncFor, ast.comprehension)):
        return parent.iter is node
    if isinstance(parent, ast.Call):
        return parent.func is not node and getattr(parent.func, "id", "") in _LOOKERS
    around = parents.get(parent) if parent is not None else None
    if isinstance(parent, ast.Attribute):
        return isinstance(around, ast.Call) and around.func is parent and parent.attr in _READING
    if isinstance(parent, ast.Subscript):
        return (
            parent.value is node
            and isinstance(parent.ctx, ast.Load)
            and not isinstance(around, ast.Attribute)
        )
    return isinstance(parent, (ast.Compare, ast.BinOp, ast.UnaryOp, ast.FormattedValue, ast.Starred, ast.If))


def _looked_up_on(name: ast.expr, parent: ast.AST | None) -> ast.expr | None:
    """`x` of `getattr(x, name)` and `x.__getattribute__(name)`."""
    if not isinstance(parent, ast.Call):
        return None
    if len(parent.args) > 1 and parent.args[1] is name:
        return parent.args[0]
    return parent.func.value if isinstance(parent.func, ast.Attribute) and parent.args == [name] else None


def _instance(node: ast.expr) -> ast.expr:
    """`x` of `type(x)` and `x.__class__`."""
    if isinstance(node, ast.Attribute) and node.attr == "__class__":
        return node.value
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "type" and len(node.args) == 1:
        return node.args[0]
    return node


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
