"""What `dist` does for an output that is not known to be up to date."""

from __future__ import annotations

from typing import TYPE_CHECKING

from builder.cli import options, output, stages
from builder.cli.cache_file import recalled
from builder.emit import write
from builder.errors import BuildError
from builder.pipeline import build, lockfile, request_key
from builder.pipeline.git_branch import write_branch

if TYPE_CHECKING:
    from builder.cli.dist import Job
    from builder.cli.options import Request
    from builder.emit.lock import Proof
    from builder.emit.write import Output
    from builder.pipeline.outcome import Outcome


def build_output(request: Request, job: Job, digest: str) -> None:
    """Build into `job.out`, unless it is up to date; `digest`: that of the request. Raises BuildError."""
    manifest, without, scope = request.manifest, request.without, request.manifest.scope_name
    upstream = options.resolve(request)
    versions = request_key.versions()
    key = build.key(upstream, manifest, without, versions)
    if job.may_skip and write.unchanged(job.out, key) and (proof := lockfile.proof_of(job.out)):
        lockfile.confirm(request.root, request.upstream, proof, without, scope)
        output.note(f"{job.out} is up to date")
        return
    write.check(job.out)
    if not job.update_lock:
        lockfile.known(request.root)  # a lock that cannot be read is reported before the work

    def packed(done: Outcome) -> tuple[Output, Proof, str | None]:
        """The output and its proof. An output that contradicts the lock must not replace the old one."""
        output.stage("packing")
        result, proof = build.assemble(done, upstream, manifest, without, versions)
        if job.update_lock:
            return result, proof, None
        return result, proof, lockfile.confirm(request.root, request.upstream, proof, without, scope)

    if job.proves:
        done = stages.proven_outcome(request, upstream)
        result, proof, drift = packed(done)
    else:
        with recalled(request.cache) as recall:
            outcome = stages.made_outcome if job.recut else stages.recalled_outcome
            done = outcome(request, upstream, recall)
            try:
                result, proof, drift = packed(done)
            except BuildError:
                if done.record is None:
                    raise
                done = stages.made_outcome(request, upstream, recall)  # a record that fails is not trusted
                result, proof, drift = packed(done)
    output.stage("writing")
    write.write(job.out, result, asked=digest if request_key.settled(request.upstream, manifest) else "")
    if job.update_lock:
        drift = stages.keep_proof(request, upstream, done, proof)
    if job.branch and job.repo:
        tip = write_branch(job.repo, job.branch, done, upstream, manifest)
        output.note(f"branch  {job.branch} {tip}")
    for line in ([drift] if drift else []) + build.summary(result, done.figures, job.out):
        output.note(line)
    output.done("built")
    if output.settings.form == "json":
        output.data(build.described(result))
