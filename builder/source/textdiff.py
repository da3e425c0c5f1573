"""Which lines two texts share: patience on lines that are unique on both sides, then Myers.

Written here and not asked of git, so that the diff's bytes do not depend on the version of git, and
an upstream without a repository has a diff too.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from builder.memo import remembered

#: edits after which Myers gives up and the stretch is shown as replaced: bounds time and memory
_MAX_EDITS = 300


class Run(NamedTuple):
    """`length` lines from `left` and from `right` are equal."""

    left: int
    right: int
    length: int


def runs(a: Sequence[bytes], b: Sequence[bytes]) -> list[Run]:
    """The equal runs of two texts in order, merged, ending with an empty run at both ends."""
    found: list[Run] = []
    stack = [(0, len(a), 0, len(b))]
    while stack:
        i, i_end, j, j_end = stack.pop()
        start = i
        while i < i_end and j < j_end and a[i] == b[j]:
            i, j = i + 1, j + 1
        if i > start:
            found.append(Run(start, j - (i - start), i - start))
        end = i_end
        while i_end > i and j_end > j and a[i_end - 1] == b[j_end - 1]:
            i_end, j_end = i_end - 1, j_end - 1
        if end > i_end:
            found.append(Run(i_end, j_end, end - i_end))
        if i == i_end or j == j_end:
            continue
        anchors = _anchors(a, b, i, i_end, j, j_end)
        if not anchors:
            found.extend(_myers(a[i:i_end], b[j:j_end], i, j))
            continue
        # a stretch that begins at an anchor begins with an equal line, so every stretch gets smaller
        for left, right in (*anchors, (i_end, j_end)):
            stack.append((i, left, j, right))
            i, j = left, right
    return _merged(sorted(found, key=lambda run: run.left), len(a), len(b))


def _anchors(
    a: Sequence[bytes], b: Sequence[bytes], i: int, i_end: int, j: int, j_end: int
) -> list[tuple[int, int]]:
    """Lines that are unique on both sides, as the longest chain that keeps their order."""
    left, right = _unique(a, i, i_end), _unique(b, j, j_end)
    pairs = [(at, right[line]) for line, at in left.items() if line in right]
    pairs.sort()
    tails: list[int] = []  # smallest last `right` of a chain of each length
    ends: list[int] = []  # the pair that has it
    back: list[int] = []
    for number, (_, at) in enumerate(pairs):
        length = bisect_left(tails, at)
        back.append(ends[length - 1] if length else -1)
        tails[length : length + 1] = [at]
        ends[length : length + 1] = [number]
    chain: list[tuple[int, int]] = []
    number = ends[-1] if ends else -1
    while number >= 0:
        chain.append(pairs[number])
        number = back[number]
    return chain[::-1]


def _unique(text: Sequence[bytes], start: int, end: int) -> dict[bytes, int]:
    places: dict[bytes, int] = {}
    for at in range(start, end):
        line = text[at]
        places[line] = -1 if line in places else at
    return {line: at for line, at in places.items() if at >= 0}


def _myers(a: Sequence[bytes], b: Sequence[bytes], i: int, j: int) -> list[Run]:
    """The greedy O(ND) algorithm; no runs at all when the texts differ by more than `_MAX_EDITS`."""
    n, m = len(a), len(b)
    common = (Counter(a) & Counter(b)).total()
    if not common or n + m - 2 * common > _MAX_EDITS:  # so many edits there are at least
        return []
    furthest = {1: 0}
    history: list[dict[int, int]] = []
    for edits in range(min(n + m, _MAX_EDITS) + 1):
        history.append(dict(furthest))
        for k in range(-edits, edits + 1, 2):
            down = k == -edits or (k != edits and furthest[k - 1] < furthest[k + 1])
            x = furthest[k + 1] if down else furthest[k - 1] + 1
            while x < n and x - k < m and a[x] == b[x - k]:
                x += 1
            furthest[k] = x
            if x >= n and x - k >= m:
                return list(_walk_back(history, n, m, i, j))
    return []


def _walk_back(history: list[dict[int, int]], x: int, y: int, i: int, j: int) -> Iterator[Run]:
    for edits in range(len(history) - 1, -1, -1):
        furthest, k = history[edits], x - y
        down = k == -edits or (k != edits and furthest[k - 1] < furthest[k + 1])
        k_before = k + 1 if down else k - 1
        x_before = furthest[k_before] if edits else 0
        y_before = x_before - k_before if edits else 0
        x_start = (x_before if down else x_before + 1) if edits else 0
        if x > x_start:
            yield Run(i + x_start, j + x_start - k, x - x_start)
        x, y = x_before, y_before


def _merged(found: list[Run], left: int, right: int) -> list[Run]:
    result: list[Run] = []
    for run in found:
        last = result[-1] if result else None
        if last and (last.left + last.length, last.right + last.length) == (run.left, run.right):
            result[-1] = Run(last.left, last.right, last.length + run.length)
        else:
            result.append(run)
    result.append(Run(left, right, 0))
    return result


def split(text: bytes) -> list[bytes]:
    """Lines with their newlines; only b"\\n" ends a line, so that CRLF and form feeds stay inside."""
    *whole, rest = text.split(b"\n")
    lines = [line + b"\n" for line in whole]
    return [*lines, rest] if rest else lines


@lru_cache(maxsize=1024)  # the edited files of a cut: two diffs, two packed trees and the reasons ask
def equal_lines(before: bytes, after: bytes) -> tuple[Run, ...]:
    """The equal runs of the lines of two texts."""
    return tuple(runs(split(before), split(after)))


@remembered
def hunks(before: bytes, after: bytes, context: int = 3) -> bytes:
    """The hunks of a unified diff with some lines of context; nothing for equal texts."""
    a, b = split(before), split(after)
    changes: list[tuple[int, int, int, int]] = []
    i = j = 0
    for run in equal_lines(before, after):
        if run.left > i or run.right > j:
            changes.append((i, run.left, j, run.right))
        i, j = run.left + run.length, run.right + run.length
    out: list[bytes] = []
    while changes:
        group = [changes.pop(0)]
        while changes and changes[0][0] - group[-1][1] <= 2 * context:
            group.append(changes.pop(0))
        out.append(_hunk(a, b, group, context))
    return b"".join(out)


def _hunk(a: list[bytes], b: list[bytes], group: list[tuple[int, int, int, int]], context: int) -> bytes:
    first, last = group[0], group[-1]
    lead = min(context, first[0])
    tail = min(context, len(a) - last[1])
    i, i_end = first[0] - lead, last[1] + tail
    j, j_end = first[2] - lead, last[3] + tail
    body: list[bytes] = []
    at = i
    for left, left_end, right, right_end in group:
        body += _lines(b" ", a[at:left])
        body += _lines(b"-", a[left:left_end])
        body += _lines(b"+", b[right:right_end])
        at = left_end
    body += _lines(b" ", a[at:i_end])
    heading = b"@@ -%s +%s @@%s\n" % (_range(i, i_end), _range(j, j_end), _function(a, i))
    return heading + b"".join(body)


def _function(text: list[bytes], before: int) -> bytes:
    """The nearest line above that starts in the first column with a letter: what a reader looks for."""
    for at in range(before - 1, -1, -1):
        line = text[at]
        if line[:1].isalpha() or line[:1] in (b"_", b"$"):
            return b" " + line.rstrip()[:80].rstrip()
    return b""


def _lines(sign: bytes, lines: Sequence[bytes]) -> list[bytes]:
    return [
        sign + line if line.endswith(b"\n") else sign + line + b"\n\\ No newline at end of file\n"
        for line in lines
    ]


def _range(start: int, end: int) -> bytes:
    length = end - start
    if length == 1:
        return b"%d" % (start + 1)
    return b"%d,%d" % (start + 1 if length else start, length)
