"""What the output is compared with: the surface of upstream, and what its native code has itself.

It follows from upstream and the selection alone and nobody asks for it before specialization, so a second
process works it out beside the cut.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from builder.analysis.surface_diff import Surfaces
from builder.emit import removed_features
from builder.errors import BuildError, Problem
from builder.graph.modules import Summary, summaries
from builder.manifest.model import Manifest
from builder.native import gate as native
from builder.parallel import Future
from builder.pipeline.prune import python_modules
from builder.pipeline.run import Run
from builder.select.rules import Selection
from builder.surface.extract import surface
from builder.surface.model import Surface
from builder.tree import Snapshot


@dataclass(frozen=True, slots=True)
class Compared:
    """`removed`: the summaries of the Python that rules remove; `findings`: of upstream's native code."""

    removed: Mapping[str, Summary]
    surface: Surface
    findings: tuple[native.Finding, ...]


def compare_beside(
    run: Run, files: Snapshot, selection: Selection, packages: Mapping[str, str]
) -> Future[Compared]:
    """Begin to work out what the output is compared with; `files`: those that have a surface."""
    removed = sorted({*python_modules(run.upstream, packages)} - {*staying_python(selection)})

    def compared() -> Compared:
        summarized = summaries(run.upstream.restrict(removed), packages, run.summaries)
        return Compared(summarized, surface(files, packages), native.check(run.upstream))

    return Future(compared)


def surface_files(upstream: Snapshot, selection: Selection, manifest: Manifest) -> Snapshot:
    """The files of upstream that have a surface to compare: the packages, other Python that may stay, and
    every project file."""
    modules = python_modules(upstream, manifest.packages)
    projects = [p for p in upstream if p.rpartition("/")[2] == "pyproject.toml"]
    return upstream.restrict(sorted({*modules, *staying_python(selection), *projects}))


def staying_python(selection: Selection) -> list[str]:
    """The Python files that no rule removes, those outside the packages among them."""
    verdicts = ("keep", "prune", "reach")
    return [p for one in verdicts for p in selection.with_verdict(one) if p.endswith(".py")]


def with_tables(output: Snapshot, surfaces: Surfaces, manifest: Manifest) -> Snapshot:
    """The output with the tables of what left in the files of ours that ask for them; they quote the reasons
    of batches.

    Raises BuildError (R004) for a file of ours that has no place for one of the tables.
    """
    wanted = [f for b in manifest.batches for f in b.files if f.tables and f.path in output]
    if not wanted:
        return output
    problems = [
        Problem("R004", f"{f.overlay} is to be filled, and assigns no `{name} = ...` on one line.", f.mark)
        for f in wanted
        for name in removed_features.missing(manifest.overlays[f.overlay])
    ]
    if problems:
        raise BuildError(problems)
    values = removed_features.tables(surfaces, manifest)
    return output.replace(
        {f.path: removed_features.filled(manifest.overlays[f.overlay], values) for f in wanted}
    )
