"""The surface of a whole tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from builder.graph.modules import python_paths
from builder.graph.names import module_of
from builder.memo import recall
from builder.surface.model import Item, Key, Place, Surface
from builder.surface.recognise import gathered_flags, recognise
from builder.surface.scan import sights
from builder.surface.values import Reader, Sources
from builder.tree import Snapshot
from builder.upstream.commits import project_table


def surface(snapshot: Snapshot, packages: Mapping[str, str]) -> Surface:
    """The surface of the Python files and of the projects of a tree."""
    sources = Sources(snapshot, packages)
    return recall("surface of a tree", (snapshot.tree.id, packages), lambda: _surface(sources))


def _surface(sources: Sources) -> Surface:
    snapshot = sources.snapshot
    items: dict[Key, list[Item]] = {}
    for path in python_paths(snapshot):
        for item in _of_file(sources, path):
            items.setdefault(item.key, []).append(item)
    for path in snapshot:
        if path.rpartition("/")[2] == "pyproject.toml" and b"scripts" in snapshot[path]:
            for item in _scripts(path, snapshot[path]):
                items.setdefault(item.key, []).append(item)
    return {key: _merged(items[key]) for key in sorted(_settled(items))}


def _of_file(sources: Sources, path: str) -> Iterator[Item]:
    """The items of one file."""
    file = sources.part(path)
    if file is not None:
        module = module_of(path, sources.packages) or ""
        for sight in sights(file):
            yield from recognise(sight, Reader(sources, path, module, file, sight.around.function))
        yield from gathered_flags(Reader(sources, path, module, file))


def _scripts(path: str, data: bytes) -> Iterator[Item]:
    """The console scripts of a pyproject.toml; a file that is not TOML has none."""
    project = project_table(data).get("project", {})
    for kind in ("scripts", "gui-scripts"):
        for name, target in sorted(project.get(kind, {}).items()):
            lines = enumerate(data.decode().splitlines(), 1)
            line = next((n for n, line in lines if line.strip().strip('"').startswith(name)), 0)
            yield Item(Key("script", path, name), (Place(path, line),), {"target": str(target)})


def _settled(items: Mapping[Key, list[Item]]) -> Iterator[Key]:
    """All keys but those of flags that belong to the parser of another module, which gathers them."""
    flags = {key: [p for i in items[key] for p in i.places] for key in items if key.kind == "flag"}
    gathered = {
        (key.name, place)
        for key, places in flags.items()
        for place in places
        if place.module and place.module != key.group
    }
    for key in items:
        places = flags.get(key)
        if places is None or not all(p.module == key.group and (key.name, p) in gathered for p in places):
            yield key


def _merged(items: list[Item]) -> Item:
    """Merges the statements of one item: all places, and the details of the first that has any."""
    places = dict.fromkeys(place for item in items for place in item.places)
    telling = max(items, key=lambda i: ("type" in i.details, -items.index(i)))
    return replace(telling, places=tuple(places))
