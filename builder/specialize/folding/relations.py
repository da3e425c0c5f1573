"""What the imports, plain assignments and classes of one file say of a name, by last names alone."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from builder.source.layout import suites
from builder.specialize.evaluating.names import names_of
from builder.specialize.text_index.text_search import first_line, nodes_on
from builder.specialize.unit import Unit

#: Stands for a base that the text does not name, and for `type`, whose instances are classes.
UNKNOWN = "type"

_WORD = re.compile(rb"[A-Za-z0-9_]+")


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
        known[1][name] = _related(unit, _statements_with(unit, name)).get(name, _NONE)
    return known[1][name]


_NONE = Relations()


def _all(unit: Unit) -> Mapping[str, Relations]:
    statements: list[ast.stmt] = []
    todo: list[ast.AST] = [unit.module.tree]
    while todo:
        for suite in suites(todo.pop()):
            todo += suite
            statements += suite
    return _related(unit, statements)


def _statements_with(unit: Unit, name: str) -> Iterator[ast.stmt]:
    seen: set[ast.AST] = set()
    for node in nodes_on(unit, name):
        at: ast.AST | None = node
        while at is not None and not isinstance(at, ast.stmt):
            at = unit.module.parents.get(at)
        if at is not None and at not in seen:
            seen.add(at)
            yield at


def _related(unit: Unit, statements: Iterable[ast.stmt]) -> Mapping[str, Relations]:
    """What statements say of the names in them."""
    others: defaultdict[str, set[str]] = defaultdict(set)
    heirs: defaultdict[str, set[str]] = defaultdict(set)
    bases: defaultdict[str, set[str]] = defaultdict(set)
    for node in statements:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for both in map(_both, node.names):
                for name in both:
                    others[name] |= both
        elif isinstance(node, ast.ClassDef):
            named = set(_bases(node))
            bases[node.name] |= named
            for name in named if UNKNOWN not in named else named & _words(unit, node):
                heirs[name].add(node.name)
        elif isinstance(node, ast.Assign):
            sides = [*node.targets, node.value]
            if all(isinstance(side, (ast.Name, ast.Attribute)) for side in sides):
                for name in _words(unit, node):
                    others[name].update(names_of(side)[0] for side in sides)
            elif not isinstance(node.value, (ast.Name, ast.Attribute)):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        bases[target.id].add(UNKNOWN)
    return {
        name: Relations(*(tuple(sorted(kind.get(name, ()))) for kind in (others, heirs, bases)))
        for name in (others | heirs | bases)
        if any(kind.get(name) for kind in (others, heirs, bases))
    }


def _words(unit: Unit, node: ast.stmt) -> set[str]:
    """The words on the lines of a statement."""
    starts, last = unit.module.starts, node.end_lineno or node.lineno
    words = _WORD.findall(unit.module.data, starts[first_line(node) - 1], starts[last])
    return {word.decode() for word in words}


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
