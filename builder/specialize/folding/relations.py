"""What the imports, plain assignments and classes of one file say of a name, by last names alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from builder.source.layout import suites
from builder.specialize.evaluating.names import names_of
from builder.specialize.text_index.text_search import first_line, nodes_on
from builder.specialize.unit import Unit

#: Stands for a base that the text does not name, and for `type`, whose instances are classes.
UNKNOWN = "type"

_WORD = re.compile(rb"[A-Za-z0-9_]+")
_KINDS = (ast.Import, ast.ImportFrom, ast.Assign, ast.ClassDef)


class Relations(NamedTuple):
    """How one file relates a name to others."""

    others: tuple[str, ...] = ()  # what an import or an assignment calls the same thing
    heirs: tuple[str, ...] = ()  # the classes with a base of this name
    bases: tuple[str, ...] = ()  # the bases of each class of this name


def relations(unit: Unit, name: str) -> Relations:
    """What a file says of a name in the statements on whose lines it stands.

    It is found out for all names at once, except in a file of which something is about to leave.
    """
    state = len(unit.leaving), len(unit.hidden)
    if not any(state) and name.isascii():
        return unit.told(("relations",), lambda: _all(unit)).get(name, _NONE)
    known: tuple[tuple[int, int], dict[str, Relations]] | None
    known = unit.cache.get("relations")  # type: ignore[assignment]
    if known is None or known[0] != state:
        known = unit.cache["relations"] = state, {}
    if name not in known[1]:
        known[1][name] = _of(name, _statements_with(unit, name))
    return known[1][name]


_NONE = Relations()


def _all(unit: Unit) -> Mapping[str, Relations]:
    groups: dict[str, list[ast.stmt]] = {}
    todo: list[ast.AST] = [unit.module.tree]
    while todo:
        for node in (stmt for suite in suites(todo.pop()) for stmt in suite):
            todo.append(node)
            for name in _names(unit, node) if isinstance(node, _KINDS) else ():
                groups.setdefault(name, []).append(node)
    found = {name: _of(name, statements) for name, statements in groups.items()}
    return {name: each for name, each in found.items() if any(each)}


def _names(unit: Unit, node: ast.stmt) -> set[str]:
    """The names of which a statement may say something."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {name for alias in node.names for name in _both(alias)}
    starts, last = unit.module.starts, node.end_lineno or node.lineno
    words = _WORD.findall(unit.module.data, starts[first_line(node) - 1], starts[last])
    found = {word.decode() for word in words}
    return found & {node.name, *_bases(node)} if isinstance(node, ast.ClassDef) else found


def _statements_with(unit: Unit, name: str) -> Iterator[ast.stmt]:
    seen: set[ast.AST] = set()
    for node in nodes_on(unit, name):
        at: ast.AST | None = node
        while at is not None and not isinstance(at, ast.stmt):
            at = unit.module.parents.get(at)
        if at is not None and at not in seen:
            seen.add(at)
            yield at


def _of(name: str, statements: Iterable[ast.stmt]) -> Relations:
    others: set[str] = set()
    heirs: set[str] = set()
    bases: set[str] = set()
    for node in statements:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            others |= {each for alias in node.names if name in _both(alias) for each in _both(alias)}
        elif isinstance(node, ast.ClassDef):
            named = set(_bases(node))
            if name in named:
                heirs.add(node.name)
            if name == node.name:
                bases |= named
        elif isinstance(node, ast.Assign):
            sides = [*node.targets, node.value]
            if all(isinstance(side, (ast.Name, ast.Attribute)) for side in sides):
                others |= {names_of(side)[0] for side in sides}
            if not isinstance(node.value, (ast.Name, ast.Attribute)) and any(
                isinstance(target, ast.Name) and target.id == name for target in node.targets
            ):
                bases.add(UNKNOWN)
    return Relations(tuple(sorted(others)), tuple(sorted(heirs)), tuple(sorted(bases)))


def _both(alias: ast.alias) -> set[str]:
    last = alias.name.rpartition(".")[2]
    return {last, alias.asname or last}


def _bases(cls: ast.ClassDef) -> Iterator[str]:
    """The last names in the bases of a class."""
    for base in cls.bases:
        for node in ast.walk(base):
            if isinstance(node, (ast.Name, ast.Attribute)):
                yield names_of(node)[0]
            elif isinstance(node, ast.Call):
                yield UNKNOWN
