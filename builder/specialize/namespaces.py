"""Who may read or write any name of a module: code that lists its own names, and whoever gets a module.

A file has a module as a value where it does not only take something from it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from builder.graph.names import absolute, package_of
from builder.source.fields import bound_name
from builder.specialize.evaluating.scopes import Imported, imported
from builder.specialize.text_index.text_search import nodes_on
from builder.specialize.unit import Unit, told
from builder.specialize.world import SpecializerWorld

#: What a module says of itself, through which nothing of it can be had.
_OF_MODULES = frozenset(["__doc__", "__file__", "__name__", "__path__", "__version__"])
#: Functions that list the names of the module at whose top they are called without an argument, or that run a
#: text as its code.
_LISTS = (b"dir", b"eval", b"exec", b"globals", b"locals", b"vars")
#: What may be done to a namespace with a name that the text shows.
_KEYED = frozenset(["get", "pop", "setdefault", "__getitem__", "__contains__"])
WRITES = frozenset(["update", "clear", "__setitem__"])


def modules_held(world: SpecializerWorld, path: str) -> frozenset[str]:
    """The modules that a file has as values, and not only to take something from them."""
    if not _may_bind_modules(world, path):
        return frozenset()
    unit = world.unit(path)
    if "modules held" not in unit.derived:  # later worlds have no more modules
        unit.derived["modules held"] = frozenset(_held(world, unit))
    held: frozenset[str] = unit.derived["modules held"]
    return held


def _may_bind_modules(world: SpecializerWorld, path: str) -> bool:
    """Whether an import of a file may bind a module of the program; most take names, and need no parsing."""
    content, package = world.content(path), package_of(path, world.names[path])
    if package not in content.binds_modules:
        content.binds_modules[package] = b"\\\n" in content.data or any(
            _is_module(world, absolute(written, package), names) for _, written, names in content.statements
        )
    return content.binds_modules[package]


def _is_module(world: SpecializerWorld, module: str, names: Sequence[str]) -> bool:
    """Whether `import module`, or `from module import names`, binds a module of the program."""
    if not names:
        return world.is_module(module.partition(".")[0])
    if not world.is_module(module):
        return False
    meant = (world.what_is(Imported(module, name)) for name in names if name != "*")
    below = (f"{module}.{name}" for name in names)
    return any(isinstance(one, str) and world.is_module(one) for one in chain(below, meant))


@told
def holds_itself(unit: Unit) -> bool:
    """Return whether a file has its own module as a value, by `sys.modules[__name__]`."""
    return any(
        isinstance(node, ast.Subscript)
        and getattr(node.value, "attr", getattr(node.value, "id", "")) == "modules"
        and getattr(node.slice, "id", "") == "__name__"
        and not isinstance(unit.module.parents.get(node), ast.Attribute)
        and not _spells_the_name(unit.module.parents.get(node))
        for node in nodes_on(unit, "modules")
    )


def _held(world: SpecializerWorld, unit: Unit) -> Iterator[str]:
    for what, name, is_package in _bound(unit):
        start = name if is_package else world.what_is(what)
        if isinstance(start, str) and world.is_module(start):
            for chain in _values(unit, name):
                if world.is_module(start + chain):
                    yield start + chain


@told
def _bound(unit: Unit) -> list[tuple[Imported, str, bool]]:
    """What the imports of a file bind at any depth, the name, and whether that is the package of a module."""
    found: dict[tuple[Imported, str, bool], None] = {}
    for node in nodes_on(unit, "import"):
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            continue
        for alias in node.names:
            if alias.name != "*":
                is_package = isinstance(node, ast.Import) and not alias.asname
                found[imported(node, alias, unit.absolute), bound_name(node, alias), is_package] = None
    return list(found)


@told
def _values(unit: Unit, name: str) -> frozenset[str]:
    """What is used as a value of what is bound to a name: "" for that itself, ".a" where it is `name.a`."""
    found: set[str] = set()
    for node in nodes_on(unit, name):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            chain, parent = "", unit.module.parents.get(node)
            while (taken := _taken(parent)) and (taken in _OF_MODULES or not taken.startswith("__")):
                chain, parent = f"{chain}.{taken}", unit.module.parents.get(parent)
            if not _spells_the_name(parent):
                found.add(chain)
    return frozenset(found)


def _taken(node: ast.AST | None) -> str:
    """The name that `x.name` or `getattr(x, "name")` takes from what it is asked of; "" for anything else."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "getattr" and len(node.args) > 1:
        return str(getattr(node.args[1], "value", ""))
    return ""


def _spells_the_name(parent: ast.AST | None) -> bool:
    """Return whether this is `setattr(module, "name", ...)`, which looks up that name alone."""
    if not isinstance(parent, ast.Call) or len(parent.args) < 2:
        return False
    called = getattr(parent.func, "id", "") in ("delattr", "getattr", "hasattr", "setattr")
    return called and isinstance(parent.args[1], ast.Constant)


@told
def lists_own_names(unit: Unit) -> bool:
    """Return whether a module lists its own names, or runs a text as its code."""
    return any(_lists(unit, node) for node in uses_of(unit, _LISTS))


def _lists(unit: Unit, node: ast.AST) -> bool:
    name = last_name(node)
    if isinstance(node, ast.alias):  # `from builtins import globals as names`
        source = unit.module.parents.get(node)
        return isinstance(source, ast.ImportFrom) and source.module == "builtins"
    if isinstance(node, ast.Attribute) and last_name(node.value) not in ("builtins", "__builtins__"):
        return False
    scope = unit.scope_of(node)
    owner = scope.find(name) if isinstance(node, ast.Name) else None
    if owner is not None and not any(binding.kind == "import" for binding in owner.names.get(name, ())):
        return False  # a local of that name
    call = unit.module.parents.get(node)
    if not isinstance(call, ast.Call) or call.func is not node:
        return True  # who gets the function may call it
    if name in ("eval", "exec"):
        return bool(call.args) and not isinstance(call.args[0], ast.Constant)
    if call.args or (name != "globals" and scope.kind != "module"):
        return False
    return not _is_keyed(unit, call)


def _is_keyed(unit: Unit, node: ast.AST) -> bool:
    """Return whether a namespace is only written to, or asked for names that the text shows."""
    parent = unit.module.parents.get(node)
    if isinstance(parent, ast.Subscript) and parent.value is node:
        return not isinstance(parent.ctx, ast.Load) or isinstance(parent.slice, ast.Constant)
    if isinstance(parent, ast.Compare) and node in parent.comparators:
        return isinstance(parent.left, ast.Constant)
    if not isinstance(parent, ast.Attribute):
        return False
    call = unit.module.parents.get(parent)
    if not isinstance(call, ast.Call) or call.func is not parent:
        return False
    shown = bool(call.args) and isinstance(call.args[0], ast.Constant)
    return parent.attr in WRITES or (parent.attr in _KEYED and shown)


def uses_of(unit: Unit, names: Iterable[bytes]) -> Iterator[ast.AST]:
    """Where a file reads one of these names, reads an attribute of that name, or imports it under another."""
    for name in (name.decode() for name in names):
        for node in nodes_on(unit, name):
            if last_name(node) == name and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
                yield node


def last_name(node: ast.AST) -> str:
    """`b` of `a.b`, `b` itself, and `b` of `from a import b as c`; "" for anything else."""
    if isinstance(node, ast.alias):
        return node.name if node.asname else ""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
