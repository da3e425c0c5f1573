"""Verify: every static gate on a cut, before anything is written."""

from __future__ import annotations

from builder.errors import BuildError, Problem
from builder.gates.every import check
from builder.gates.idempotence import compare
from builder.gates.world import explain, world
from builder.graph.modules import summary_key
from builder.manifest.model import Manifest
from builder.native import gate as native
from builder.pipeline.cut import Cut, again


def problems(cut: Cut, manifest: Manifest, twice: bool = False) -> list[Problem]:
    """What the static gates find in the output and not upstream.

    `twice`: specialize the output once more and compare (G009); it costs about a third of the cut, so
    it is asked for where a pin is proven, not at every build.
    """
    known = {
        summary_key(path, cut.upstream.tree[path].blob): summary
        for path, summary in cut.before.summaries.items()
    }
    after = world(cut.output, manifest.packages, known=known)
    explained = explain(manifest, cut.decided.removed, cut.specialized.lost)
    found = check(cut.before, after, manifest, explained)
    found += native.new(native.check(cut.output), native.check(cut.upstream))
    if twice:
        found += compare(cut.output.tree, again(cut, manifest).tree)
    return found


def verify(cut: Cut, manifest: Manifest, twice: bool = False) -> None:
    """Raise BuildError with every finding of every gate."""
    found = problems(cut, manifest, twice)
    if found:
        raise BuildError(found)
