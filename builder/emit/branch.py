"""A branch with one commit per batch on top of the upstream commit: the cut, decision by decision.

Each commit changes whole files from upstream's version to the output's, so every tree in between
parses. Author, committer and time are fixed, so the same build gives the same commit ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from builder.adapter import GENERATOR
from builder.emit.diff import quoted
from builder.emit.figures import CODE, BatchFigures, batch_figures
from builder.emit.ledger import Row
from builder.tree import Snapshot

WHO = f"{GENERATOR} <builder@localhost.invalid>".encode()


@dataclass(frozen=True, slots=True)
class Story:
    """Data for the commits: the reason of each batch in the manifest's order, and the build's inputs."""

    whys: Mapping[str, str]
    trailers: Sequence[str]
    parent: str  # the upstream commit, 40 hex digits
    time: int  # epoch seconds of every commit


def stream(ref: str, rows: Sequence[Row], output: Snapshot, story: Story) -> bytes:
    """The input of `git fast-import`: a commit for each batch that changes something."""
    parts: list[bytes] = [b"feature done\n"]
    start = [b"from %s\n" % story.parent.encode()]
    for figures in batch_figures(rows, list(story.whys)):
        changed = [r for r in rows if r.batch == figures.id and r.verdict != "kept"]
        if not changed:
            continue
        message = _message(figures, story).encode()
        parts.append(b"commit %s\n" % ref.encode())
        for role in (b"author", b"committer"):
            parts.append(b"%s %s %d +0000\n" % (role, WHO, story.time))
        parts.append(b"data %d\n%s\n" % (len(message), message))
        parts += [*start, *_changes(changed, output)]
        start = []  # the next commit follows this one
    parts.append(b"done\n")
    return b"".join(parts)


def _changes(rows: Iterable[Row], output: Snapshot) -> Iterable[bytes]:
    for row in rows:
        path = quoted(row.path.encode("utf-8", "surrogateescape"))
        if row.verdict == "removed":
            yield b"D %s\n" % path
        else:
            data = output[row.path]
            yield b"M %s inline %s\ndata %d\n%s\n" % (row.mode.encode(), path, len(data), data)


def _message(figures: BatchFigures, story: Story) -> str:
    why = story.whys.get(figures.id, "What follows from the facts and from what is absent.")
    code = {k: v for k, v in figures.by_extension.items() if v and k != CODE}
    lines = ", ".join(f"{number:,} {name}" for name, number in code.items()) or "none"
    files = ", ".join(f"{number:,} {verdict}" for verdict, number in figures.files.items())
    return "\n".join(
        [f"Cut {figures.id}", "", why, "", f"Files: {files}. Lines less: {lines}.", "", *story.trailers, ""]
    )
