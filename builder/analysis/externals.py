"""The imports of a project's code from elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from builder.analysis.indexed_tree import IndexedTree
from builder.analysis.projects import Project
from builder.manifest.model import Manifest

#: imported module -> (file, line, whether it may fail) of each place
Uses = Mapping[str, list[tuple[str, int, bool]]]


def externals(world: IndexedTree, project: Project, manifest: Manifest) -> Uses:
    """Return what a project's Python imports, by statement or by constant name, that is not its own.

    Imports for type checkers alone do not count.
    """
    uses: dict[str, list[tuple[str, int, bool]]] = {}
    own = {*project.packages, *sys.stdlib_module_names, "__future__"}
    for path, summary in world.summaries.items():
        if not path.startswith(project.folder):
            continue
        rows = [
            (f"{i.target}.{i.name}" if i.name and not i.star else i.target, i.line, i.tried)
            for i in summary.imports
            if i.kind != "typing"
        ]
        rows += [(d.argument, d.line, True) for d in summary.dynamic if d.argument and "*" not in d.argument]
        for module, line, tried in rows:
            if module.partition(".")[0] not in own:
                uses.setdefault(module, []).append((path, line, tried))
    return uses
