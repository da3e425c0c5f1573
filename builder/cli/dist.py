"""dist: build the distribution into a folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from builder.cli import options, output
from builder.emit import write
from builder.pipeline import request_key


@dataclass(frozen=True, slots=True)
class Job:
    """What the options that only `dist` has ask for."""

    out: Path
    update_lock: bool
    paranoid: bool
    recut: bool
    branch: str | None
    repo: Path | None

    @property
    def proves(self) -> bool:
        """The build uses nothing of earlier builds and is specialized twice."""
        return self.update_lock or self.paranoid

    @property
    def may_skip(self) -> bool:
        """An output that is up to date is all that is wanted."""
        return not (self.proves or self.recut) and self.branch is None


@click.command("dist")
@options.upstream_options
@options.path_option(
    "--out", default="dist", metavar="DIR", help="The output folder; it is replaced as a whole."
)
@click.option("--update-lock", is_flag=True, help="Record this build as the proof of its pin.")
@click.option("--paranoid", is_flag=True, help="Also require that the builder changes nothing in its output.")
@click.option("--recut", is_flag=True, help="Cut, where the record of a proven cut could be applied.")
@click.option("--branch", metavar="NAME", help="Also write a branch with one commit per batch into --repo.")
@options.path_option("--repo", metavar="DIR", help="The git repository of --branch.")
def command(
    out: Path,
    update_lock: bool,
    paranoid: bool,
    recut: bool,
    branch: str | None,
    repo: Path | None,
    **shared: Any,
) -> None:
    """Build the distribution of UPSTREAM (a pin of the manifest, sha, tag, branch, pypi:VERSION or
    repository@ref; by default the manifest's default pin)."""
    if (branch is None) is not (repo is None):
        raise click.UsageError("--branch and --repo go together")
    job = Job(out, update_lock, paranoid, recut, branch, repo)
    asked = (shared["upstream"] or "") + (f" for Python {shared['python']}" if shared["python"] else "")
    switches = shared["without"], shared["with_needs"], shared["scope"], shared["switched_on"]
    digest = request_key.digest(shared["manifest_path"], asked, *switches)
    if job.may_skip and digest and write.unchanged(out, asked=digest):
        output.settings.form = shared["form"]
        output.note(f"{out} is up to date")
        return
    # loading the pipeline takes longer than everything that an up-to-date output needs
    from builder.cli import building

    building.build_output(options.ask(**shared), job, digest)
