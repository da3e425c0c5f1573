"""The surface of upstream and output, and the module of the output that is made from the difference."""

from __future__ import annotations

from builder.analysis.removals import Removals
from builder.analysis.surface_diff import Surfaces, compare
from builder.emit import removed_features
from builder.errors import BuildError, Problem
from builder.manifest.model import Manifest
from builder.pipeline.prune import python_modules
from builder.select.rules import Selection
from builder.surface.model import Surface
from builder.tree import Snapshot


def surface_files(upstream: Snapshot, selection: Selection, manifest: Manifest) -> Snapshot:
    """The files of upstream that have a surface to compare: the packages, other Python that may stay, and
    every project file."""
    modules = python_modules(upstream, manifest.packages)
    projects = [p for p in upstream if p.rpartition("/")[2] == "pyproject.toml"]
    return upstream.restrict(sorted({*modules, *staying_python(selection), *projects}))


def staying_python(selection: Selection) -> list[str]:
    """The Python files that no rule removes, those outside the packages among them."""
    return [p for p in (*selection.kept, *selection.prunable, *selection.by_reach) if p.endswith(".py")]


def surfaces(
    before: Snapshot,
    old: Surface,
    output: Snapshot,
    manifest: Manifest,
    removals: Removals,
) -> Surfaces:
    """Both surfaces and their differences; `old`: what the files of `before` offer."""
    return compare(before, old, output, manifest, removals)


def with_tables(output: Snapshot, found: Surfaces, manifest: Manifest) -> Snapshot:
    """The output with the tables of what left in the files of ours that ask for them.

    Raises BuildError (R004) for a file of ours that has no place for one of the tables.
    """
    wanted = [f for b in manifest.batches for f in b.files if f.tables and f.path in output]
    if not wanted:
        return output
    problems = [
        Problem("R004", f"{f.overlay} is to be filled, and assigns no `{name} = ...` on one line.", f.mark)
        for f in wanted
        for name in removed_features.missing(output[f.path])
    ]
    if problems:
        raise BuildError(problems)
    values = removed_features.tables(found, manifest, manifest.roots.command_line)
    return output.replace({f.path: removed_features.filled(output[f.path], values) for f in wanted})
