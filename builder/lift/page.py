"""A lift on one short page: what happened on the way, and what was decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from builder.errors import CODES, Problem
from builder.lift.lost import Lost
from builder.lift.report import cited, counted, named, summary
from builder.lift.survey import Survey
from builder.report import clean, ordered


def page(survey: Survey) -> str:
    """Markdown; the report beside it has every path and every line."""
    lines = [
        f"# {named(survey.old)} to {named(survey.new)}",
        "",
        "<!-- Made by `python -m builder lift`: run it again instead of editing this. -->",
        "",
        *(f"- {clean(line)}" for line in [*summary(survey), *_more(survey)]),
        "",
    ]
    if survey.decided:
        lines += ["## Decided by a person", "", "| what | why it stands |", "| --- | --- |"]
        lines += [f"| `{_cell(q.id)}` | {_cell(d.why)} |" for q, d in survey.decided] + [""]
    lines += _changes("Statements that had to give way", [item for item in survey.lost if item.problem])
    lines += _changes("Optional statements that match no longer", [i for i in survey.lost if not i.problem])
    return "\n".join(lines).rstrip("\n") + "\n"


def terminal(survey: Survey) -> str:
    """The result for a terminal: the sentences of the page, and the first of what is to do."""
    lines = [f"{named(survey.old)} to {named(survey.new)}", ""]
    lines += [f"  {clean(line)}" for line in summary(survey)]
    by_code: dict[str, list[Problem]] = {}
    for problem in ordered(survey.problems):
        by_code.setdefault(problem.code, []).append(problem)
    for code, problems in by_code.items():
        lines += ["", f"{code} ({len(problems):,}): {CODES[code][1]}"]
        lines += [f"  {_short(p)}" for p in problems[:_MAX_ROWS]]
        if len(problems) > _MAX_ROWS:
            lines.append(f"  ... and {len(problems) - _MAX_ROWS:,} more")
    return "\n".join(lines) + "\n"


#: Problems of one code, and characters of each, that a terminal shows.
_MAX_ROWS, _MAX_WIDTH = 3, 150


def _short(problem: Problem) -> str:
    text = clean(problem.message.replace("\n", " "))
    return text if len(text) <= _MAX_WIDTH else f"{text[: _MAX_WIDTH - 3]}..."


def _more(survey: Survey) -> Iterator[str]:
    """What changed without a question, by numbers."""
    if survey.surface:
        kinds = Counter((d.key.kind, d.change) for d in survey.surface)
        counts = ", ".join(f"{kind} {change} {count:,}" for (kind, change), count in sorted(kinds.items()))
        yield f"The surface of the output: {counts}."
    if survey.dependencies:
        changes = Counter(d.change for d in survey.dependencies)
        counts = ", ".join(f"{count:,} {change}" for change, count in sorted(changes.items()))
        yield f"Dependencies that upstream states: {counts}."
    if survey.overlays:
        yield f"{counted(len(survey.overlays), 'overlay')} over code that upstream changed."


def _changes(title: str, items: list[Lost]) -> Iterator[str]:
    if not items:
        return
    yield f"## {title}"
    yield ""
    yield "| statement | batch | upstream's commit |"
    yield "| --- | --- | --- |"
    for item in items:
        commit = cited(item.commit) if item.commit else ""
        yield f"| `{_cell(item.statement.words)}` | {item.statement.batch} | {_cell(commit)} |"
    yield ""


def _cell(text: str) -> str:
    return clean(text).replace("|", "\\|")
