"""A sweep as a page: figures, a timeline drawn as SVG, and the first failure of each rule."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from builder.lift.history import SHORT
from builder.lift.statements import shorten
from builder.lift.sweep import Tried, first_failures
from builder.lift.sweep import unit as unit_of
from builder.report import table

TIMELINE = "timeline.svg"
_WIDTH, _LEFT, _RIGHT = 1000, 60, 20
_PASS, _FAIL, _INK = "#0072b2", "#d55e00", "#333333"
_BAR_TOP, _BAR, _PLOT_TOP, _PLOT = 34, 26, 84, 110
_BOTTOM = _PLOT_TOP + _PLOT
#: Rules that the page lists.
_MAX_ROWS = 60


def page(data: Mapping[str, Any], rows: Sequence[Tried]) -> str:
    """The page in Markdown; `data`: see `record`. The timeline is a file beside it."""
    tried, survived, every = len(rows), data["survived"], data["every"]
    share = 100 * survived / tried if tried else 0
    unit = unit_of(data["range"])
    stride = f"every {unit}" if every == 1 else f"every {every}th {unit}"
    parents = "" if unit == "release" else " (first parents)"
    parts = [
        f"# Sweep {data['range']}",
        "<!-- Made by `python -m builder sweep`: run it again instead of editing this. -->",
        f"One manifest (digest `{data['manifest'][:12]}`), as it is, on {stride} of "
        f"{data['commits']:,}{parents}: {tried:,} tried, {survived:,} pass every static gate ({share:.1f}%).",
    ]
    if cpu := data["cpu_s"]:
        parts.append(
            f"A {unit} took {cpu['median']:.1f} s of processor time in the median, "
            f"{cpu['total']:,.0f} s all of them."
        )
    parts.append(f"![Which {unit}s pass, and how many problems the others have]({TIMELINE})")
    failing = next((row for row in rows if not row.passes), None)
    if failing is not None:
        subject = shorten(failing.subject.replace("`", "'"), 110)
        parts.append(f"The first that fails is `{_plain(failing)}`, {_day(failing)}: `{subject}`.")
    if failures := first_failures(rows):
        cells = []
        for code, rule, row, count in failures[:_MAX_ROWS]:
            cell = shorten(rule.replace("`", "'"), 110)
            cells.append((f"`{_plain(row)}`", _day(row), code, f"`{cell}`", f"{count:,}"))
        rules = table((unit, "day", "code", "rule", f"failing {unit}s"), cells, numbers=1)
        parts += ["## First failure of each rule", rules.rstrip()]
        if len(failures) > _MAX_ROWS:
            parts.append(f"{len(failures) - _MAX_ROWS:,} more are in sweep.json.")
    return "\n\n".join(parts) + "\n"


def timeline(rows: Sequence[Tried]) -> str:
    """The timeline: a bar for each commit that was tried, and the number of its problems below."""
    height = _BOTTOM + 40
    most = max((len(t.problems) for t in rows), default=0)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" '
        f'font-size="12" fill="{_INK}">',
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        _text(_LEFT, 20, f"{sum(row.passes for row in rows):,} of {len(rows):,} commits pass"),
        _text(_LEFT - 8, _BAR_TOP + 17, "gates", "end"),
        _text(_LEFT - 8, _PLOT_TOP + 8, f"{most:,}", "end"),
        _text(_LEFT - 8, _BOTTOM, "0", "end"),
        _text(_LEFT, _PLOT_TOP - 8, "problems"),
        f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{_BOTTOM}" y2="{_BOTTOM}" stroke="{_INK}"/>',
    ]
    width = (_WIDTH - _LEFT - _RIGHT) / max(1, len(rows))
    for number, row in enumerate(rows):
        parts += _bars(row, _LEFT + number * width, width, most)
    # the day of a few commits, evenly spread
    for number in sorted({round(i * (len(rows) - 1) / 6) for i in range(7)}) if rows else ():
        x = f"{_LEFT + (number + 0.5) * width:.2f}"
        parts.append(f'<line x1="{x}" x2="{x}" y1="{_BOTTOM}" y2="{_BOTTOM + 5}" stroke="{_INK}"/>')
        parts.append(_text(x, _BOTTOM + 20, _day(rows[number]), "middle"))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _text(x: object, y: int, text: str, anchor: str = "") -> str:
    attribute = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{x}" y="{y}"{attribute}>{text}</text>'


def _bars(row: Tried, x: float, width: float, most: int) -> Iterator[str]:
    label = "passes" if row.passes else f"{len(row.problems)} problems, first {row.problems[0].code}"
    title = escape(f"{_plain(row)} {_day(row)} {row.subject}: {label}")
    wide = width - min(1.0, width / 5)
    tall = _PLOT * len(row.problems) / most if most else 0
    bars = [(str(_BAR_TOP), str(_BAR), _PASS if row.passes else _FAIL)]
    if row.problems:
        bars.append((f"{_BOTTOM - tall:.2f}", f"{tall:.2f}", _FAIL))
    for y, high, colour in bars:
        yield (
            f'<rect x="{x:.2f}" y="{y}" width="{wide:.2f}" height="{high}" fill="{colour}">'
            f"<title>{title}</title></rect>"
        )


def _plain(row: Tried) -> str:
    name = row.commit if _is_release(row) else row.commit[:SHORT]
    return name + (f" (#{row.number})" if row.number else "")


def _is_release(row: Tried) -> bool:
    return "." in row.commit


def _day(row: Tried) -> str:
    """The day of a commit; the version of a release, whose archive states no day."""
    return row.commit if _is_release(row) else time.strftime("%Y-%m-%d", time.gmtime(row.time))
