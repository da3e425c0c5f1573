"""Calls and patterns that give a class a field that is declared absent: by its position, or in a dict."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from builder.specialize.dead_code.class_statements import Class, defines_method
from builder.specialize.dead_code.hierarchy import Hierarchy
from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.names import names_of, text
from builder.specialize.evaluating.own_class import is_own_class
from builder.specialize.folding.reads import names_given
from builder.specialize.leftovers import Leftover, use_of
from builder.specialize.text_index.text_search import nodes_on
from builder.specialize.unit import Unit
from builder.specialize.world import SpecializerWorld

#: Functions that call what they are given first, with what they are given besides.
_CALLERS = frozenset(["functools.partial", "functools.partialmethod", "itertools.starmap", "map"])
_LAST_OF_CALLERS = frozenset((name.rpartition(".")[2],) for name in _CALLERS)


class Makers:
    """Remembers what makes objects of a class: each of its fields asks for that."""

    def __init__(self, world: SpecializerWorld) -> None:
        self.world = world
        self._named: dict[ast.ClassDef, list[tuple[Unit, ast.AST]]] = {}
        self._own: dict[ast.ClassDef, list[ast.Call]] = {}

    def by_name(self, cls: Class) -> list[tuple[Unit, ast.AST]]:
        """The calls and patterns that name the class."""
        if cls.node not in self._named:
            self._named[cls.node] = list(_makes(self.world, cls))
        return self._named[cls.node]

    def inside(self, cls: Class) -> list[ast.Call]:
        """The calls in the class that make an object of its own."""
        if cls.node not in self._own:
            calls = (node for node in ast.walk(cls.node) if isinstance(node, ast.Call))
            self._own[cls.node] = [call for call in calls if is_own_class(call.func, cls.unit)]
        return self._own[cls.node]


def given_uses(
    makers: Makers,
    hierarchy: Hierarchy,
    cls: Class,
    field: str,
    name: str,
    before: Callable[[str], Unit | None],
) -> Iterator[Leftover]:
    """Calls and patterns that give a field that is gone, or whose positions count it.

    `before`: a file as upstream has it.
    """
    upstream = before(cls.unit.path)
    if upstream is None or field not in _fields(upstream, cls.node.name):
        return
    if _is_passed_on(upstream, hierarchy, cls, field):
        yield use_of(cls.unit, cls.node, f"{cls.node.name}({field})", name, cls.scope.qualname)
    at = _fields(upstream, cls.node.name).index(field)
    tuple_like = any((names_of(base) or ("",))[0] == "NamedTuple" for base in cls.node.bases)
    heirs = hierarchy.heirs(cls)
    for heir in (cls, *heirs):
        for unit, node in makers.by_name(heir):
            positions = _positions(node, unit)
            counted = positions is not None and (positions > at or tuple_like)
            if counted or _says_key(node, field) or _hands_key(makers.world, unit, node, field):
                yield use_of(unit, node, f"{heir.node.name}({field})", name, unit.scope_of(node).qualname)
    yield from _replaced(makers.world, cls, field, name)
    for each in (*hierarchy.lineage(cls).classes, *heirs):
        calls = [*makers.inside(each), *(_base_calls(each.node) if each in heirs else ())]
        for call in calls:
            positions = _positions(call, each.unit)
            if positions is not None and (positions > at or tuple_like):
                yield use_of(each.unit, call, f"{cls.node.name}({field})", name, each.scope.qualname)


def _says_key(node: ast.AST, field: str) -> bool:
    """Does a call unpack a dict that has a field as a key: `Args(**{"mode": 1})`?"""
    unpacked = [k.value for k in getattr(node, "keywords", ()) if k.arg is None]
    keys = (key for value in unpacked if isinstance(value, ast.Dict) for key in value.keys)
    if any(key is not None and text(key) == field for key in keys):
        return True
    made = (value for value in unpacked if isinstance(value, ast.Call) and names_of(value.func) == ("dict",))
    return any(keyword.arg == field for value in made for keyword in value.keywords)


def _hands_key(world: SpecializerWorld, unit: Unit, node: ast.AST, field: str) -> bool:
    """Does a call unpack a dict that has a name, and that gets a field as a key or from who calls?"""
    for keyword in getattr(node, "keywords", ()):
        names = names_of(keyword.value)[:1] if keyword.arg is None else ()
        if names and _gets_key(unit, names[0], field):
            return True
        function = unit.scope_of(node).node
        arguments = getattr(function, "args", None)
        handed = arguments is not None and arguments.kwarg is not None and names == (arguments.kwarg.arg,)
        if handed and isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            around = unit.scope_of(function)
            made = around.qualname.rpartition(".")[2] if function.name == "__init__" else function.name
            if _is_called_with(world, made, field):
                return True
    return False


def _gets_key(unit: Unit, name: str, field: str) -> bool:
    """Does a file put a key into a dict of this name: by what it assigns, by an item, by `update`?"""
    for node in nodes_on(unit, name):
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(names_of(target)[:1] == (name,) for target in targets) and _has_key(node.value, field):
                return True
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            if names_of(node.value)[:1] == (name,) and text(node.slice) == field:
                return True
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            fills = node.func.attr in ("setdefault", "update") and names_of(node.func.value)[:1] == (name,)
            said = [text(argument) for argument in node.args[:1]]
            if fills and (said == [field] or any(_has_key(part, field) for part in (node, *node.args))):
                return True
    return False


def _has_key(node: ast.AST | None, field: str) -> bool:
    """Does an expression make a dict with a key: `{"mode": 1}`, `dict(mode=1)`, `{**a, "mode": 1}`?"""
    for part in ast.walk(node) if node is not None else ():
        if isinstance(part, ast.Dict) and any(key is not None and text(key) == field for key in part.keys):
            return True
        if isinstance(part, ast.Call) and any(keyword.arg == field for keyword in part.keywords):
            return True
    return False


def _is_called_with(world: SpecializerWorld, function: str, field: str) -> bool:
    """Does a call of what has this last name give a keyword?"""
    return any(
        isinstance(node, ast.Call)
        and names_of(node.func)[:1] == (function,)
        and any(keyword.arg == field for keyword in node.keywords)
        for unit in _units(world, function)
        if field.encode() in world.words.of(unit.path)
        for node in nodes_on(unit, function)
    )


def _replaced(world: SpecializerWorld, cls: Class, field: str, name: str) -> Iterator[Leftover]:
    """Calls of `replace` that give a field of which no other class has one of this name."""
    uses: list[tuple[Unit, ast.AST]] = []
    for unit in _units(world, field):
        for node in nodes_on(unit, field):
            if isinstance(node, ast.AnnAssign) and names_of(node.target)[:1] == (field,):
                return
            replaces = isinstance(node, ast.Call) and names_of(node.func)[:1] in (("replace",), ("_replace",))
            if replaces and any(keyword.arg == field for keyword in node.keywords):  # type: ignore[attr-defined]
                uses.append((unit, node))
    for unit, node in uses:
        yield use_of(unit, node, f"{cls.node.name}({field})", name, unit.scope_of(node).qualname)


def _makes(world: SpecializerWorld, cls: Class) -> Iterator[tuple[Unit, ast.AST]]:
    """The calls and patterns that name a class, also under the name that an import or assignment gives it."""
    for called in sorted(names_given(world, cls.node.name)):
        for unit in _units(world, called):
            evaluator = Evaluator(world, unit)
            for node in nodes_on(unit, called):
                if isinstance(node, (ast.Call, ast.MatchClass)) and _names(evaluator, node, cls.qualified):
                    yield unit, node
                elif isinstance(node, (ast.Assign, ast.Call, ast.Return)):
                    yield from _handed_on(evaluator, node, cls.qualified)


def _handed_on(
    evaluator: Evaluator, node: ast.Assign | ast.Call | ast.Return, qualified: str
) -> Iterator[tuple[Unit, ast.AST]]:
    """The calls of the class by who gets it: another name, who calls a function, a parameter."""
    if isinstance(node, ast.Call):
        yield from _called_inside(evaluator, node, qualified)
    elif node.value is not None and _is_class(evaluator, node.value, qualified):
        if isinstance(node, ast.Return):
            function = evaluator.unit.scope_of(node).qualname.rpartition(".")[2]
            yield from _calls_of_result(evaluator.world, function)
        else:
            for other in sorted({name for target in node.targets for name in names_of(target)[:1]}):
                yield from _calls_of(evaluator.world, evaluator.unit, other, node)


def _calls_of(
    world: SpecializerWorld, unit: Unit, name: str, assigned: ast.Assign
) -> Iterator[tuple[Unit, ast.AST]]:
    """The calls of a class under a name that a file gives it; an attribute may be called in any file."""
    bare = isinstance(assigned.targets[0], ast.Name) and unit.scope_of(assigned).kind != "class"
    for at in [unit] if bare else _units(world, name):
        for node in nodes_on(at, name):
            called = isinstance(node, ast.Call) and names_of(node.func)[:1] == (name,)
            if called and isinstance(node.func, ast.Name if bare else ast.Attribute):  # type: ignore[attr-defined]
                yield at, node


def _calls_of_result(world: SpecializerWorld, function: str) -> Iterator[tuple[Unit, ast.AST]]:
    """`args_class()(1, 2)`: the calls of what a function returns."""
    for at in _units(world, function):
        for node in nodes_on(at, function):
            made = isinstance(node, ast.Call) and isinstance(node.func, ast.Call)
            if made and names_of(node.func.func)[:1] == (function,):  # type: ignore[attr-defined]
                yield at, node


def _called_inside(evaluator: Evaluator, call: ast.Call, qualified: str) -> Iterator[tuple[Unit, ast.AST]]:
    """The calls of a parameter in a function of the program that gets the class."""
    given = [(index, None, value) for index, value in enumerate(call.args)]
    named = [(None, keyword.arg, keyword.value) for keyword in call.keywords]
    handed = [each for each in (*given, *named) if _is_class(evaluator, each[2], qualified)]
    if not handed:
        return
    called = evaluator.qualified(call.func, evaluator.unit.scope_of(call))
    module, _, name = called.rpartition(".") if isinstance(called, str) else ("", "", "")
    unit = next((each for each in _units(evaluator.world, name) if each.name == module), None)
    if unit is None:
        return
    for binding in unit.scopes.root.names.get(name, ()):
        if not isinstance(binding.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        arguments = binding.node.args
        plain = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
        for index, keyword, _ in handed:
            parameter = keyword if index is None else dict(enumerate(plain)).get(index)
            for node in ast.walk(binding.node):
                if isinstance(node, ast.Call) and getattr(node.func, "id", None) == parameter:
                    hands_on = any(isinstance(argument, ast.Starred) for argument in node.args)
                    yield (evaluator.unit, call) if hands_on else (unit, node)


def _units(world: SpecializerWorld, name: str) -> Iterator[Unit]:
    """The files that hold a name, but for those that are no Python."""
    for path in world.words.holders(name.encode()):
        try:
            yield world.unit(path)
        except SyntaxError:
            continue


def _is_class(evaluator: Evaluator, node: ast.expr, qualified: str) -> bool:
    return evaluator.qualified(node, evaluator.unit.scope_of(node)) == qualified


def _hands_to_caller(evaluator: Evaluator, node: ast.Call, qualified: str) -> bool:
    """Is this `partial(Args, 1)`, `map(Args, rows)`, or `Args.__init__(self, 1)`?"""
    func = node.func
    if isinstance(func, ast.Attribute) and func.attr in ("__init__", "_make"):
        return _is_class(evaluator, func.value, qualified)
    called = evaluator.qualified(func, evaluator.unit.scope_of(node))
    return called in _CALLERS and bool(node.args) and _is_class(evaluator, node.args[0], qualified)


def _base_calls(cls: ast.ClassDef) -> Iterator[ast.Call]:
    """The calls of `super().__init__` in a class."""
    for node in ast.walk(cls):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "__init__":
            owner = node.func.value  # type: ignore[attr-defined]
            if isinstance(owner, ast.Call) and names_of(owner.func) == ("super",):
                yield node


def _fields(unit: Unit, cls: str) -> list[str]:
    """The annotated names of a class at the top of a file, in order."""
    return unit.told(("fields", cls), lambda: _annotated(unit, cls))


def _annotated(unit: Unit, cls: str) -> list[str]:
    for stmt in unit.module.tree.body:
        if isinstance(stmt, ast.ClassDef) and stmt.name == cls:
            return [
                inner.target.id
                for inner in stmt.body
                if isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name)
            ]
    return []


def _is_passed_on(upstream: Unit, hierarchy: Hierarchy, cls: Class, field: str) -> bool:
    """Is a field an `InitVar`, which `__post_init__` gets by its position?"""
    for node in nodes_on(upstream, field):
        if isinstance(node, ast.AnnAssign) and names_of(node.target)[:1] == (field,):
            family = (cls, *hierarchy.heirs(cls))
            given = any(defines_method(each.node, "__post_init__") for each in family)
            return given and "InitVar" in ast.unparse(node.annotation)
    return False


def _positions(node: ast.AST, unit: Unit) -> float | None:
    """How many positions a call or a pattern gives; None for anything else.

    Of a function that hands on all that it is given nobody knows; its callers name what they give.
    """
    if isinstance(node, ast.Call):
        if names_of(node.func)[:1] in (*_LAST_OF_CALLERS, ("_make",)):
            return float("inf")
        starred = [argument.value for argument in node.args if isinstance(argument, ast.Starred)]
        handed_on = [value for value in starred if _is_vararg(value, unit)]
        return float("inf") if len(handed_on) < len(starred) else len(node.args) - len(starred)
    return len(node.patterns) if isinstance(node, ast.MatchClass) else None


def _is_vararg(node: ast.expr, unit: Unit) -> bool:
    """Is this the `*args` of the function around it?"""
    function = unit.scope_of(node).node
    arguments = getattr(function, "args", None)
    vararg = arguments.vararg if arguments is not None else None
    return vararg is not None and isinstance(node, ast.Name) and node.id == vararg.arg


def _names(evaluator: Evaluator, node: ast.AST, qualified: str) -> bool:
    if isinstance(node, ast.Call) and _hands_to_caller(evaluator, node, qualified):
        return True
    named = node.func if isinstance(node, ast.Call) else node.cls  # type: ignore[attr-defined]
    return evaluator.qualified(named, evaluator.unit.scope_of(node)) == qualified
