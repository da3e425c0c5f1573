"""A branch with one commit per batch on top of the upstream commit: the cut, decision by decision.

Each commit changes whole files from upstream's version to the output's, so every tree in between parses.
Author, committer and time are fixed, so the same build gives the same commit ids. The branch is written into
a git repository whole or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from builder import __version__
from builder.adapter import GENERATOR
from builder.emit.diff import quoted
from builder.emit.figures import CODE, BatchFigures, batch_figures
from builder.emit.ledger import Row
from builder.errors import fail
from builder.manifest.model import Manifest
from builder.pipeline.outcome import Outcome
from builder.tree import Snapshot
from builder.upstream import git
from builder.upstream.model import Upstream

_NEW = "refs/builder/branch"
_WHO = f"{GENERATOR} <builder@localhost.invalid>".encode()


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
    if git.read_object(folder, upstream.commit) is None:
        raise fail(
            "E003",
            f"'{repository}' does not have the upstream commit {upstream.commit}.",
            hint="name a clone of upstream; a release from the package index has no commit to build on",
        )
    try:
        git.run(folder, "check-ref-format", f"refs/heads/{name}")
    except git.GitError:
        raise fail("C001", f"'{name}' is not a name that git allows for a branch.") from None
    whys = {b.id: b.why for b in manifest.batches}
    end = f"Upstream: {upstream.commit}\nManifest-Sha256: {manifest.digest}\nBuilder: {__version__}\n"
    commits = stream(
        _NEW, outcome.figures.rows, outcome.cut.output, whys, end, upstream.commit, upstream.time
    )
    try:
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


def stream(
    ref: str,
    rows: Sequence[Row],
    output: Snapshot,
    whys: Mapping[str, str],
    end: str,
    parent: str,
    time: int,
) -> bytes:
    """The input of `git fast-import`: a commit for each batch that changes something.

    `whys`: the reason of each batch, in the manifest's order; `end`: of each message; `parent`: the upstream
    commit, 40 hex digits; `time`: of every commit, in epoch seconds.
    """
    parts: list[bytes] = [b"feature done\n"]
    start = [b"from %s\n" % parent.encode()]
    for figures in batch_figures(rows, list(whys)):
        changed = [r for r in rows if r.batch == figures.id and r.verdict != "kept"]
        if not changed:
            continue
        why = whys.get(figures.id, "What follows from the facts and from what is absent.")
        message = f"Cut {figures.id}\n\n{why}\n\n{_figures(figures)}\n\n{end}".encode()
        parts.append(b"commit %s\n" % ref.encode())
        parts += [b"%s %s %d +0000\n" % (role, _WHO, time) for role in (b"author", b"committer")]
        parts.append(b"data %d\n%s\n" % (len(message), message))
        parts += [*start, *(_change(row, output) for row in changed)]
        start = []  # the next commit follows this one
    parts.append(b"done\n")
    return b"".join(parts)


def _change(row: Row, output: Snapshot) -> bytes:
    path = quoted(row.path.encode("utf-8", "surrogateescape"))
    if row.verdict == "removed":
        return b"D %s\n" % path
    data = output[row.path]
    return b"M %s inline %s\ndata %d\n%s\n" % (row.mode.encode(), path, len(data), data)


def _figures(figures: BatchFigures) -> str:
    code = {k: v for k, v in figures.by_extension.items() if v and k != CODE}
    lines = ", ".join(f"{number:,} {name}" for name, number in code.items()) or "none"
    files = ", ".join(f"{number:,} {verdict}" for verdict, number in figures.files.items())
    return f"Files: {files}. Lines less: {lines}."
