"""The stages that several verbs run, with their progress on the terminal."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from builder.cli import output
from builder.cli.cache_file import recalled
from builder.emit import lock, record
from builder.errors import BuildError
from builder.pipeline.answers.answer import plural
from builder.pipeline.build import Build
from builder.pipeline.model import Cut
from builder.pipeline.outcome import Outcome, Outcomes, applied
from builder.pipeline.ranges import About, about
from builder.pipeline.run import Recalled
from builder.pipeline.verify import Rejected
from builder.upstream.cache import default_cache

if TYPE_CHECKING:
    from builder.cli.options import Request
    from builder.emit.lock import Proof
    from builder.upstream.model import Upstream


def outcomes(
    request: Request, upstream: Upstream, recall: Recalled | None = None, known: About | None = None
) -> Outcomes:
    """The outcomes of a request. `recall`: what earlier builds found out; `known`: what upstream is."""
    known = known or about(upstream, request.manifest, request.off)
    return Outcomes(upstream, request.manifest, known, recall)


def build_of(request: Request, upstream: Upstream, proves: bool = False) -> Build:
    """What an output of a request is made of; `proves`: the lock is to have it. Raises BuildError (M008)."""
    manifest = request.manifest
    edited = None
    if not proves:
        pin, locks = about(upstream, manifest).pin or upstream.spec, lock.every_scope(request.root)
        edited = lock.edited(locks, manifest.scope_name, pin, manifest.statements)
    return Build(upstream, manifest, request.without, edited)


def proven_outcome(request: Request, upstream: Upstream) -> Outcome:
    """Cut and verify an upstream, using nothing of earlier builds; the output is specialized once more.

    Raises BuildError.
    """
    return _told(request, outcomes(request, upstream).prove)


def made_outcome(
    request: Request, upstream: Upstream, recall: Recalled | None = None, known: About | None = None
) -> Outcome:
    """Cut and verify an upstream with what earlier builds found out of its parts. Raises BuildError."""
    return _told(request, outcomes(request, upstream, recall, known).make)


def recalled_outcome(request: Request, upstream: Upstream, recall: Recalled | None = None) -> Outcome:
    """The outcome that an earlier build remembered or the lock proves, or else a new one.

    `recall`: the results in use, by default those of the cache folder. Raises BuildError.
    """
    if recall is None:
        with recalled(request.cache) as recall:
            return recalled_outcome(request, upstream, recall)
    known = _known_outcome(request, upstream, recall)
    if known is None:
        return made_outcome(request, upstream, recall)
    _tell(known.cut)
    return known


def gone(request: Request, upstream: Upstream) -> frozenset[str] | None:
    """The definitions that left where an upstream was built or proven; None where neither is known."""
    from builder.lift import surface

    with recalled(request.cache) as recall:
        done = _known_outcome(request, upstream, recall)
        return surface.gone(done.cut.before, done.cut.after) if done else None


def _known_outcome(request: Request, upstream: Upstream, recall: Recalled) -> Outcome | None:
    """The outcome that an earlier build remembered, or that the record of a locked pin holds, if it is about
    this request."""
    manifest, pin = request.manifest, request.upstream
    known = outcomes(request, upstream, recall)
    if done := known.recall():
        return done
    try:
        proof = lock.known(request.root).get(pin)
    except BuildError:
        return None  # whoever compares with the lock tells what is wrong with it
    if proof is None or manifest.named_scope is not None:
        return None
    kept = record.read(request.root, pin, proof.record)
    done = known.recorded(kept, proof.output_tree) if kept else None
    if kept and done:
        output.note(applied(kept))
    return done


def keep_proof(
    request: Request, upstream: Upstream, done: Outcome, proof: Proof, with_record: bool = False
) -> str:
    """Write a proof into the lock, with a record of the cut for the default pin, for a pin that has one, and
    on request; the line that says so. Raises BuildError."""
    manifest, pin = request.manifest, request.upstream
    has_one = with_record or pin == manifest.upstream.default or record.path_of(request.root, pin).exists()
    kept = None
    if has_one and manifest.named_scope is None and not request.switched:
        kept = outcomes(request, upstream).record(done, time.strftime("%Y-%m-%d", time.gmtime()))
    shown = manifest.named_scope.only_here if manifest.named_scope is not None else ()
    return lock.record(request.root, pin, proof, request.switched, manifest.scope_name, kept, shown)


def _told(request: Request, make: Callable[[], Outcome]) -> Outcome:
    """An outcome, with a note of what it left out. The files of an output that gates reject are written into
    the cache folder, where the output alone has the lines that the findings are about."""
    try:
        done = make()
    except Rejected as error:
        _keep_files(request, error)
        raise
    _tell(done.cut)
    return done


def _tell(done: Cut) -> None:
    for batch, model in sorted(done.withdrawn.items()):
        output.note(f"batch   {batch} is off, because {model} stays")
    if done.unmatched:
        output.note(
            f"unmatched  {plural(len(done.unmatched), 'statement')} at this upstream, which is no pin:"
        )
    for subject, mark in done.unmatched:
        output.note(f"  {mark}  {subject}")


def _keep_files(request: Request, error: Rejected) -> None:
    every = [one for problem in error.problems for one in (problem, *problem.also)]
    paths = sorted({one.output.file for one in every if one.output})
    if not paths:
        return
    folder = (request.cache or default_cache()) / "rejected" / error.output.tree.id[:12]
    with contextlib.suppress(OSError):  # the findings show their lines without the files, too
        for path in paths:
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(error.output[path])
        output.note(f"the output's files that these findings are about: {folder}")
