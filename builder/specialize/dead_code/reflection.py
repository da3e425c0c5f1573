"""Whose attributes the program may look up by names that no text shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from builder.specialize.dead_code.class_statements import Class, defines_method
from builder.specialize.dead_code.hierarchy import ENUMS, Hierarchy
from builder.specialize.dead_code.look_ups import LookUps, Site
from builder.specialize.dead_code.places import Places
from builder.specialize.held_modules import holds_itself, modules_held
from builder.specialize.text_index.glance import Glances
from builder.specialize.text_index.identifier_index import IdentifierIndex
from builder.specialize.text_index.import_index import ImportIndex
from builder.specialize.unit import Unit
from builder.specialize.world import SpecializerWorld

#: Bases outside of the program that say nothing of what an object is.
_NEUTRAL = frozenset(["abc.ABC", "object", "typing.Generic", "typing.Protocol"])


class Reflection:
    """Answers about the look-ups of one world. They hold no nodes, and outlive the syntax trees."""

    def __init__(
        self,
        world: SpecializerWorld,
        words: IdentifierIndex,
        links: ImportIndex,
        glances: Glances,
        hierarchy: Hierarchy,
    ) -> None:
        self._world = world
        self._words = words
        self._links = links
        self._glances = glances
        self._hierarchy = hierarchy
        self._holding: list[str] | None = None
        self._answers: dict[object, bool] = {}
        self._unlimited: bool | None = None
        self._passing: dict[str, bool] = {}
        self._places = Places(world, links, hierarchy)

    def sees_class(self, cls: Class) -> bool:
        """May a method of the class be looked up by a name that no text shows?"""
        key = cls.place
        if key not in self._answers:
            self._answers[key] = self._sees_class(cls)
        return self._answers[key]

    def sees_module(self, unit: Unit, is_class: bool = True) -> bool:
        """May a definition of the module be looked up by a name that no text shows?

        Not `is_class`: it certainly is none, so that who looks for classes alone does not find it.
        """
        key = unit.path, is_class
        if key not in self._answers:
            self._answers[key] = any(
                self._sees_module(each, is_class) for each in self._showing_names_of(unit)
            )
        return self._answers[key]

    # -- whom a look-up may mean -------------------------------------------------------------------

    def _sees_class(self, cls: Class) -> bool:
        if self._sees_everything():
            return True
        heirs, _ = self._hierarchy.heirs(cls)
        family: dict[str, Class] = {}
        for each in (cls, *heirs):
            family.update((known.qualified, known) for known in self._hierarchy.lineage(each).classes)
        return any(
            site.name in family
            if site.owner == "class"
            else site.owner == "any" and self._inherits_from_outside(family, site.outside)
            for _, site in self._sites()
        )

    def _sees_everything(self) -> bool:
        """Is there a look-up on an object that may be of any class?

        Where it has its object from is not asked: too many ways lead there.
        """
        if self._unlimited is None:
            self._unlimited = any(site.owner == "any" and not site.outside for _, site in self._sites())
        return self._unlimited

    def _inherits_from_outside(self, family: dict[str, Class], outside: str) -> bool:
        """May a class of the family inherit from this class outside of the program?"""
        others = _NEUTRAL if outside.startswith("enum.") else _NEUTRAL | ENUMS
        lineages = map(self._hierarchy.lineage, family.values())
        return any(each.open or each.external - others for each in lineages)

    def _sees_module(self, unit: Unit, is_class: bool) -> bool:
        unknown = False
        for path, site in self._sites():
            if is_class or not site.classes:
                if self._shows_module(path, site, unit):
                    return True
                unknown = unknown or site.owner == "any"
        return (unknown or self._hierarchy.reaches_others()) and self._is_held(unit)

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
        """Does a file have the module as a value, so that something may get it?"""
        if holds_itself(unit):
            return True
        last = unit.name.rpartition(".")[2].encode()
        return any(
            unit.name in modules_held(self._world, self._world.unit(path))
            for path in sorted(self._words.holding([last]))
        )

    def _shows_module(self, path: str, site: Site, unit: Unit) -> bool:
        """May a look-up be in this module, whether or not a file has the module as a value?"""
        if site.owner == "module":
            return site.name == unit.name
        if site.owner in ("class", "none"):
            return False
        if site.start and unit.name.startswith(site.start):
            return True
        if site.owner == "around":
            return unit.path in self._places.of(path, site)
        if site.owner == "loaded":
            near = site.here and unit.path.startswith(f"{path.rpartition('/')[0]}/")
            return near or any(
                self._names_package(p, unit, site.walks) for p in sorted(self._places.of(path, site))
            )
        return False

    def _names_package(self, path: str, unit: Unit, walks: bool) -> bool:
        """Does a file name the module in a string, or have a package as a value that it lies in?"""
        parts = unit.name.split(".")
        whole, begun = self._glances.of(path, self._world.files[path]).modules
        if unit.name in whole:
            return True
        if not walks:
            return False
        packages = {".".join(parts[:end]) for end in range(2, len(parts) + 1)}
        held = modules_held(self._world, self._world.unit(path))
        return not packages.isdisjoint(whole | begun) or not held.isdisjoint({parts[0], *packages})

    # -- the look-ups ---------------------------------------------------------------------------------

    def _sites(self) -> Iterator[tuple[str, Site]]:
        if self._holding is None:
            self._holding = [
                path
                for path, data in sorted(self._world.files.items())
                if self._glances.of(path, data).look_ups
            ]
        for path in self._holding:
            unit = self._world.unit(path)
            found: list[Site] | None = unit.cache.get("look-ups")  # type: ignore[assignment]
            if found is None:
                look_ups = self._glances.of(path, unit.text).look_ups
                sites = dict.fromkeys(LookUps(self._world, unit, self._words).find(look_ups))
                found = unit.cache["look-ups"] = list(sites)
            for site in found:
                if not any(low <= site.lines[0] and site.lines[1] <= high for low, high in unit.hidden):
                    yield path, site
                    if site.owner == "class" and self._passes_on(site.name):
                        # the objects of the class ask others, which may be of any class
                        yield path, replace(site, owner="any")

    def _passes_on(self, name: str) -> bool:
        """Does a class, or what it inherits from or what inherits from it, say what an attribute is?"""
        if name not in self._passing:
            classes = self._hierarchy.named(name)
            family = [each for cls in classes for each in (cls, *self._hierarchy.heirs(cls)[0])]
            every = (known for each in family for known in self._hierarchy.lineage(each).classes)
            self._passing[name] = any(
                defines_method(known.node, method)
                for known in every
                for method in ("__getattr__", "__getattribute__")
            )
        return self._passing[name]
