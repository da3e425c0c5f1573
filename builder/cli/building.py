"""What `dist` does for an output that is not known to be up to date."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from builder.cli import options, output, stages
from builder.cli.cache_file import recalled
from builder.emit import lock, write
from builder.errors import BuildError
from builder.pipeline import request_key
from builder.pipeline.build import BUILD, idle, summary
from builder.pipeline.git_branch import write_branch

if TYPE_CHECKING:
    from pathlib import Path

    from builder.cli.dist import Job
    from builder.cli.options import Request
    from builder.emit.lock import Proof
    from builder.emit.write import Output
    from builder.pipeline.build import Build
    from builder.pipeline.outcome import Outcome
    from builder.upstream.model import Upstream

    #: An outcome, its output and proof, and how it drifts from what the lock has, in a sentence.
    _Built = tuple[Outcome, Output, Proof, str | None]


def build_output(request: Request, job: Job, digest: str) -> None:
    """Build into `job.out`, unless it is up to date; `digest`: that of the request. Raises BuildError."""
    upstream = options.resolve(request)
    build = stages.build_of(request, upstream, proves=job.update_lock and not request.switched)
    if build.version_source:
        output.note(build.version_source)
    if job.may_skip and _is_current(request, build, job.out):
        output.note(f"{job.out} is up to date")
        return
    write.check(job.out)
    built = _cut_or_recall(request, build, job)
    _write(request, upstream, built, job, digest)


def _is_current(request: Request, build: Build, out: Path) -> bool:
    """Whether OUT holds this build, and the lock agrees with it. Raises BuildError when the lock does not."""
    proof = lock.proof_in(out) if write.unchanged(out, build.key) else None
    if proof is None:
        return False
    _drift(request, proof)
    return True


def _drift(request: Request, proof: Proof) -> str | None:
    """How a build differs from what the lock has, as a sentence. Raises BuildError where it must not."""
    known = lock.known(request.root, request.manifest.scope_name)
    return lock.drift(known, request.upstream, proof, request.switched)


def _cut_or_recall(request: Request, build: Build, job: Job) -> _Built:
    """What is written: the outcome that is known or made as the job asks, and packed."""

    def packed(done: Outcome) -> _Built:
        """An output that contradicts the lock must not replace the old one."""
        output.stage("packing")
        result, proof = build.assemble(done)
        return done, result, proof, None if job.update_lock else _drift(request, proof)

    if job.proves:
        return packed(stages.proven_outcome(request, build.upstream))
    with recalled(request.cache) as recall:
        outcome = stages.made_outcome if job.recut else stages.recalled_outcome
        done = outcome(request, build.upstream, recall)
        try:
            return packed(done)
        except BuildError:
            if done.record is None:
                raise
            # a record is believed in nothing
            return packed(stages.made_outcome(request, build.upstream, recall))


def _write(request: Request, upstream: Upstream, built: _Built, job: Job, digest: str) -> None:
    manifest, (done, result, proof, drift) = request.manifest, built
    output.stage("writing")
    settled = request_key.settled(request.upstream, manifest)
    write.write(job.out, result, asked=digest if settled else "")
    if job.update_lock:
        drift = stages.keep_proof(request, upstream, done, proof)
    if job.branch and job.repo:
        tip = write_branch(job.repo, job.branch, done, upstream, manifest)
        output.note(f"branch  {job.branch} {tip}")
    for line in ([drift] if drift else []) + summary(result, done.figures, job.out):
        output.note(line)
    for line in idle(done.figures, done.cut.manifest):
        output.note(line)
    output.done("built")
    if output.settings.form == "json":
        output.data(json.loads(result.files[BUILD]))
