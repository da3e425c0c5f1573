"""The stages that several verbs run, with their progress on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from builder.cli import output
from builder.cli.cache_file import recalled
from builder.pipeline.cut import Cut, cut
from builder.pipeline.ranges import about
from builder.pipeline.run import Recalled
from builder.pipeline.verify import verify
from builder.upstream.model import snapshot

if TYPE_CHECKING:
    from builder.analysis.indexed_tree import IndexedTree
    from builder.cli.options import Request
    from builder.upstream.model import Upstream


def cut_upstream(request: Request, upstream: Upstream, recall: Recalled | None = None) -> Cut:
    """Cut an upstream, using nothing of earlier builds but `recall`. Raises BuildError."""
    output.stage("cutting")
    known = about(upstream, request.manifest, request.off)
    done = cut(snapshot(upstream), request.manifest, about=known, recall=recall)
    for batch, model in sorted(done.withdrawn.items()):
        output.note(f"batch   {batch} is off, because {model} stays")
    return done


def cut_with_cache(request: Request, upstream: Upstream) -> Cut:
    """Cut an upstream with what the cache folder holds of earlier builds, and add to it.

    Raises BuildError.
    """
    with recalled(request.cache) as recall:
        return cut_upstream(request, upstream, recall)


def verify_output(request: Request, done: Cut, twice: bool = False) -> IndexedTree:
    """Run every gate; `twice` also specializes the output once more. Raises BuildError."""
    output.stage("verifying")
    return verify(done, request.manifest, twice=twice)
