"""Answers whether a file takes what an import of another module binds there."""

from __future__ import annotations

import ast
import re

from builder.source.fields import nodes
from builder.specialize.evaluating.evaluate import Evaluator
from builder.specialize.text_index.text_search import nodes_on
from builder.specialize.unit import Unit, told
from builder.specialize.world import SpecializerWorld


@told
def takes(unit: Unit, module: str, name: str) -> bool:
    """Return whether a file takes `name` from `module`: by import, star import, as an attribute, or by a
    text."""
    last = module.rpartition(".")[2]
    for node in nodes_on(unit, name):
        if isinstance(node, ast.ImportFrom):
            taken = any(a.name == name and a not in unit.leaving for a in node.names)
            if taken and unit.absolute(node) == module:
                return True
        elif isinstance(node, ast.Attribute):
            if node.attr == name and (
                last in _called(unit, node.value) or _is_loaded(unit, node.value, module)
            ):
                return True
        elif isinstance(node, ast.Constant) and _looks_up(unit, node, name):
            return True
    return any(unit.absolute(node) == module for node in unit.scopes.root.star)


def takes_attribute(world: SpecializerWorld, path: str, module: str, name: str) -> bool:
    """Return whether a file takes a name from what an import has bound this very module to."""
    if name.encode() not in world.content(path).attributes:
        return False
    unit = world.unit(path)
    key = ("owners of attribute", path, name, str(unit.version))
    if key not in world.derived:  # many modules bind a name
        evaluator = Evaluator(world, unit)
        world.derived[key] = {
            evaluator.qualified(node.value, unit.scope_of(node))
            for node in nodes_on(unit, name)
            if isinstance(node, ast.Attribute) and node.attr == name
        }
    return module in world.derived[key]


def _is_loaded(unit: Unit, node: ast.expr, module: str) -> bool:
    """Return whether a file loads a module by its name, so that what no import binds may be this module."""
    owner = unit.scope_of(node).find(node.id) if isinstance(node, ast.Name) else None
    if owner is not None and any(b.alias is not None for b in owner.names[node.id]):  # type: ignore[attr-defined]
        return False
    loads_any = any(word in unit.text for word in (b"import_module", b"__import__", b"sys.modules"))
    return loads_any and any(b"%b%b%b" % (q, module.encode(), q) in unit.text for q in (b'"', b"'"))


def _looks_up(unit: Unit, node: ast.Constant, name: str) -> bool:
    """Return whether a text is the name, or a path to it, and an argument of a call."""
    if not isinstance(node.value, str) or re.split(r"[.:]", node.value)[-1] != name:
        return False
    return isinstance(unit.module.parents.get(node), ast.Call)


def _called(unit: Unit, base: ast.expr) -> set[str]:
    """The last names of the module that an expression may be."""
    if isinstance(base, ast.Attribute):
        return {base.attr}
    if isinstance(base, (ast.Call, ast.Subscript)):  # `import_module("a.b").name`
        texts = (n.value for n in nodes(base) if isinstance(n, ast.Constant) and isinstance(n.value, str))
        return {text.rpartition(".")[2] for text in texts}
    if not isinstance(base, ast.Name):
        return set()
    owner = unit.scope_of(base).find(base.id)
    bindings = owner.names[base.id] if owner is not None else []
    found = {base.id, *(b.alias.name.rpartition(".")[2] for b in bindings if b.alias is not None)}
    for binding in bindings:
        if isinstance(binding.value, (ast.Call, ast.Subscript, ast.Attribute)):
            found |= _called(unit, binding.value)
    return found
