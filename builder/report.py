"""Renders problems for the terminal, as JSON and as GitHub annotations, and tables as Markdown.

Pure: sources come in as text.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from builder.errors import CODES, Mark, Problem

#: Columns of a source line shown in an excerpt.
WIDTH = 100
#: Further places of a problem that are listed; the rest is counted.
MAX_PLACES = 24
_RED, _BLUE, _CYAN, _BOLD, _RESET = "\x1b[1;31m", "\x1b[1;34m", "\x1b[36m", "\x1b[1m", "\x1b[0m"


def ordered(problems: Iterable[Problem]) -> list[Problem]:
    """The problems sorted by place in the manifest, then by place in upstream, then by code."""
    nowhere = Mark("")
    return sorted(
        problems,
        key=lambda p: (p.mark is None, p.mark or nowhere, p.place or nowhere, p.code, p.message),
    )


def render(problem: Problem, sources: Mapping[str, str], colour: bool = False) -> str:
    """One problem for a terminal, with its source line if `sources` (path -> text) has the file."""
    paint = partial(_paint, colour)
    lines = [f"{paint(f'error[{problem.code}]', _RED)}{paint(': ' + clean(problem.message), _BOLD)}"]
    gutter = " " * len(str(problem.mark.line if problem.mark else 0))
    if problem.mark:
        lines.append(f"{gutter}{paint('-->', _BLUE)} {clean(str(problem.mark))}")
        lines += _excerpt(problem.mark, sources.get(problem.mark.file), gutter, paint)
    for where in _places(problem):
        lines.append(f"{gutter}{paint(':::', _BLUE)} {clean(where)}")
    if problem.excerpt:
        lines += [f"{gutter} {paint('|', _BLUE)} {clean(row)}" for row in problem.excerpt.splitlines()]
    if problem.also:
        lines.append(f"{gutter} {paint('= also:', _CYAN)} {clean(also(problem))}")
    if problem.hint:
        lines.append(f"{gutter} {paint('= help:', _CYAN)} {clean(problem.hint)}")
    return "\n".join(lines)


def render_all(problems: Iterable[Problem], sources: Mapping[str, str], colour: bool = False) -> str:
    """All problems for a terminal, sorted, with their count."""
    listed = ordered(problems)
    blocks = [render(problem, sources, colour) for problem in listed]
    codes = sorted({problem.code for problem in listed})
    count = "1 problem" if len(listed) == 1 else f"{len(listed)} problems"
    closing = f"{count} ({', '.join(codes)})"
    return "\n\n".join([*blocks, closing])


def as_dict(problem: Problem) -> dict[str, Any]:
    """One problem as JSON data; keys that do not apply are null."""
    return {
        "code": problem.code,
        "message": problem.message,
        "meaning": CODES[problem.code][1],
        "exit_status": problem.exit_status,
        "mark": _place(problem.mark),
        "upstream": _place(problem.upstream),
        **({"output": _place(problem.output)} if problem.output else {}),
        **({"overlay": _place(problem.overlay)} if problem.overlay else {}),
        "excerpt": problem.excerpt,
        "hint": problem.hint,
        "also": [{"message": one.message, "upstream": _place(one.upstream)} for one in problem.also],
    }


def also(problem: Problem) -> str:
    """The other places of a problem: the first `MAX_PLACES`, and the count of the rest."""
    places = [str(one.place or one.message) for one in problem.also]
    more = len(places) - MAX_PLACES
    return ", ".join(places[:MAX_PLACES]) + (f" and {more:,} more" if more > 0 else "")


def annotation(problem: Problem, folder: str = "") -> str:
    """One problem as a workflow command of GitHub Actions.

    `folder`: the manifest's in the repository; empty for the top. A line of an overlay comes before that of
    the manifest, which only names the overlay.
    """
    about = [problem.message]
    if problem.upstream:
        about.append(f"upstream: {problem.upstream}")
    if problem.also:
        about.append(f"also: {also(problem)}")
    if problem.hint:
        about.append(f"help: {problem.hint}")
    properties = {"title": problem.code}
    if mark := problem.overlay or problem.mark:
        properties |= {"file": f"{folder}/{mark.file}" if folder else mark.file}
        if mark.line:
            properties |= {"line": str(mark.line)}
        if mark.column:
            properties |= {"col": str(mark.column)}
    written = ",".join(f"{key}={_escape(value, ':,')}" for key, value in sorted(properties.items()))
    return f"::error {written}::{_escape(chr(10).join(about))}"


def _places(problem: Problem) -> list[str]:
    """Where a problem is, outside the manifest, each with the tree that the path is in."""
    if problem.overlay:
        return [f"overlay {problem.overlay}"]
    if problem.output:
        return [f"output {problem.output}, a line that upstream does not have"]
    return [f"upstream {problem.upstream}"] if problem.upstream else []


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: int = 0) -> str:
    """A table in Markdown; `numbers`: how many of its last columns are numbers."""
    kinds = ["---"] * (len(heads) - numbers) + ["---:"] * numbers
    cells = ([cell.replace("|", "\\|").strip() for cell in row] for row in rows)
    return "".join(f"| {' | '.join(row)} |\n" for row in (heads, kinds, *cells))


def clean(text: str) -> str:
    """Text that cannot control a terminal: control and formatting characters are escaped."""
    harmful = ("Cc", "Cf", "Cs", "Zl", "Zp")
    return "".join(ascii(c)[1:-1] if c != "\t" and unicodedata.category(c) in harmful else c for c in text)


def _excerpt(mark: Mark, source: str | None, gutter: str, paint: Any) -> list[str]:
    from rich.cells import cell_len  # width in terminal columns

    rows = source.splitlines() if source is not None and mark.line else []
    if mark.line > len(rows) or not rows:
        return []
    bar = paint("|", _BLUE)
    row = rows[mark.line - 1]
    if not mark.column:
        return [f"{gutter} {bar}", f"{paint(str(mark.line), _BLUE)} {bar} {clean(row)[:WIDTH]}"]
    start = min(mark.column - 1, len(row))
    token = _token(row[start:])
    # a long line is cropped around the marked place
    left = max(0, start - WIDTH // 2) if len(row) > WIDTH else 0
    shown = row[left : left + WIDTH]
    before = clean(row[left:start]).expandtabs(4)
    cells = cell_len(clean(row[start : start + token]).expandtabs(4))
    text = ("…" if left else "") + clean(shown).expandtabs(4) + ("…" if left + WIDTH < len(row) else "")
    indent = cell_len(before) + (1 if left else 0)
    room = max(1, min(cells, WIDTH - cell_len(before)))
    caret = paint("^" * room, _RED)
    return [
        f"{gutter} {bar}",
        f"{paint(str(mark.line), _BLUE)} {bar} {text}",
        f"{gutter} {bar} {' ' * indent}{caret}",
    ]


def _token(rest: str) -> int:
    """Length in characters of the key or value that `rest` starts with; at least 1."""
    if rest[:1] in ('"', "'"):
        end = rest.find(rest[0], 1)
        return end + 1 if end > 0 else 1
    length = next((i for i, c in enumerate(rest) if c.isspace() or c in ",]}:"), len(rest))
    return max(1, length)


def _place(mark: Mark | None) -> dict[str, Any] | None:
    return {"file": mark.file, "line": mark.line, "column": mark.column} if mark else None


def _escape(text: str, more: str = "") -> str:
    for character in "%\r\n" + more:
        text = text.replace(character, f"%{ord(character):02X}")
    return text


def _paint(colour: bool, text: str, style: str) -> str:
    return f"{style}{text}{_RESET}" if colour else text
