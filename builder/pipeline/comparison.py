"""What the output is compared with: the surface of upstream, and what its native code has itself.

It follows from upstream and the selection alone and nobody asks for it before the end, so a second process
works it out beside the cut.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from builder.analysis.removals import Removals
from builder.analysis.surface_diff import Surfaces, compare
from builder.emit import removed_features
from builder.errors import BuildError, Problem
from builder.graph.modules import Summary, SummaryCache, known_of, summaries
from builder.manifest.model import Manifest
from builder.native import gate as native
from builder.parallel import Future, submit
from builder.pipeline.prune import python_modules
from builder.pipeline.run import Comparison, Run
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


@dataclass(frozen=True, slots=True)
class PendingComparison:
    """A comparison that a second process works out. `files`: those that have a surface."""

    files: Snapshot
    _key: str
    _future: Future[Compared]

    def result(self, run: Run, staying: Mapping[str, Summary]) -> Compared:
        """The comparison, remembered for later runs together with the summaries of all of upstream."""
        compared = self._future.result()
        if run.recalled:
            run.recalled.remember(known_of(run.upstream, {**staying, **compared.removed}))
            run.recalled.told[self._key] = (compared.surface, compared.findings)
        return compared


def compare_beside(run: Run, selection: Selection, manifest: Manifest) -> PendingComparison:
    """Begin to work out what the output is compared with."""
    files = surface_files(run.upstream, selection, manifest)
    key = f"{files.tree.id} {run.upstream.tree.id} {sorted(manifest.packages.items())}"
    known = run.recalled.summaries if run.recalled else {}
    earlier = run.recalled.told.get(key) if run.recalled else None
    return PendingComparison(
        files, key, submit(lambda: _compare(run.upstream, files, selection, manifest, known, earlier))
    )


def _compare(
    upstream: Snapshot,
    files: Snapshot,
    selection: Selection,
    manifest: Manifest,
    known: SummaryCache,
    earlier: Comparison | None,
) -> Compared:
    removed = sorted({*python_modules(upstream, manifest.packages)} - {*staying_python(selection)})
    return Compared(
        summaries(upstream.restrict(removed), manifest.packages, known),
        *(earlier or (surface(files, manifest.packages), native.check(upstream))),
    )


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
