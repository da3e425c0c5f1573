"""dist: build the distribution into a folder."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import click

from builder.cli import options, output
from builder.cli.cache_file import recalled


@click.command("dist", short_help="Build the distribution.")
@options.upstream_options
@click.option(
    "--out", type=click.Path(path_type=Path), default="dist", show_default=True, metavar="DIR",
    help="The output folder; it is replaced as a whole.",
)  # fmt: skip
@click.option("--update-lock", is_flag=True, help="Record this build as the proof of its pin.")
@click.option("--paranoid", is_flag=True, help="Also require that the builder changes nothing in its output.")
@click.option("--branch", metavar="NAME", help="Also write a branch with one commit per batch into --repo.")
@click.option(
    "--repo", type=click.Path(path_type=Path), metavar="DIR", help="The git repository of --branch."
)
def command(
    out: Path, update_lock: bool, paranoid: bool, branch: str | None, repo: Path | None, **shared: Any
) -> None:
    """Build the distribution of UPSTREAM (a pin of the manifest, sha, tag, branch, pypi:VERSION or
    repository@ref; by default the manifest's default pin)."""
    gc.disable()
    if (branch is None) is not (repo is None):
        raise click.UsageError("--branch and --repo go together")
    more = update_lock or paranoid or branch is not None

    from builder.emit import write
    from builder.pipeline import request_key

    asking = request_key.digest(shared["manifest_path"], shared["upstream"] or "", shared["without"])
    if not more and asking and write.answers(out, asking):
        output.choose(shared["form"])
        output.note(f"{out} is up to date")
        return
    asked = options.ask(**shared)

    from builder.pipeline import build, lockfile, tools

    upstream = options.resolve(asked)
    versions = tools.versions()
    key = build.key(upstream, asked.manifest, asked.without, versions)
    if not more and write.unchanged(out, key):
        known = lockfile.proof_of(out)
        if known is not None:
            lockfile.confirm(asked.root, asked.upstream, known, asked.without)
            output.note(f"{out} is up to date")
            return
    write.check(out)

    from builder.pipeline.cut import cut
    from builder.pipeline.ranges import about
    from builder.pipeline.verify import verify
    from builder.upstream.model import snapshot

    output.stage("cutting")
    with recalled(asked.cache) as found:
        # a proof rests on nothing that was found out before
        recall = None if paranoid or update_lock else found
        done = cut(
            snapshot(upstream),
            asked.manifest,
            recall=recall,
            about=about(upstream, asked.manifest, asked.without),
        )
    output.stage("verifying")
    after = verify(done, asked.manifest, twice=paranoid or update_lock)
    output.stage("packing")
    result, figures, proof = build.assemble(done, after, upstream, asked.manifest, asked.without, versions)
    drift = None if update_lock else lockfile.confirm(asked.root, asked.upstream, proof, asked.without)
    output.stage("writing")
    write.write(out, result, asked=asking if request_key.settled(asked.upstream, asked.manifest) else "")
    if update_lock:
        drift = lockfile.record(asked.root, asked.upstream, proof, asked.without)
    if branch and repo:
        from builder.pipeline.git_branch import write_branch

        tip = write_branch(repo, branch, done, figures, upstream, asked.manifest)
        output.note(f"branch  {branch} {tip}")
    if drift:
        output.note(drift)
    for line in build.summary(result, figures, out):
        output.note(line)
    if output.form() == "json":
        output.data(build.described(result))
