"""The modules whose names the program may look up by names that no text shows.

A module is one of them if its own code lists its names, if a file has the module as a value, or if a file
loads modules by names that a string or a folder gives.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from builder.graph.names import packages_around
from builder.specialize.held_modules import holds_itself, modules_held
from builder.specialize.own_namespace import WRITES, last_name, lists_own_names, uses_of
from builder.specialize.text_index.content_answers import AnswerCache
from builder.specialize.text_index.identifier_index import IdentifierIndex
from builder.specialize.text_index.import_index import ImportIndex
from builder.specialize.text_index.loaded_names import looks_up, modules_named
from builder.specialize.unit import Unit
from builder.specialize.world import SpecializerWorld

#: What loads a module by a name, which no import statement shows.
_LOADERS = (
    b"__import__", b"entry_points", b"exec_module", b"find_loader", b"import_module", b"load_module",
    b"locate", b"module_from_spec", b"modules", b"resolve_name", b"run_module", b"run_path",
    b"spec_from_file_location",
)  # fmt: skip
#: Where else than from strings the names of modules come: a package, or the files of a folder.
_WALKS = re.compile(rb"\b(?:iter_modules|walk_packages|listdir|scandir|r?glob|iterdir)\b|os\.walk")
_HERE = re.compile(rb"(?<![\w.])__(?:file|name|package|path)__")


class _Loader(NamedTuple):
    """A definition that loads modules by names: those that its strings name, and how others begin.

    `walks`: it goes through packages or folders; `here`: it has the name or the place of its own module.
    """

    path: str
    whole: frozenset[str]
    begun: frozenset[str]
    walks: bool
    here: bool


class Reflection:
    """Answers about one world. They hold no nodes, and outlive the syntax trees."""

    def __init__(
        self, world: SpecializerWorld, words: IdentifierIndex, links: ImportIndex, known: AnswerCache
    ) -> None:
        """`known`: what is known of contents."""
        self._world = world
        self._words = words
        self._links = links
        self._known = known
        self._answers: dict[tuple[str, bool], bool] = {}
        self._loading: list[_Loader] | None = None
        self._strings: frozenset[str] | None = None

    def sees_module(self, unit: Unit, stated: bool = False) -> bool:
        """Return whether a name of the module may be looked up that no text shows.

        `stated`: it is a predicate whose answer the facts state. Nobody asks for it but by its name, so
        that only a module that lists its own names shows it.
        """
        key = unit.path, stated
        if key not in self._answers:
            self._answers[key] = any(
                lists_own_names(each) or (not stated and self._sees(each))
                for each in self._showing_names_of(unit)
            )
        return self._answers[key]

    def listing(self, unit: Unit) -> Iterator[str]:
        """The files that have the names of the module as their own: itself, and by star imports."""
        return (each.path for each in self._showing_names_of(unit))

    def _sees(self, unit: Unit) -> bool:
        return self._is_held(unit) or self._is_loaded(unit)

    def _showing_names_of(self, unit: Unit) -> Iterator[Unit]:
        """The module, and those to which star imports bring its names."""
        todo, seen = [unit.path], {unit.path}
        while todo:
            path = todo.pop()
            yield self._world.unit(path)
            further = self._links.stars(self._world.names[path]) - seen
            seen |= further
            todo += sorted(further)

    def _is_held(self, unit: Unit) -> bool:
        """Return whether a file has the module as a value, or a package around it, so that something may
        get it."""
        if holds_itself(unit):
            return True
        names = {unit.name, *packages_around(unit.name)}
        paths = set().union(*map(self._links.binders, names))
        return any(not names.isdisjoint(modules_held(self._world, path)) for path in sorted(paths))

    # -- modules that are loaded by a name ------------------------------------------------------------

    def _is_loaded(self, unit: Unit) -> bool:
        """Return whether a definition may load the module by a name, and look up what no text shows."""
        if not self._loaders():
            return False
        packages = {unit.name, *packages_around(unit.name)}
        return unit.name in self._named() or any(
            self._finds(loader, unit, packages) for loader in self._loaders()
        )

    def _loaders(self) -> list[_Loader]:
        """The definitions that load modules by names, and that look up names that no text shows."""
        if self._loading is None:
            units = map(self._world.unit, sorted(self._words.holding(_LOADERS)))
            self._loading = [loader for unit in units for loader in _loaders_in(unit)]
        return self._loading

    def _named(self) -> frozenset[str]:
        """The dotted names that are strings."""
        if self._strings is None:
            named = (
                self._known.of(data).get(("modules named",), lambda data=data: modules_named(data)[0])  # type: ignore[misc]
                for data in self._world.files.values()
            )
            self._strings = frozenset().union(*named)
        return self._strings

    def _finds(self, loader: _Loader, unit: Unit, packages: set[str]) -> bool:
        """Return whether a definition puts the name of the module together, or goes through the modules of
        one of these packages, or through the files beside it."""
        if any(f"{unit.name}.".startswith(f"{start}.") for start in loader.begun):
            return True
        if not loader.walks:
            return False
        if loader.here and unit.path.startswith(f"{loader.path.rpartition('/')[0]}/"):
            return True
        return not packages.isdisjoint(loader.whole | modules_held(self._world, loader.path))


def _loaders_in(unit: Unit) -> tuple[_Loader, ...]:
    """The definitions of a file that load modules by names, and that look up names that no text shows."""

    def find() -> tuple[_Loader, ...]:
        texts: dict[bytes, None] = {}
        for node in uses_of(unit, _LOADERS):
            text = _text_around(unit, node)
            if looks_up(text) and (last_name(node) != "modules" or _is_asked_for_any(unit, node)):
                texts[text] = None
        return tuple(
            _Loader(unit.path, *modules_named(text), bool(_WALKS.search(text)), bool(_HERE.search(text)))
            for text in texts
        )

    return unit.told(("loaders", unit.path), find)


def _is_asked_for_any(unit: Unit, node: ast.AST) -> bool:
    """Return whether this is `sys.modules[name]`, and not this module itself."""
    parent = unit.module.parents.get(node)
    if isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Load):
        return last_name(parent.slice) != "__name__"
    return isinstance(parent, ast.Attribute) and parent.attr not in WRITES


def _text_around(unit: Unit, node: ast.AST) -> bytes:
    """The text of the definition of the module that a node is in, or all of the module."""
    module, definition = unit.module, unit.definition_around(node)
    return module.data[module.start(definition) : module.end(definition)] if definition else module.data
