"""Draws what default backends cost, from an entry: `python -m verification.plot NAME > PLOT.svg`.

One row for each size: how many times upstream's median each other backend takes, as a dot, and between which
values its measurements lie, as a line.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape

from builder import json_xz
from verification.page import DOCS

_COLOURS = ("#1f5fa8", "#b2531c", "#3b7a3b", "#7a3b74")
_LEFT, _WIDTH, _ROW, _TOP = 230, 460, 20, 46  # pixels
_MOST = 3.0  # a ratio beyond is drawn at the edge


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", help="of the entry")
    given = parser.parse_args()
    rows = [row for run in json_xz.read(DOCS / f"{given.name}.json.xz")["runs"] for row in rows_of(run)]
    if not rows:
        sys.exit("error: no evidence of the stage `defaults` has two backends at one size")
    sys.stdout.write(drawn(rows))


def rows_of(said: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Sequence[float]]]]:
    """(size, {backend: milliseconds}) of each case that measured two backends; upstream's is the first."""
    return [
        (case["name"], dict(sorted(case["figures"].items(), key=lambda one: one[0].startswith("ours"))))
        for check in said["predicate"]["checks"]
        if check["name"] == "defaults"
        for case in check["cases"]
        if len(case.get("figures", {})) > 1
    ]


def drawn(rows: Sequence[tuple[str, Mapping[str, Sequence[float]]]]) -> str:
    """The plot, as SVG."""
    backends = list(dict.fromkeys(name for _, figures in rows for name in list(figures)[1:]))
    colours = {name: _COLOURS[number % len(_COLOURS)] for number, name in enumerate(backends)}
    ratios = [
        (label, name, [each / statistics.median(first) for each in figures[name]])
        for label, figures in rows
        for first in [next(iter(figures.values()))]
        for name in list(figures)[1:]
    ]
    low = min(0.8, *(min(each) for _, _, each in ratios))
    high = max(1.2, min(_MOST, max(max(each) for _, _, each in ratios)))

    def across(ratio: float) -> float:
        return round(_LEFT + (min(ratio, high) - low) / (high - low) * _WIDTH, 1)

    height = _TOP + _ROW * len(ratios) + 16
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _WIDTH + 70}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for number, name in enumerate(backends):
        at = _LEFT + number * 230
        lines.append(f'<circle cx="{at}" cy="14" r="4" fill="{colours[name]}"/>')
        lines.append(f'<text x="{at + 9}" y="18">{escape(name)}, times upstream\'s default</text>')
    ticks = [tenth / 10 for tenth in range(31) if low <= tenth / 10 <= high]
    for tick in ticks:
        x, stroke = across(tick), "#444" if tick == 1 else "#ddd"
        lines.append(f'<line x1="{x}" x2="{x}" y1="{_TOP - 8}" y2="{height - 14}" stroke="{stroke}"/>')
        lines.append(f'<text x="{x}" y="{_TOP - 12}" text-anchor="middle" fill="#444">{tick:g}</text>')
    for number, (label, name, each) in enumerate(ratios):
        y, middle = _TOP + number * _ROW + 8, statistics.median(each)
        lines.append(f'<text x="8" y="{y + 4}">{escape(label)}</text>')
        lines.append(
            f'<line x1="{across(min(each))}" x2="{across(max(each))}" y1="{y}" y2="{y}" '
            f'stroke="{colours[name]}" stroke-width="2"/>'
        )
        lines.append(f'<circle cx="{across(middle)}" cy="{y}" r="4" fill="{colours[name]}"/>')
        lines.append(f'<text x="{_LEFT + _WIDTH + 16}" y="{y + 4}">{middle:.2f}</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"


if __name__ == "__main__":
    main()
