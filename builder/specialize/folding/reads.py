"""Every read in the program of a collection that has a name."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.evaluating.names import longest_word, names_of, text
from builder.specialize.evaluating.scopes import Scope
from builder.specialize.rebinding import module_exposed
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
    if module_exposed(world, module):
        return True
    unit = world.unit(world.paths[module]) if module in world.paths else None
    return unit is not None and any(
        word == "globals" or unit.scope_of(node).kind == "module"
        for word in ("globals", "locals", "vars")
        for node in nodes_on(unit, word)
        if isinstance(node, ast.Name) and node.id == word and not _has_arguments(unit, node)
    )


def _has_arguments(unit: Unit, node: ast.Name) -> bool:
    call = unit.module.parents.get(node)
    return isinstance(call, ast.Call) and call.func is node and bool(call.args)


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
