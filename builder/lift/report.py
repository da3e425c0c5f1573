"""A survey as Markdown (a report, and a short page), for a terminal, and as JSON data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from builder.errors import CODES, GATE_FAILED, RULE_BROKEN, Mark, Problem
from builder.lift.history import SHORT, Commit
from builder.lift.lost import Lost
from builder.lift.overlays import Changed
from builder.lift.statements import batch_of, words
from builder.lift.surface import Dependency
from builder.lift.survey import Survey
from builder.pipeline.answers.answer import plural
from builder.report import also, as_dict, clean, ordered
from builder.select.suggest import few
from builder.upstream.model import Upstream

#: Rows of a list shown on the page; report.json has all.
_MAX_ROWS = 40
#: Lists of which the page shows every row: what stops the lift.
_WHOLE = ("To decide", "No longer matches", "Paths that no rule decides", "What else stops the build")
#: Lines of a diff or a merge shown on the page.
_MAX_LINES = 120
#: Problems of one code, and characters of each, that a terminal shows.
_MAX_PROBLEMS, _MAX_WIDTH = 3, 150


def markdown(survey: Survey) -> str:
    """The report: everything, but of long lists only the first rows."""
    lost, arrivals = survey.lost, survey.arrivals
    of_statements = {item.problem for item in lost} | survey.answered
    rest = [p for p in survey.build_problems if p.code != "R003" and p not in of_statements]
    left = survey.proposed.problems if survey.proposed else ()
    sections: dict[str, list[str]] = {
        "To decide": [_question(q.problem) for q in survey.questions],
        "Decided by hand": [f"{q.problem.message} **{why}**" for q, why in survey.decided],
        "No longer matches": [_lost(item) for item in lost if item.problem],
        "Optional, and no longer matches": [_lost(item) for item in lost if not item.problem],
        "Paths that no rule decides": [
            f"{g.sentence}{f' They came with `{g.came}`.' if g.came else ''} Proposed: {g.rule}."
            for g in arrivals.groups
            if g.undecided
        ],
        "New paths that stay": [
            f"`{item.path}`: {'; '.join(item.evidence)}{_since(item.commit)}." for item in arrivals.kept
        ],
        "New facts, without doubt": [
            f"`{f.name}` ({f.path}:{f.line}, {f.used} in the output{_since(f.commit)}): {f.evidence}."
            for f in survey.facts
            if not f.open
        ],
        "Overlays over changed code": [_changed(item) for item in survey.overlays],
        "Surface": [
            f"{d.key} {d.change} ({d.place}){f': {d.detail}' if d.detail else ''}" for d in survey.surface
        ],
        "Left before, and stays now": [f"`{n}` ({place})" for n, place in (survey.returned or {}).items()],
        "Dependencies": [_dependency(row) for row in survey.dependencies],
        "What else stops the build": [_problem(p, survey.causes) for p in rest],
        "Left with the proposal": [_problem(p, {}) for p in left],
    }
    parts = [f"# Lift from {named(survey.old)} to {named(survey.new)}", "", *summary(survey), ""]
    for title, rows in sections.items():
        shown = rows if title in _WHOLE else rows[:_MAX_ROWS]
        parts += [f"## {title} ({len(rows):,})", ""] if rows else []
        parts += [f"- {clean(row)}" for row in shown]
        parts += [f"- ... and {len(rows) - len(shown):,} more in report.json"] if rows[len(shown) :] else []
        parts += [""] if rows else []
    for item in survey.overlays:
        parts += [f"## {item.path}: what upstream changed", "", *_block("diff", item.diff)]
        if item.conflicts:
            parts += [f"### The merge with {item.overlay}", "", *_block("", item.shown)]
    return _joined(parts)


def page(survey: Survey) -> str:
    """A short page: what happened on the way, and what was decided."""
    statement = "| statement | batch | upstream's commit |"
    parts = [
        f"# {named(survey.old)} to {named(survey.new)}",
        "",
        "<!-- Made by `python -m builder lift`: run it again instead of editing this. -->",
        "",
        *(f"- {clean(line)}" for line in (*summary(survey), *_numbers(survey))),
        "",
    ]
    for title, heading, rows in (
        (
            "Decided by a person",
            "| what | why it stands |",
            [f"| `{_cell(q.id)}` | {_cell(why)} |" for q, why in survey.decided],
        ),
        ("Statements that had to give way", statement, [_cells(i) for i in survey.lost if i.problem]),
        (
            "Optional statements that match no longer",
            statement,
            [_cells(i) for i in survey.lost if not i.problem],
        ),
    ):
        if rows:
            parts += [f"## {title}", "", heading, "| --- " * (heading.count("|") - 1) + "|", *rows, ""]
    return _joined(parts)


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
    lines = [
        f"{plural(len(survey.history.commits), 'commit')} of upstream on the way."
        if survey.history.known
        else "No repository here has the history between the two upstreams, so no commit is named: "
        "name a full clone with `--mirror`."
    ]
    broken = sum(item.problem is not None for item in survey.lost)
    quiet = len(survey.lost) - broken
    verb = "matches" if broken == 1 else "match"
    more = f", and {quiet:,} that may match nothing" if quiet else ""
    lines.append(f"{plural(broken, 'statement')} of the manifest no longer {verb}{more}.")
    came = survey.arrivals
    covered, open_paths = sum(came.covered.values()), sum(len(g.paths) for g in came.groups)
    lines.append(
        f"{plural(covered + len(came.kept) + open_paths, 'new path')}: rules take {covered:,}, "
        f"{len(came.kept):,} stay without doubt, {open_paths:,} need a rule or a decision."
    )
    if came.covered:
        lines.append(f"Taken: {', '.join(f'{batch} {count:,}' for batch, count in came.covered.items())}.")
    if others := [p for p in survey.build_problems if p not in survey.answered]:
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
    old, new = survey.old, survey.new
    groups = "pattern paths undecided verdict batch evidence came"
    facts = "kind name path line uses evidence open commit"
    dependencies = "change project name before after open"
    return {
        "from": {"spec": old.spec, "commit": old.commit, "tree": old.tree.id},
        "to": {"spec": new.spec, "commit": new.commit, "tree": new.tree.id},
        "manifest": _data(survey.manifest, "file digest"),
        "history": survey.history.known,
        "commits": len(survey.history.commits),
        "exit_status": exit_status(survey),
        "summary": summary(survey),
        "questions": [{"id": q.id, "parts": list(q.parts), **as_dict(q.problem)} for q in survey.questions],
        "decided": [{"id": q.id, "why": why} for q, why in survey.decided],
        "lost": [
            {
                "statement": words(item.statement),
                "batch": batch_of(item.statement),
                **_data(item.statement, "mark optional"),
                **_data(item, "problem commit moved"),
            }
            for item in survey.lost
        ],
        "arrivals": {
            "covered": dict(survey.arrivals.covered),
            "kept": [_data(item, "path evidence commit") for item in survey.arrivals.kept],
            "open": [_data(group, groups) for group in survey.arrivals.groups],
        },
        "facts": [_data(fact, facts) for fact in survey.facts],
        "overlays": [
            {
                **_data(item, "what path conflicts"),
                "merged": item.merged is not None,
                **_data(item, "commits diff"),
            }
            for item in survey.overlays
        ],
        "surface": [
            {"change": d.change, **_data(d.key, "kind group name"), **_data(d, "place detail")}
            for d in survey.surface
        ],
        "returned": survey.returned and dict(survey.returned),
        "dependencies": [_data(row, dependencies) for row in survey.dependencies],
        "problems": [
            {**as_dict(p), "commit": _json(survey.causes.get(p)), "answered": p in survey.answered}
            for p in ordered(survey.build_problems)
        ],
        "left": survey.proposed and [as_dict(p) for p in ordered(survey.proposed.problems)],
    }


def _data(item: object, names: str) -> dict[str, Any]:
    """Attributes as JSON data."""
    return {name: _json(getattr(item, name)) for name in names.split()}


def _json(value: Any) -> Any:
    match value:
        case Commit():
            return {"commit": value.id, **_data(value, "subject number")}
        case tuple():
            return [_json(item) for item in value]
        case Problem():
            return as_dict(value)
        case Mark():
            return str(value)
    return value


def named(upstream: Upstream) -> str:
    """An upstream by the name that the user gave, with its commit."""
    short = upstream.commit[:SHORT]
    return short if upstream.commit.startswith(upstream.spec) else f"{upstream.spec} ({short})"


def cited(commit: Commit) -> str:
    """A commit with its subject, as code: in a pull request, a bare `#1` would link to another project's
    issue, and a bare `@name` would notify that person."""
    subject = commit.subject.removesuffix(f"(#{commit.number})").strip()
    return f"`{commit} {subject.replace('`', chr(39))}`"


def _since(commit: Commit | None) -> str:
    return f", since `{commit}`" if commit else ""


def _joined(lines: Iterable[str]) -> str:
    return "\n".join(lines).rstrip("\n") + "\n"


def _question(problem: Problem) -> str:
    where = f" ({problem.place})" if problem.place else ""
    return f"**{problem.code}** {problem.message}{where} Propose {problem.hint}."


def _lost(item: Lost) -> str:
    statement, problem = item.statement, item.problem
    text = f"`{words(statement)}` (batch {batch_of(statement)}, {statement.mark})"
    if problem is None:
        text += " matched and does not any more"
    elif problem.code in ("R001", "R009"):
        text += " matches nothing any more"
    elif problem.code == "R004" and problem.nothing:
        text += " finds nothing any more"
    else:
        text += f": {problem.message.rstrip('.')}"
    text += f", since {cited(item.commit)}." if item.commit else "."
    if item.moved:
        text += f" It is now in {few(item.moved)}."
    if statement.optional and problem is None:
        text += f" (It may match nothing: {statement.optional}.)"
    if problem is not None and problem.hint and not item.moved:
        text += f" ({problem.hint.rstrip('.')}.)"
    proposed = [_PROPOSED[p.kind] for p in item.proposals]
    return text + (f" Proposed: {' and '.join(proposed)}." if proposed else "")


#: What the proposals for a statement that no longer matches do.
_PROPOSED = {"until": "say how long it matches", "moved": "the same for the new place"}


def _changed(item: Changed) -> str:
    by = f" ({plural(len(item.commits), 'commit')}: {', '.join(f'`{c}`' for c in item.commits[-4:])})"
    text = f"{item.what}, and upstream changed it{by if item.commits else ''}."
    if item.conflicts is None:
        return text
    if item.conflicts:
        return f"{text} A three-way merge has {plural(item.conflicts, 'conflict')}, shown below."
    effect = "changes the overlay" if item.merged is not None else "changes nothing"
    return f"{text} A three-way merge is clean and {effect}: proposed."


def _dependency(row: Dependency) -> str:
    if row.change == "changed":
        return f"{row.project}: `{row.before}` is now `{row.after}`."
    if row.change == "went":
        return f"{row.project}: `{row.before}` is no longer asked for."
    return f"{row.project}: `{row.after}` is new" + (", and the output has it." if row.open else ".")


def _problem(problem: Problem, causes: Mapping[Problem, Commit]) -> str:
    where = ", ".join(str(m) for m in (problem.mark, problem.place) if m)
    text = f"**{problem.code}** {problem.message}" + (f" ({where})" if where else "")
    if problem.also:
        text += f" Also {also(problem)}."
    commits = dict.fromkeys(causes[p] for p in (problem, *problem.also) if p in causes)
    since = ", ".join(cited(c) for c in list(commits)[:3])
    return text + (f" Since {since}." if since else "")


def _block(kind: str, text: str) -> Iterator[str]:
    rows = [clean(row) for row in text.splitlines()]
    fence = "`" * max(3, 1 + max((len(r) - len(r.lstrip("`")) for r in rows), default=0))
    more = [f"... {len(rows) - _MAX_LINES:,} more lines"] if len(rows) > _MAX_LINES else []
    yield from (f"{fence}{kind}", *rows[:_MAX_LINES], *more, fence, "")


def _numbers(survey: Survey) -> Iterator[str]:
    """What changed without a question, by numbers."""
    if survey.surface:
        kinds = Counter((d.key.kind, d.change) for d in survey.surface)
        counts = ", ".join(f"{kind} {change} {count:,}" for (kind, change), count in sorted(kinds.items()))
        yield f"The surface of the output: {counts}."
    if survey.dependencies:
        changes = Counter(row.change for row in survey.dependencies)
        counts = ", ".join(f"{count:,} {change}" for change, count in sorted(changes.items()))
        yield f"Dependencies that upstream states: {counts}."
    if survey.overlays:
        yield f"{plural(len(survey.overlays), 'overlay')} over code that upstream changed."


def _cells(item: Lost) -> str:
    commit = _cell(cited(item.commit)) if item.commit else ""
    return f"| `{_cell(words(item.statement))}` | {batch_of(item.statement)} | {commit} |"


def _cell(text: str) -> str:
    return clean(text).replace("|", "\\|")
