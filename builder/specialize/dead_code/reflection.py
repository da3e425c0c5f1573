"""The modules whose names the program may look up by names that no text shows.

A module is one of them if its own code lists its names, if a file has the module as a value, or if a file
loads modules by names that a string or a folder gives.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from builder.graph.names import packages_around
from builder.specialize.namespaces import (
    WRITES,
    holds_itself,
    last_name,
    lists_own_names,
    modules_held,
    uses_of,
)
from builder.specialize.text_index.content import Content
from builder.specialize.text_index.text_search import DEFINITIONS
from builder.specialize.unit import Unit, once, told
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

_PLAIN = rb"(?!\s*\(\s*[^,()\n]+,\s*[\"'][^\"'{}%\n]*[\"']\s*[,)])"
_LOOK_UP = re.compile(
    rb"\b(?:getattr|hasattr|getattr_static|__getattribute__)\b"
    + _PLAIN
    + rb"|\b(?:attrgetter|methodcaller|resolve_name|locate|__globals__|f_globals|f_locals)\b"
    rb"|(?<![\w.])(?:eval|exec)\s*\("
    rb"|\b(?:dir|vars|globals|locals|getmembers(?:_static)?|classify_class_attrs)\b|__dict__|__dir__"
)
#: What shows the name that is looked up in a module, and what is no module: `("module", "name")`,
#: `"module:name"`, `getLogger("module")`.
_SHOWN = re.compile(
    rb"\(\s*[\"'][\w.]+[\"']\s*,\s*[\"'][A-Za-z_]\w*[\"']\s*,?\s*\)"
    rb"|[\"'][\w.]+:[A-Za-z_][\w.]*[\"'](?!\s*[+%.])|\bgetLogger\(\s*[\"'][\w.]+[\"']\s*\)"
)
_MODULE = re.compile(rb"[\"']([A-Za-z_]\w*(?:\.\w+)*)(\.?)[\"':{%]")


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
    """Answers about one world."""

    def __init__(self, world: SpecializerWorld) -> None:
        self._world = world
        self.derived: dict[Any, Any] = {}

    @once
    def sees_module(self, unit: Unit, stated: bool = False) -> bool:
        """Return whether a name of the module may be looked up that no text shows.

        `stated`: it is a predicate whose answer the facts state. Nobody asks for it but by its name, so
        that only a module that lists its own names shows it.
        """
        return any(
            lists_own_names(each) or (not stated and (self._is_held(each) or self._is_loaded(each)))
            for each in self._showing_names_of(unit)
        )

    def listing(self, unit: Unit) -> Iterator[str]:
        """The files that have the names of the module as their own: itself, and by star imports."""
        return (each.path for each in self._showing_names_of(unit))

    def _showing_names_of(self, unit: Unit) -> Iterator[Unit]:
        """The module, and those to which star imports bring its names."""
        todo, seen = [unit.path], {unit.path}
        while todo:
            path = todo.pop()
            yield self._world.unit(path)
            further = self._world.links.stars(self._world.names[path]) - seen
            seen |= further
            todo += sorted(further)

    def _is_held(self, unit: Unit) -> bool:
        """Return whether a file has the module as a value, or a package around it, so that something may
        get it."""
        if holds_itself(unit):
            return True
        names = {unit.name, *packages_around(unit.name)}
        paths = set().union(*map(self._world.links.binders, names))
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

    @once
    def _loaders(self) -> list[_Loader]:
        """The definitions that load modules by names, and that look up names that no text shows."""
        units = map(self._world.unit, sorted(self._world.words.holding(_LOADERS)))
        return [loader for unit in units for loader in _loaders_in(unit)]

    @once
    def _named(self) -> frozenset[str]:
        """The dotted names that are strings."""
        return frozenset().union(*map(_named_in, map(self._world.content, self._world.files)))

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


@told
def _loaders_in(unit: Unit) -> tuple[_Loader, ...]:
    """The definitions of a file that load modules by names, and that look up names that no text shows."""
    texts: dict[bytes, None] = {}
    for node in uses_of(unit, _LOADERS):
        text = _text_around(unit, node)
        if looks_up(text) and (last_name(node) != "modules" or _is_asked_for_any(unit, node)):
            texts[text] = None
    return tuple(
        _Loader(unit.path, *modules_named(text), bool(_WALKS.search(text)), bool(_HERE.search(text)))
        for text in texts
    )


def _is_asked_for_any(unit: Unit, node: ast.AST) -> bool:
    """Return whether this is `sys.modules[name]`, and not this module itself."""
    parent = unit.module.parents.get(node)
    if isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Load):
        return last_name(parent.slice) != "__name__"
    return isinstance(parent, ast.Attribute) and parent.attr not in WRITES


def _text_around(unit: Unit, node: ast.AST) -> bytes:
    """The text of the definition of the module that a node is in, or all of the module."""
    module, top = unit.module, unit.top_statement(node)
    return module.data[module.start(top) : module.end(top)] if isinstance(top, DEFINITIONS) else module.data


def _named_in(content: Content) -> frozenset[str]:
    """The dotted names that strings of a file consist of."""
    return content.get(("modules named",), lambda: modules_named(content.data)[0])


def looks_up(data: bytes) -> bool:
    """Return whether something may look up an attribute by a name that the text does not show."""
    return _LOOK_UP.search(data) is not None


def modules_named(data: bytes) -> tuple[frozenset[str], frozenset[str]]:
    """Dotted names that strings consist of, and those with which a string begins that goes on after a dot.

    A string with which the text shows what is looked up in the module is left out.
    """
    whole: set[str] = set()
    begun: set[str] = set()
    for name, dot in _MODULE.findall(_SHOWN.sub(b"", data)):
        (begun if dot else whole).add(name.decode("utf-8", "replace"))
    return frozenset(whole), frozenset(begun)
