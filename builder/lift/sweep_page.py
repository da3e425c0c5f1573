"""A sweep as a page: figures, a timeline drawn as SVG, and the first failure of each rule."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from builder.lift.history import SHORT
from builder.lift.statements import shorten
from builder.lift.sweep import Tried, first_failures, unit
from builder.report import table
from builder.templates import ABSENT, filled

TIMELINE = "timeline.svg"
#: Rules that the page lists.
_MAX_ROWS = 60
_PASS, _FAIL = "#0072b2", "#d55e00"
#: Where the template draws (pixels): left and width of all bars, top or bottom of both rows, their heights.
_LEFT, _WIDTH, _GATES, _BOTTOM, _GATE, _MOST = 60, 920, 34, 194, 26, 110


def page(data: Mapping[str, Any], rows: Sequence[Tried]) -> str:
    """The page in Markdown; `data`: see `record`. The timeline is a file beside it."""
    every, cpu, what = data["every"], data["cpu_s"], unit(data["range"])
    failing = next((row for row in rows if not row.passes), None)
    failures = first_failures(rows)
    cells = [
        (f"`{_plain(row)}`", _day(row), code, f"`{_short(rule)}`", f"{count:,}")
        for code, rule, row, count in failures[:_MAX_ROWS]
    ]
    heads = (what, "day", "code", "rule", f"failing {what}s")
    blocks = {
        "cost": [(cpu["median"], cpu["total"])] if cpu else ABSENT,
        "failing": [(_plain(failing), _day(failing), _short(failing.subject))] if failing else ABSENT,
        "rules": [(table(heads, cells, numbers=1).rstrip(),)] if cells else ABSENT,
        "more": [(len(failures) - _MAX_ROWS,)] if len(failures) > _MAX_ROWS else ABSENT,
    }
    return filled(
        "sweep.md",
        blocks,
        digest=data["manifest"][:12],
        stride=f"every {what}" if every == 1 else f"every {every}th {what}",
        parents="" if what == "release" else " (first parents)",
        share=100 * data["survived"] / len(rows) if rows else 0,
        unit=what,
        **data,
    )


def timeline(rows: Sequence[Tried]) -> str:
    """The timeline: a bar for each commit that was tried, and the number of its problems below."""
    most = max((len(t.problems) for t in rows), default=0)
    width = _WIDTH / max(1, len(rows))
    bars = [bar for number, row in enumerate(rows) for bar in _bars(row, _LEFT + number * width, width, most)]
    # the day of a few commits, evenly spread
    shown = sorted({round(i * (len(rows) - 1) / 6) for i in range(7)}) if rows else ()
    days = [(_LEFT + (number + 0.5) * width, _day(rows[number])) for number in shown]
    survived = sum(row.passes for row in rows)
    return filled(TIMELINE, {"bars": bars, "days": days}, survived=survived, tried=len(rows), most=most)


def _bars(row: Tried, x: float, width: float, most: int) -> Iterator[tuple[object, ...]]:
    """Left, top, width, height, colour and title of the bars of a commit."""
    label = "passes" if row.passes else f"{len(row.problems)} problems, first {row.problems[0].code}"
    title = escape(f"{_plain(row)} {_day(row)} {row.subject}: {label}")
    wide = width - min(1.0, width / 5)
    yield x, _GATES, wide, _GATE, _PASS if row.passes else _FAIL, title
    if row.problems:
        tall = _MOST * len(row.problems) / most
        yield x, _BOTTOM - tall, wide, tall, _FAIL, title


def _short(text: str) -> str:
    return shorten(text.replace("`", "'"), 110)


def _plain(row: Tried) -> str:
    name = row.commit if _is_release(row) else row.commit[:SHORT]
    return name + (f" (#{row.number})" if row.number else "")


def _is_release(row: Tried) -> bool:
    return "." in row.commit


def _day(row: Tried) -> str:
    """The day of a commit; the version of a release, whose archive states no day."""
    return row.commit if _is_release(row) else time.strftime("%Y-%m-%d", time.gmtime(row.time))
