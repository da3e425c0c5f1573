"""Verify: every static gate on a cut, before anything is written."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping

from builder.analysis.indexed_tree import IndexedTree
from builder.errors import BuildError, Problem
from builder.gates.registry import Evidence, check
from builder.graph.modules import Summary, known_of, summaries
from builder.manifest.model import Manifest
from builder.pipeline.cut import Cut, again
from builder.pipeline.places import true_places
from builder.pipeline.ranges import kept_to
from builder.pipeline.uncertain import dynamic_imports


def output_world(cut: Cut, manifest: Manifest) -> IndexedTree:
    """The output's Python, indexed; files as upstream has them are not parsed again."""

    def made() -> Mapping[str, Summary]:
        known = ChainMap(dict(known_of(cut.upstream, cut.before.summaries)), cut.summaries)  # type: ignore[arg-type]
        return summaries(cut.output, manifest.packages, known)

    return IndexedTree(cut.output, manifest.packages, made)


def problems(cut: Cut, after: IndexedTree, twice: bool = False) -> list[Problem]:
    """What the static gates find in the output and not upstream.

    `twice`: specialize the output once more and compare (G009); it costs about a third of the cut, so
    it is asked for where a pin is proven, not at every build.
    """
    manifest = cut.manifest
    evidence = Evidence(
        before=cut.before,
        after=after,
        manifest=manifest,
        removals=cut.removals,
        surfaces=cut.surfaces,
        native_findings=cut.findings,
        second_run=(lambda: again(cut, manifest).tree) if twice else None,
    )
    found = kept_to([*check(evidence), *dynamic_imports(cut, after, manifest)], manifest)
    return true_places(found, cut.upstream, cut.output, manifest, cut.records)


def verify(cut: Cut, manifest: Manifest, twice: bool = False) -> IndexedTree:
    """The indexed output. Raises BuildError with every finding of every gate."""
    after = output_world(cut, manifest)
    found = problems(cut, after, twice)
    if found:
        raise BuildError(found)
    return after
