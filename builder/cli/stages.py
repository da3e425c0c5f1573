"""The stages that several verbs run, with their progress on the terminal."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from builder.cli import output
from builder.cli.cache_file import recalled
from builder.errors import BuildError
from builder.pipeline.cut import Cut, cut
from builder.pipeline.ranges import about
from builder.pipeline.run import Recalled
from builder.pipeline.verify import verify
from builder.upstream.cache import default_cache
from builder.upstream.model import snapshot

if TYPE_CHECKING:
    from builder.analysis.indexed_tree import IndexedTree
    from builder.cli.options import Request
    from builder.upstream.model import Upstream


def cut_upstream(request: Request, upstream: Upstream, recall: Recalled | None = None) -> Cut:
    """Cut an upstream, using nothing of earlier builds but `recall`. Raises BuildError."""
    output.stage("cutting")
    known = about(upstream, request.manifest, request.without)
    return cut(snapshot(upstream), request.manifest, about=known, recall=recall)


def cut_with_cache(request: Request, upstream: Upstream) -> Cut:
    """Cut an upstream with what the cache folder holds of earlier builds, and add to it.

    Raises BuildError.
    """
    with recalled(request.cache) as recall:
        return cut_upstream(request, upstream, recall)


def verify_output(request: Request, done: Cut, twice: bool = False) -> IndexedTree:
    """Run every gate; `twice` also specializes the output once more. Raises BuildError."""
    output.stage("verifying")
    try:
        return verify(done, request.manifest, twice=twice)
    except BuildError as error:
        _keep_files(request, done, error)
        raise


def _keep_files(request: Request, done: Cut, error: BuildError) -> None:
    """Write the files of the output that have lines which only the output has into the cache folder."""
    every = [one for problem in error.problems for one in (problem, *problem.also)]
    paths = sorted({one.output.file for one in every if one.output})
    if not paths:
        return
    folder = (request.cache or default_cache()) / "rejected" / done.output.tree.id[:12]
    with contextlib.suppress(OSError):  # the findings show their lines without the files, too
        for path in paths:
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(done.output[path])
        output.note(f"the output's files that these findings are about: {folder}")
