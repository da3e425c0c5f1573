"""The stages that several verbs run, with their progress on the terminal."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from builder.cli import output
from builder.cli.cache_file import recalled
from builder.errors import BuildError
from builder.pipeline.cut import Cut
from builder.pipeline.given_back import cut_to_fit
from builder.pipeline.outcome import Outcome, Rejected, prove, recall_or_make
from builder.pipeline.ranges import about
from builder.pipeline.verify import verify
from builder.tree import Snapshot
from builder.upstream.cache import default_cache
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
    try:
        return verify(done, request.manifest)
    except BuildError as error:
        _keep_files(request, done.output, error)
        raise


def proven_outcome(request: Request, upstream: Upstream) -> Outcome:
    """Cut and verify an upstream, using nothing of earlier builds; the output is specialized once more.

    Raises BuildError.
    """
    known = about(upstream, request.manifest, request.off)
    with _keeping_rejected(request):
        done = prove(upstream, request.manifest, known)
    _tell_withdrawn(done.cut)
    return done


def recalled_outcome(request: Request, upstream: Upstream, recall: Recalled | None = None) -> Outcome:
    """Cut and verify an upstream with what earlier builds found out; `recall`: the results in use, by default
    those of the cache folder. Raises BuildError."""
    if recall is None:
        with recalled(request.cache) as recall:
            return recalled_outcome(request, upstream, recall)
    known = about(upstream, request.manifest, request.off)
    with _keeping_rejected(request):
        done = recall_or_make(upstream, request.manifest, known, recall)
    _tell_withdrawn(done.cut)
    return done


def _tell_withdrawn(done: Cut) -> None:
    for batch, model in sorted(done.withdrawn.items()):
        output.note(f"batch   {batch} is off, because {model} stays")


@contextlib.contextmanager
def _keeping_rejected(request: Request) -> Iterator[None]:
    """Write the files of an output that gates reject into the cache folder, where the output alone has the
    lines that the findings are about."""
    try:
        yield
    except Rejected as error:
        _keep_files(request, error.output, error)
        raise


def _keep_files(request: Request, rejected: Snapshot, error: BuildError) -> None:
    every = [one for problem in error.problems for one in (problem, *problem.also)]
    paths = sorted({one.output.file for one in every if one.output})
    if not paths:
        return
    folder = (request.cache or default_cache()) / "rejected" / rejected.tree.id[:12]
    with contextlib.suppress(OSError):  # the findings show their lines without the files, too
        for path in paths:
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(rejected[path])
        output.note(f"the output's files that these findings are about: {folder}")
