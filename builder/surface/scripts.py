"""Console scripts, from every pyproject.toml of a tree."""

from __future__ import annotations

from collections.abc import Iterator

from builder.surface.model import Item, Key, Place
from builder.tree import Snapshot


def scripts(snapshot: Snapshot) -> Iterator[Item]:
    """One item for each entry of `project.scripts`; a file that is not TOML has none."""
    for path in snapshot:
        if path.rpartition("/")[2] == "pyproject.toml" and b"scripts" in snapshot[path]:
            yield from _file(path, snapshot[path])


def _file(path: str, data: bytes) -> Iterator[Item]:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        project = tomlkit.parse(data.decode("utf-8", "surrogateescape")).unwrap().get("project", {})
    except TOMLKitError:
        return
    lines = data.decode("utf-8", "surrogateescape").splitlines()
    for kind in ("scripts", "gui-scripts"):
        for name, target in sorted(project.get(kind, {}).items()):
            starts = (i for i, text in enumerate(lines, 1) if text.strip().strip('"').startswith(name))
            yield Item(Key("script", path, name), (Place(path, next(starts, 0)),), {"target": str(target)})
