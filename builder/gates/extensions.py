"""G008: compiled extension modules and the Python that uses them stay or leave together.

The code of an extension can be neither read nor edited here. What is known of it: the Python that imports or
names it, the name of its file, and the modules that its bytes name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from builder.analysis.indexed_tree import IndexedTree
from builder.analysis.removals import Removals
from builder.errors import Mark, Problem
from builder.graph.modules import Summary
from builder.graph.names import is_test, module_of
from builder.graph.resolve import Index
from builder.manifest.model import Manifest
from builder.memo import remembered
from builder.tree import Snapshot

#: What follows the name of a module in the name of an extension's file.
_SUFFIX = re.compile(r"(?:\.cpython-[^./]*|\.abi3)?\.(?:so|pyd)$")


def modules(snapshot: Snapshot, packages: Mapping[str, str]) -> dict[str, str]:
    """Module name -> path of the compiled extensions in the packages."""
    named = {path: module_of(_SUFFIX.sub(".py", path), packages) for path in snapshot if _SUFFIX.search(path)}
    return {module: path for path, module in named.items() if module is not None}


def check(before: IndexedTree, after: IndexedTree, manifest: Manifest, removals: Removals) -> list[Problem]:
    """Uses of extensions that left, extensions that nothing uses any more, and modules that they lack."""
    old = modules(before.snapshot, manifest.packages)
    if not old:
        return []
    new = modules(after.snapshot, manifest.packages)
    removed = {module for module in old if module not in new and not after.index.has_module(module)}
    used_before, used_after = _uses(before, old, old), _uses(after, old, new)
    problems: list[Problem] = []
    for module in sorted(removed):
        removal = removals.path(old[module])
        for path, line in used_after.get(module, ()):
            message = f"{path}:{line} loads the extension {module}, which is not in the output."
            mark, hint = (
                removal.mark if removal else None,
                "remove this use by an edit, or keep the extension",
            )
            problems.append(after.problem("G008", path, line, message, mark, hint))
    for module, path in new.items():
        if module in used_before and module not in used_after:
            message = f"The extension {path} stays, and the Python that loads it left."
            hint = f"remove it by a rule, or keep {used_before[module][0][0]}"
            problems.append(Problem("G008", message, upstream=Mark(path), hint=hint))
    for path in new.values():
        problems += _lacking(path, after.snapshot[path], before.index, after.index)
    return problems


def _uses(
    tree: IndexedTree, extensions: Collection[str], there: Collection[str]
) -> dict[str, list[tuple[str, int]]]:
    """Extension -> the places outside tests that name it in a string of its own or import it; an import that
    catches its failure is no use of one that is not `there`."""
    places: dict[str, list[tuple[str, int]]] = {}
    for path, summary in tree.summaries.items():
        for module, line, tried in () if is_test(path) else _names(summary):
            if module in extensions and not (tried and module not in there):
                places.setdefault(module, []).append((path, line))
    return places


def _names(summary: Summary) -> Iterator[tuple[str, int, bool]]:
    for item in summary.imports:
        if item.kind != "typing":
            yield item.target, item.line, item.tried
            if item.name:
                yield f"{item.target}.{item.name}", item.line, item.tried
    for reference in summary.references:
        yield reference.name, reference.line, False


def _lacking(path: str, data: bytes, before: Index, after: Index) -> Iterator[Problem]:
    """The modules that the bytes of an extension name and the output does not have."""
    names = _named_in(data, tuple(sorted(before.tops)))
    for module in sorted(filter(None, {_module(name, before) for name in names})):
        if not after.has_module(module):
            message = f"The extension {path} names the module {module}, which is not in the output."
            hint = "remove the extension by a rule, or keep the module"
            yield Problem("G008", message, upstream=Mark(path), hint=hint)


@remembered
def _named_in(data: bytes, tops: tuple[str, ...]) -> frozenset[str]:
    """The texts in the bytes of an extension that begin like names of modules of these packages."""
    packages = b"|".join(re.escape(top.encode()) for top in tops)
    named = re.findall(rb"\b(?:%b)(?:\.[A-Za-z_][A-Za-z0-9_]*)+" % packages, data)
    return frozenset(run.decode() for run in named)


def _module(name: str, index: Index) -> str | None:
    """The longest module at the start of a text: in a binary, the next text may follow without a gap."""
    for end in range(len(name), 0, -1):
        if "." in name[:end] and index.has_module(name[:end]):
            return name[:end]
    return None
