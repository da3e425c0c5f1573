"""The stages that several verbs run, with their progress on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from builder.cli import output
from builder.cli.cache_file import recalled
from builder.pipeline.cut import Cut
from builder.pipeline.given_back import cut_to_fit
from builder.pipeline.outcome import Outcome, prove, recall_or_make
from builder.pipeline.ranges import about
from builder.pipeline.verify import verify
from builder.upstream.model import snapshot

if TYPE_CHECKING:
    from builder.analysis.indexed_tree import IndexedTree
    from builder.cli.options import Request
    from builder.pipeline.run import Recalled
    from builder.upstream.model import Upstream


def cut_upstream(request: Request, upstream: Upstream) -> Cut:
    """Cut an upstream, using nothing of earlier builds. Raises BuildError."""
    output.stage("cutting")
    known = about(upstream, request.manifest, request.off)
    done = cut_to_fit(snapshot(upstream), request.manifest, about=known)
    _tell_withdrawn(done)
    return done


def verify_output(request: Request, done: Cut) -> IndexedTree:
    """Run every gate. Raises BuildError."""
    output.stage("verifying")
    return verify(done, request.manifest)


def proven_outcome(request: Request, upstream: Upstream) -> Outcome:
    """Cut and verify an upstream, using nothing of earlier builds; the output is specialized once more.

    Raises BuildError.
    """
    known = about(upstream, request.manifest, request.off)
    done = prove(upstream, request.manifest, known, output.stage)
    _tell_withdrawn(done.cut)
    return done


def recalled_outcome(request: Request, upstream: Upstream, recall: Recalled | None = None) -> Outcome:
    """Cut and verify an upstream with what earlier builds found out; `recall`: the results in use, by default
    those of the cache folder. Raises BuildError."""
    if recall is None:
        with recalled(request.cache) as recall:
            return recalled_outcome(request, upstream, recall)
    known = about(upstream, request.manifest, request.off)
    done = recall_or_make(upstream, request.manifest, known, output.stage, recall)
    _tell_withdrawn(done.cut)
    return done


def _tell_withdrawn(done: Cut) -> None:
    for batch, model in sorted(done.withdrawn.items()):
        output.note(f"batch   {batch} is off: {model} stays, and needs it")
