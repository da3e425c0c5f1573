"""The surface of a whole tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from builder.graph.modules import python_paths
from builder.graph.names import module_of
from builder.memo import recall_while
from builder.surface.model import Item, Key, Place, Surface
from builder.surface.recognise import gathered_flags, recognise
from builder.surface.scan import sights
from builder.surface.scripts import scripts
from builder.surface.values import Reader, Sources
from builder.tree import Snapshot


def surface(snapshot: Snapshot, packages: Mapping[str, str]) -> Surface:
    """The surface of the Python files and of the projects of a tree."""
    sources = Sources(snapshot, packages)
    items: dict[Key, list[Item]] = {}
    for path in python_paths(snapshot):
        for item in _recalled(sources, path):
            items.setdefault(item.key, []).append(item)
    for item in scripts(snapshot):
        items.setdefault(item.key, []).append(item)
    return {key: _merged(items[key]) for key in sorted(_settled(items))}


def _settled(items: Mapping[Key, list[Item]]) -> Iterator[Key]:
    """All keys but those of flags that belong to the parser of another module, which gathers them."""
    gathered = {
        (key.name, place)
        for key, found in items.items()
        if key.kind == "flag"
        for item in found
        for place in item.places
        if place.module and place.module != key.group
    }
    for key, found in items.items():
        places = [place for item in found for place in item.places]
        elsewhere = all(place.module == key.group and (key.name, place) in gathered for place in places)
        if key.kind != "flag" or not elsewhere:
            yield key


def _recalled(sources: Sources, path: str) -> tuple[Item, ...]:
    """The items of one file. They rest on the files that were asked for to follow its names."""

    def make() -> tuple[Mapping[str, str | None], tuple[Item, ...]]:
        asked = sources.watch()
        items = tuple(_file(sources, path))
        return asked, items

    given = (path, sources.blob(path), sources.packages)
    return recall_while("surface of a file", given, sources.blob, make)


def _file(sources: Sources, path: str) -> Iterator[Item]:
    file = sources.part(path)
    if file is None:
        return
    module = module_of(path, sources.packages) or ""
    for sight in sights(file):
        yield from recognise(sight, Reader(sources, path, module, file, sight.around.function))
    yield from gathered_flags(Reader(sources, path, module, file))


def _merged(items: list[Item]) -> Item:
    """Merges the statements of one item: all places, and the details of the first that has any."""
    places: list[Place] = []
    for item in items:
        places += [p for p in item.places if p not in places]
    telling = max(items, key=lambda i: ("type" in i.details, -items.index(i)))
    return replace(telling, places=tuple(places))
