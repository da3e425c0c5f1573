"""Writes the branch of a build into a git repository, whole or not at all."""

from __future__ import annotations

from pathlib import Path

from builder import __version__
from builder.emit.branch import Story, stream
from builder.errors import fail
from builder.manifest.model import Manifest
from builder.pipeline.outcome import Outcome
from builder.upstream import git
from builder.upstream.model import Upstream

_NEW = "refs/builder/branch"


def write_branch(
    repository: Path, name: str, outcome: Outcome, upstream: Upstream, manifest: Manifest
) -> str:
    """Make `name` the branch of this build and return the id of its last commit.

    Raises BuildError: E003 if `repository` is no git repository or lacks the upstream commit, E001 if the
    branch exists and holds something else.
    """
    folder = git.git_dir_of(repository)
    if folder is None:
        raise fail("E003", f"'{repository}' is not a git repository.", hint="git init --bare makes one")
    if upstream.commit is None or git.read_object(folder, upstream.commit) is None:
        raise fail(
            "E003",
            f"'{repository}' does not have the upstream commit {upstream.commit}.",
            hint="name a clone of upstream; a release from the package index has no commit to build on",
        )
    try:
        git.run(folder, "check-ref-format", f"refs/heads/{name}")
    except git.GitError:
        raise fail("C001", f"'{name}' is not a name that git allows for a branch.") from None
    story = Story(
        whys={b.id: b.why for b in manifest.batches},
        trailers=[
            f"Upstream: {upstream.commit}",
            f"Manifest-Sha256: {manifest.digest}",
            f"Builder: {__version__}",
        ],
        parent=upstream.commit,
        time=upstream.time,
    )
    try:
        commits = stream(_NEW, outcome.figures.rows, outcome.cut.output, story)
        git.run(folder, "fast-import", "--quiet", "--force", stdin=commits)
        made = git.run(folder, "rev-parse", _NEW).decode().strip()
        old = git.run(folder, "for-each-ref", "--format=%(objectname)", f"refs/heads/{name}").decode().strip()
        if old and old != made:
            raise fail(
                "E001",
                f"The branch '{name}' exists and holds another build or other work ({old[:12]}).",
                hint=f"rename or delete it first: git branch -m {name} {name}-old",
            )
        git.run(folder, "update-ref", f"refs/heads/{name}", made)
    finally:
        git.run(folder, "update-ref", "-d", _NEW)
    return made
