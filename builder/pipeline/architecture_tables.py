"""Tables in upstream's code that name the module of each architecture (`roots.models.tables`)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from builder.errors import fail
from builder.graph.names import path_of
from builder.manifest.model import Manifest
from builder.memo import remembered
from builder.source.parse import parse
from builder.tree import Snapshot


def rows(upstream: Snapshot, manifest: Manifest) -> Iterator[tuple[str, str]]:
    """(architecture, path of its module) of every row of the manifest's tables.

    Raises BuildError R009 for a table that cannot be read.
    """
    package = manifest.roots.model_package
    for number, qualified in enumerate(manifest.roots.tables):
        module, _, name = qualified.rpartition(".")
        path = next((p for p in path_of(module, manifest.packages) or () if p in upstream), None)
        table = _table(upstream[path], path, name) if path is not None else None
        if table is None:
            message = f"`{qualified}` is no table of architectures that can be read in upstream's code."
            raise fail("R009", message, manifest.mark("roots", "models", "tables", number))
        for architecture, short in table:
            for full in (f"{package}.{short}", short):
                yield from (
                    (architecture, p) for p in path_of(full, manifest.packages) or () if p in upstream
                )


@remembered
def _table(data: bytes, path: str, name: str) -> list[tuple[str, str]] | None:
    """(key, module) of each row `key: (module, class)` of a table at the top of a file; None without one."""
    for value in values_of(data, path, name):
        if isinstance(value, ast.Dict):
            return [
                (key.value, texts[0])
                for key, row in zip(value.keys, value.values, strict=True)
                if isinstance(key, ast.Constant) and isinstance(key.value, str) and (texts := _texts(row))
            ]
    return None


def values_of(data: bytes, path: str, name: str) -> Iterator[ast.expr]:
    """What the statements at the top of a file assign to a name; nothing for a file that is no Python."""
    try:
        tree = parse(data, path).tree
    except SyntaxError:
        return
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        if isinstance(value, ast.expr) and any(isinstance(t, ast.Name) and t.id == name for t in targets):
            yield value


def _texts(node: ast.expr) -> list[str]:
    parts = node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node]
    return [one.value for one in parts if isinstance(one, ast.Constant) and isinstance(one.value, str)]
