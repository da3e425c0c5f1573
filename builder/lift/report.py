"""A survey as Markdown (a report, and a short page), for a terminal, and as JSON data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from builder.errors import CODES, GATE_FAILED, RULE_BROKEN, Mark, Problem
from builder.lift.history import SHORT, Commit
from builder.lift.overlays import Changed
from builder.lift.survey import Survey
from builder.pipeline.answers.answer import plural
from builder.report import also, as_dict, clean, ordered
from builder.templates import filled
from builder.upstream.model import Upstream

#: Rows of a list shown on the page; report.json has all.
_MAX_ROWS = 40
#: Lists of which the page shows every row: what stops the lift.
_WHOLE = ("To decide", "No longer matches", "Paths that no rule decides", "What else stops the build")
#: Lists of what was found, in this order.
_TITLES = (
    "No longer matches", "Optional, and no longer matches", "Paths that no rule decides",
    "New paths that stay", "New facts, without doubt", "Overlays over changed code", "Surface",
)  # fmt: skip
#: Lines of a diff or a merge shown on the page.
_MAX_LINES = 120
#: Problems of one code, and characters of each, that a terminal shows.
_MAX_PROBLEMS, _MAX_WIDTH = 3, 150


def markdown(survey: Survey) -> str:
    """The report: everything, but of long lists only the first rows."""
    problems = survey.sides.done.problems
    of_statements = {item.problem for item in survey.found} | survey.answered
    left = survey.proposed.problems if survey.proposed else ()
    sections: dict[str, list[str]] = {
        "To decide": [_question(q.problem) for q in survey.questions],
        "Decided by hand": [f"{q.problem.message} **{why}**" for q, why in survey.decided],
        **{title: [one.text for one in survey.found if one.title == title] for title in _TITLES},
        "Left before, and stays now": [f"`{n}` ({place})" for n, place in (survey.returned or {}).items()],
        "Dependencies": [one.text for one in survey.of("dependencies")],
        "What else stops the build": [
            _problem(p, survey.causes) for p in problems if p.code != "R003" and p not in of_statements
        ],
        "Left with the proposal": [_problem(p, {}) for p in left],
    }
    parts = [f"# Lift from {named(survey.old)} to {named(survey.new)}", "", *summary(survey), ""]
    for title, rows in sections.items():
        shown = rows if title in _WHOLE else rows[:_MAX_ROWS]
        parts += [f"## {title} ({len(rows):,})", ""] if rows else []
        parts += [f"- {clean(row)}" for row in shown]
        parts += [f"- ... and {len(rows) - len(shown):,} more in report.json"] if rows[len(shown) :] else []
        parts += [""] if rows else []
    for item in survey.found:
        if isinstance(item, Changed):
            parts += [f"## {item.data['path']}: what upstream changed", ""]
            parts += _block("diff", item.data["diff"])
            if item.shown:
                parts += [f"### The merge with {item.data['overlay']}", "", *_block("", item.shown)]
    return _joined(parts)


def page(survey: Survey) -> str:
    """A short page: what happened on the way, and what was decided."""
    lost = [(_cells(item.data), item.problem) for item in survey.of("lost")]
    return filled(
        "lift.md",
        {
            "summary": [(clean(line),) for line in (*summary(survey), *_numbers(survey))],
            "decided": [(_cell(question.id), _cell(why)) for question, why in survey.decided],
            "broken": [cells for cells, problem in lost if problem],
            "quiet": [cells for cells, problem in lost if not problem],
        },
        old=named(survey.old),
        new=named(survey.new),
    )


def terminal(survey: Survey) -> str:
    """The result for a terminal: the sentences of the page, and the first of what is to do."""
    lines = [f"{named(survey.old)} to {named(survey.new)}", ""]
    lines += [f"  {clean(line)}" for line in summary(survey)]
    by_code: dict[str, list[str]] = {}
    for problem in ordered(survey.problems):
        text = clean(problem.message.replace("\n", " "))
        shown = text if len(text) <= _MAX_WIDTH else f"{text[: _MAX_WIDTH - 3]}..."
        by_code.setdefault(problem.code, []).append(f"  {shown}")
    for code, rows in by_code.items():
        lines += ["", f"{code} ({len(rows):,}): {CODES[code][1]}", *rows[:_MAX_PROBLEMS]]
        if len(rows) > _MAX_PROBLEMS:
            lines.append(f"  ... and {len(rows) - _MAX_PROBLEMS:,} more")
    return _joined(lines)


def summary(survey: Survey) -> list[str]:
    """The result in a few sentences."""
    history = survey.sides.history
    lines = [
        f"{plural(len(history.commits), 'commit')} of upstream on the way."
        if history.known
        else "No repository here has the history between the two upstreams, so no commit is named: "
        "name a full clone with `--mirror`."
    ]
    lost = survey.of("lost")
    broken = sum(item.problem is not None for item in lost)
    verb = "matches" if broken == 1 else "match"
    more = f", and {len(lost) - broken:,} that may match nothing" if len(lost) > broken else ""
    lines.append(f"{plural(broken, 'statement')} of the manifest no longer {verb}{more}.")
    covered, kept = sum(survey.covered.values()), len(survey.of("kept"))
    open_paths = sum(len(one.data["paths"]) for one in survey.of("open"))
    lines.append(
        f"{plural(covered + kept + open_paths, 'new path')}: rules take {covered:,}, "
        f"{kept:,} stay without doubt, {open_paths:,} need a rule or a decision."
    )
    if survey.covered:
        lines.append(f"Taken: {', '.join(f'{batch} {count:,}' for batch, count in survey.covered.items())}.")
    if others := [p for p in survey.sides.done.problems if p not in survey.answered]:
        codes = ", ".join(sorted({p.code for p in others}))
        besides = " besides" if survey.answered else ""
        lines.append(f"The build has {plural(len(others), 'problem')}{besides} ({codes}).")
    elif survey.answered:
        lines.append("The build has no other problem.")
    else:
        lines.append("The build passes every gate.")
    if survey.returned is None:
        lines.append(f"What left at {survey.old.spec} and stays now is not known: build it first (`dist`).")
    elif survey.returned:
        definitions = plural(len(survey.returned), "definition")
        lines.append(f"{definitions} left at {survey.old.spec} and would stay now.")
    if survey.proposed is not None:
        lines.append(
            f"The proposal makes {plural(len(survey.proposed.proposals), 'change')}; "
            f"with it, {plural(len(survey.proposed.problems), 'problem')} would be left."
        )
    questions = plural(len(survey.questions), "question")
    lines.append(f"{questions} to decide." if survey.questions else "Nothing else is to decide.")
    if survey.proposed is not None:
        lines.append("Next: `lift --accept` applies the proposal, and tries again.")
        if survey.newer:
            pins = ", ".join(survey.newer)
            lines.append(f"What it adds holds for later versions, too: prove {pins} again with `lock`.")
    elif survey.problems:
        lines.append("Next: edit the manifest, or `--decide ID --because WHY`; then `lift --continue`.")
    return lines


def exit_status(survey: Survey) -> int:
    """5: a rule is broken; 1: a gate fails; 3: questions are open; 0: the lift is done."""
    statuses = {p.exit_status for p in survey.problems}
    return next((s for s in (RULE_BROKEN, GATE_FAILED) if s in statuses), max(statuses, default=0))


def record(survey: Survey) -> dict[str, Any]:
    """The survey as JSON data."""
    old, new, manifest, history = survey.old, survey.new, survey.sides.manifest, survey.sides.history

    def data(key: str) -> list[Any]:
        return [_json(one.data) for one in survey.of(key)]

    return {
        "from": {"spec": old.spec, "commit": old.commit, "tree": old.tree.id},
        "to": {"spec": new.spec, "commit": new.commit, "tree": new.tree.id},
        "manifest": {"file": manifest.file, "digest": manifest.digest},
        "history": history.known,
        "commits": len(history.commits),
        "exit_status": exit_status(survey),
        "summary": summary(survey),
        "questions": [{"id": q.id, "parts": list(q.parts), **as_dict(q.problem)} for q in survey.questions],
        "decided": [{"id": q.id, "why": why} for q, why in survey.decided],
        "lost": data("lost"),
        "arrivals": {"covered": dict(survey.covered), "kept": data("kept"), "open": data("open")},
        "facts": data("facts"),
        "overlays": data("overlays"),
        "surface": data("surface"),
        "returned": survey.returned and dict(survey.returned),
        "dependencies": data("dependencies"),
        "problems": [
            {**as_dict(p), "commit": _json(survey.causes.get(p)), "answered": p in survey.answered}
            for p in ordered(survey.sides.done.problems)
        ],
        "left": survey.proposed and [as_dict(p) for p in ordered(survey.proposed.problems)],
    }


def _json(value: Any) -> Any:
    match value:
        case Commit():
            return {"commit": value.id, "subject": value.subject, "number": value.number}
        case Mapping():
            return {name: _json(one) for name, one in value.items()}
        case tuple():
            return [_json(one) for one in value]
        case Problem():
            return as_dict(value)
        case Mark():
            return str(value)
    return value


def named(upstream: Upstream) -> str:
    """An upstream by the name that the user gave, with its commit."""
    short = upstream.commit[:SHORT]
    return short if upstream.commit.startswith(upstream.spec) else f"{upstream.spec} ({short})"


def _joined(lines: Iterable[str]) -> str:
    return "\n".join(lines).rstrip("\n") + "\n"


def _question(problem: Problem) -> str:
    where = f" ({problem.place})" if problem.place else ""
    return f"**{problem.code}** {problem.message}{where} Propose {problem.hint}."


def _problem(problem: Problem, causes: Mapping[Problem, Commit]) -> str:
    where = ", ".join(str(m) for m in (problem.mark, problem.place) if m)
    text = f"**{problem.code}** {problem.message}" + (f" ({where})" if where else "")
    if problem.also:
        text += f" Also {also(problem)}."
    commits = dict.fromkeys(causes[p] for p in (problem, *problem.also) if p in causes)
    since = ", ".join(c.cited for c in list(commits)[:3])
    return text + (f" Since {since}." if since else "")


def _block(kind: str, text: str) -> Iterator[str]:
    rows = [clean(row) for row in text.splitlines()]
    fence = "`" * max(3, 1 + max((len(r) - len(r.lstrip("`")) for r in rows), default=0))
    more = [f"... {len(rows) - _MAX_LINES:,} more lines"] if len(rows) > _MAX_LINES else []
    yield from (f"{fence}{kind}", *rows[:_MAX_LINES], *more, fence, "")


def _numbers(survey: Survey) -> Iterator[str]:
    """What changed without a question, by numbers."""
    surface = [one.data for one in survey.of("surface")]
    if kinds := Counter((item["kind"], item["change"]) for item in surface):
        counts = ", ".join(f"{kind} {change} {count:,}" for (kind, change), count in sorted(kinds.items()))
        yield f"The surface of the output: {counts}."
    if changes := Counter(row.data["change"] for row in survey.of("dependencies")):
        counts = ", ".join(f"{count:,} {change}" for change, count in sorted(changes.items()))
        yield f"Dependencies that upstream states: {counts}."
    if overlays := survey.of("overlays"):
        yield f"{plural(len(overlays), 'overlay')} over code that upstream changed."


def _cells(lost: Mapping[str, Any]) -> tuple[str, str, str]:
    return _cell(lost["statement"]), lost["batch"], _cell(lost["commit"].cited) if lost["commit"] else ""


def _cell(text: str) -> str:
    return clean(text).replace("|", "\\|")
