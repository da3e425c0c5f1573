"""Imports that stay for what their module does when it runs, though nobody reads the names that they take.

`from package.module import name` becomes `import package.module`, so that what `name` is may leave.
"""

from __future__ import annotations

import ast

from builder.specialize.dead_code.import_effects import is_made, submodules
from builder.specialize.evaluating.names import names_of
from builder.specialize.text_index.text_search import DEFINITIONS, nodes_on
from builder.specialize.unit import Unit, told
from builder.specialize.world import SpecializerWorld

#: Functions that read every name of a module or a function, also one that an import adds.
_READ_ALL = (b"dir", b"eval", b"exec", b"globals", b"locals", b"vars")


def may_name_only(world: SpecializerWorld, unit: Unit, stmt: ast.ImportFrom) -> bool:
    """Return whether an import may take no names, and only run its module.

    `import package.module` binds `package`, which nobody may notice.
    """
    source = unit.absolute(stmt)
    if source not in world.paths or not _may_bind(world, unit, source.partition(".")[0]):
        return False
    if _is_in_class(unit, stmt):
        return False
    return not any(
        alias.name == "*" or submodules(world, source, alias.name) or is_made(world, source, alias.name)
        for alias in stmt.names
    )


def _may_bind(world: SpecializerWorld, unit: Unit, package: str) -> bool:
    """Return whether a file can bind the name of a package, so that neither it nor another file notices."""
    if any(world.words.of(unit.path)[name] for name in _READ_ALL):
        return False
    taken = world.links.stars(unit.name) or world.links.takers(unit.name, package)
    if taken or world.is_module(f"{unit.name}.{package}") or world.defines(unit.name, "__getattr__"):
        return False
    return not _uses(unit, package)


@told
def _uses(unit: Unit, name: str) -> bool:
    """Return whether a file uses a name other than in the path of an import."""
    for node in nodes_on(unit, name):
        if isinstance(node, ast.alias):
            if name in (node.asname, node.name):
                return True
        elif isinstance(node, ast.Call):
            asked = names_of(node.func)[:1] in (("getattr",), ("hasattr",))
            if asked and any(getattr(argument, "value", None) == name for argument in node.args):
                return True
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            if name in node.names:
                return True
        elif name in (getattr(node, part, None) for part in ("id", "arg", "name", "rest")):
            return True
    return False


def _is_in_class(unit: Unit, stmt: ast.stmt) -> bool:
    around = (at for _, at in unit.around(stmt) if isinstance(at, DEFINITIONS))
    return isinstance(next(around, None), ast.ClassDef)
