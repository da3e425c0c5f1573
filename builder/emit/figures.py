"""Counts lines and files of upstream and output in the same way.

A line is a newline byte, plus one for a last line without it. Only regular files count: a symlink is
a name, and a binary file (a NUL among its first 8,000 bytes, git's own test) has no lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from posixpath import splitext

from builder.emit.ledger import VERDICTS, Row
from builder.tree import EXECUTABLE, FILE, Snapshot

#: extensions whose lines count as the size of the distribution
EXTENSIONS = ("py", "cu", "cuh", "h", "hpp", "cpp", "cc")
#: keys of a count beside the extensions: the sum of the seven, and every text file
CODE, TEXT = "code", "text"
#: how many bytes git searches for a NUL to tell binary files from text
_PROBE = 8000


def is_text(data: bytes) -> bool:
    """Return whether git treats this content as text."""
    return b"\0" not in data[:_PROBE]


def count(data: bytes) -> int:
    """Lines of a text file's content."""
    return data.count(b"\n") + (1 if data and not data.endswith(b"\n") else 0)


def extension(path: str) -> str:
    """The extension of a path, without its dot, or nothing."""
    return splitext(path)[1][1:]


def line_counts(snapshot: Snapshot) -> dict[str, int]:
    """path -> lines, for every regular text file of the snapshot."""
    return {path: lines for path in snapshot if (lines := lines_of(snapshot, path)) is not None}


def lines_of(snapshot: Snapshot, path: str) -> int | None:
    """Lines of one path; None for what has no lines: a symlink, a gitlink, a binary file."""
    if snapshot.tree[path].mode not in (FILE, EXECUTABLE):
        return None
    data = snapshot[path]
    return count(data) if is_text(data) else None


def by_extension(lines: Mapping[str, int]) -> dict[str, int]:
    """Sums of a path -> lines mapping: one of each of `EXTENSIONS`, then `code` and `text`."""
    sums: Counter[str] = Counter()
    for path, number in lines.items():
        sums[extension(path)] += number
    code = {name: sums[name] for name in EXTENSIONS}
    return {**code, CODE: sum(code.values()), TEXT: sum(lines.values())}


def before_after(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """extension -> {before, after}, from the path -> lines mappings of both sides."""
    left, right = by_extension(before), by_extension(after)
    return {name: {"before": left[name], "after": right[name]} for name in left}


def extensions(lines: Mapping[str, Mapping[str, int]]) -> tuple[str, ...]:
    """The extensions that figures show: all of `EXTENSIONS`, or `py` alone where there is no other."""
    native = any(lines[name]["before"] or lines[name]["after"] for name in EXTENSIONS[1:])
    return EXTENSIONS if native else EXTENSIONS[:1]


@dataclass(frozen=True, slots=True)
class BatchFigures:
    """What one batch did. An edited file counts for the batch that its ledger row names first."""

    id: str
    files: Mapping[str, int]  # removed, edited, added
    lines: Mapping[str, int]  # removed; edited_away: before - after, negative when files grew; added
    by_extension: Mapping[str, int]  # lines that left removed and edited files

    @property
    def less(self) -> int:
        """Lines by which the tree shrank through this batch."""
        return self.lines["removed"] + self.lines["edited_away"] - self.lines["added"]


def batch_figures(rows: Iterable[Row], order: Sequence[str] = ()) -> tuple[BatchFigures, ...]:
    """Figures of every batch, in the given order; batches it does not name follow by id."""
    grouped: dict[str, list[Row]] = {name: [] for name in order}
    for row in rows:
        grouped.setdefault(row.batch, []).append(row)
    rest = sorted(set(grouped) - set(order))
    return tuple(_figures(name, grouped[name]) for name in (*dict.fromkeys(order), *rest))


def _figures(name: str, rows: Sequence[Row]) -> BatchFigures:
    files, lines = Counter(row.verdict for row in rows), Counter[str]()
    for row in rows:
        lines[row.verdict] += row.lost
    shrinkage = {row.path: row.lost for row in rows if row.verdict in ("removed", "edited")}
    return BatchFigures(
        name,
        {verdict: files[verdict] for verdict in ("removed", "edited", "added")},
        {"removed": lines["removed"], "edited_away": lines["edited"], "added": -lines["added"]},
        by_extension(shrinkage),
    )


def verdict_counts(rows: Iterable[Row]) -> dict[str, int]:
    """verdict -> paths, all four verdicts named."""
    counts = Counter(row.verdict for row in rows)
    return {verdict: counts[verdict] for verdict in VERDICTS}
