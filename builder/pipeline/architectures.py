"""The closed set of architectures: those of model files that leave never occur.

Tables in upstream's code name the module of each architecture (`roots.models.tables`), or the files of the
models do.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import replace

from builder.adapter import ENTRY
from builder.errors import fail
from builder.graph.names import path_of
from builder.manifest.model import Manifest
from builder.memo import remembered
from builder.select.rules import package_folder
from builder.source.parse import parse
from builder.specialize.evaluating.facts import Facts
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


def facts_of(manifest: Manifest, upstream: Snapshot, kept: Iterable[str], removed: Iterable[str]) -> Facts:
    """The manifest's facts, with the architectures of the `removed` paths as absent values where it says so.

    One that is a part of the name of another that stays is left: a test for a part (`"Llama" in name`) is not
    told from one for the whole name.
    """
    facts = Facts.of(manifest)
    if not any(option.removed_models for option in facts.options):
        return facts
    staying = architectures(upstream, kept, manifest)
    left = architectures(upstream, removed, manifest)
    gone = {name for name in left if not any(name in other for other in staying)}
    options = (
        replace(option, values=(*option.values, *sorted(gone))) if option.removed_models else option
        for option in facts.options
    )
    return replace(facts, options=tuple(options))


def architectures(upstream: Snapshot, paths: Iterable[str], manifest: Manifest) -> frozenset[str]:
    """The names of the architectures of the model files among `paths`. Raises as `registered` does."""
    return frozenset().union(*registered(upstream, paths, manifest).values())


def registered(upstream: Snapshot, paths: Iterable[str], manifest: Manifest) -> dict[str, set[str]]:
    """path -> the architectures that the model file registers, for each that registers some.

    The others hold what models share. The manifest's tables say which, or the files do under the adapter's
    `ENTRY`. Raises BuildError R009 for a table that cannot be read.
    """
    named: dict[str, set[str]] = {}
    if manifest.roots.tables:
        chosen = set(paths)
        for name, path in rows(upstream, manifest):
            if path in chosen:
                named.setdefault(path, set()).add(name)
        return named
    folder = f"{package_folder(manifest, manifest.roots.model_package)}/"
    for path in paths:
        registers = path.startswith(folder) and path.endswith(".py") and ENTRY.encode() in upstream[path]
        if registers and (names := _entries(upstream[path], path)):
            named[path] = names
    return named


@remembered
def _entries(data: bytes, path: str) -> set[str]:
    values = values_of(data, path, ENTRY)
    return {node.id for value in values for node in ast.walk(value) if isinstance(node, ast.Name)}
