"""A sweep as a page: figures, a timeline drawn as SVG, and the first failure of each rule."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from html import escape

from builder.lift.history import SHORT
from builder.lift.sweep import Summary, Tried
from builder.lift.sweep import unit as unit_of

TIMELINE = "timeline.svg"
_WIDTH, _LEFT, _RIGHT = 1000, 60, 20
_PASS, _FAIL, _INK = "#0072b2", "#d55e00", "#333333"
_BAR_TOP, _BAR, _PLOT_TOP, _PLOT = 34, 26, 84, 110
#: Rules that the page lists.
_MAX_ROWS = 60


def page(summary: Summary, spec: str, every: int, digest: str) -> str:
    """The page in Markdown; the timeline is a file beside it."""
    tried, survived = len(summary.tried), summary.survived
    share = 100 * survived / tried if tried else 0
    unit = unit_of(spec)
    stride = f"every {unit}" if every == 1 else f"every {every}th {unit}"
    parents = "" if unit == "release" else " (first parents)"
    cpu = sorted(t.cpu_s for t in summary.tried)
    lines = [
        f"# Sweep {spec}",
        "",
        "<!-- Made by `python -m builder sweep`: run it again instead of editing this. -->",
        "",
        f"One manifest (digest `{digest[:12]}`), as it is, on {stride} of {summary.total:,}{parents}: "
        f"{tried:,} tried, {survived:,} pass every static gate ({share:.1f}%).",
        "",
    ]
    if cpu:
        lines += [
            f"A {unit} took {cpu[len(cpu) // 2]:.1f} s of processor time in the median, "
            f"{sum(cpu):,.0f} s all of them.",
            "",
        ]
    lines += [f"![Which {unit}s pass, and how many problems the others have]({TIMELINE})", ""]
    failing = next((t for t in summary.tried if not t.passes), None)
    if failing is not None:
        lines += [
            f"The first that fails is `{_plain(failing)}`, {_day(failing)}: `{_short(failing.subject)}`.",
            "",
        ]
    if summary.first:
        lines += ["## First failure of each rule", "", f"| {unit} | day | code | rule | failing {unit}s |",
                  "| --- | --- | --- | --- | ---: |"]  # fmt: skip
        for code, rule, row, count in summary.first[:_MAX_ROWS]:
            cell = rule.replace("|", "\\|").replace("\n", " ")
            lines.append(f"| `{_plain(row)}` | {_day(row)} | {code} | `{_short(cell)}` | {count:,} |")
        if len(summary.first) > _MAX_ROWS:
            lines.append(f"\n{len(summary.first) - _MAX_ROWS:,} more are in sweep.json.")
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def timeline(summary: Summary) -> str:
    """The timeline: a bar for each commit that was tried, and the number of its problems below."""
    height = _PLOT_TOP + _PLOT + 40
    rows = summary.tried
    most = max((len(t.problems) for t in rows), default=0)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" '
        f'font-size="12" fill="{_INK}">',
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="{_LEFT}" y="20">{summary.survived:,} of {len(rows):,} commits pass</text>',
        f'<text x="{_LEFT - 8}" y="{_BAR_TOP + 17}" text-anchor="end">gates</text>',
        f'<text x="{_LEFT - 8}" y="{_PLOT_TOP + 8}" text-anchor="end">{most:,}</text>',
        f'<text x="{_LEFT - 8}" y="{_PLOT_TOP + _PLOT}" text-anchor="end">0</text>',
        f'<text x="{_LEFT}" y="{_PLOT_TOP - 8}">problems</text>',
        f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{_PLOT_TOP + _PLOT}" y2="{_PLOT_TOP + _PLOT}" '
        f'stroke="{_INK}"/>',
    ]
    width = (_WIDTH - _LEFT - _RIGHT) / max(1, len(rows))
    for number, row in enumerate(rows):
        parts += _bar(row, _LEFT + number * width, width, most)
    parts += _days(rows, width)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _bar(row: Tried, x: float, width: float, most: int) -> Iterator[str]:
    colour = _PASS if row.passes else _FAIL
    label = "passes" if row.passes else f"{len(row.problems)} problems, first {row.problems[0].code}"
    title = f"<title>{escape(f'{_plain(row)} {_day(row)} {row.subject}: {label}')}</title>"
    gap = min(1.0, width / 5)
    yield (
        f'<rect x="{x:.2f}" y="{_BAR_TOP}" width="{width - gap:.2f}" height="{_BAR}" fill="{colour}">'
        f"{title}</rect>"
    )
    if row.problems:
        tall = _PLOT * len(row.problems) / most
        yield (
            f'<rect x="{x:.2f}" y="{_PLOT_TOP + _PLOT - tall:.2f}" width="{width - gap:.2f}" '
            f'height="{tall:.2f}" fill="{_FAIL}">{title}</rect>'
        )


def _days(rows: Sequence[Tried], width: float) -> Iterator[str]:
    """The day of a few commits, evenly spread."""
    if not rows:
        return
    for number in sorted({round(i * (len(rows) - 1) / 6) for i in range(7)}):
        x = _LEFT + (number + 0.5) * width
        y = _PLOT_TOP + _PLOT
        yield f'<line x1="{x:.2f}" x2="{x:.2f}" y1="{y}" y2="{y + 5}" stroke="{_INK}"/>'
        yield f'<text x="{x:.2f}" y="{y + 20}" text-anchor="middle">{_day(rows[number])}</text>'


def _plain(row: Tried) -> str:
    name = row.commit if _is_release(row) else row.commit[:SHORT]
    return name + (f" (#{row.number})" if row.number else "")


def _is_release(row: Tried) -> bool:
    return "." in row.commit


def _day(row: Tried) -> str:
    """The day of a commit; the version of a release, whose archive states no day."""
    return row.commit if _is_release(row) else time.strftime("%Y-%m-%d", time.gmtime(row.time))


def _short(text: str) -> str:
    text = " ".join(text.replace("`", "'").split())
    return text if len(text) <= 110 else f"{text[:109]}…"
