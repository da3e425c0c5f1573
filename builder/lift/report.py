"""A survey as Markdown and as JSON data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from builder.adapter import MIRROR
from builder.errors import GATE_FAILED, RULE_BROKEN, Problem
from builder.lift.arrivals import Group, New
from builder.lift.history import SHORT, Commit
from builder.lift.lost import Lost
from builder.lift.overlays import Changed
from builder.lift.predicates import NewFact
from builder.lift.survey import Survey, uses
from builder.report import also, as_dict, clean, ordered
from builder.upstream.model import Upstream

#: Rows of a list shown on the page; report.json has all.
_MAX_ROWS = 40
#: Lines of a diff or a merge shown on the page.
_MAX_LINES = 120


def markdown(survey: Survey) -> str:
    """The report as a page."""
    title = f"# Lift from {named(survey.old)} to {named(survey.new)}"
    parts = [title, "", *summary(survey), ""]
    parts += _section("To decide", [_question(q.problem) for q in survey.questions], most=None)
    parts += _section("Decided by hand", [f"{q.problem.message} **{d.why}**" for q, d in survey.decided])
    parts += _section("No longer matches", [_lost(item) for item in survey.lost if item.problem], most=None)
    quiet = [_lost(item) for item in survey.lost if not item.problem]
    parts += _section("Optional, and no longer matches", quiet)
    undecided = [g.sentence + _proposal(g) for g in survey.arrivals.groups if g.undecided]
    parts += _section("Paths that no rule decides", undecided, most=None)
    parts += _section("New paths that stay", [_stays(item) for item in survey.arrivals.kept])
    parts += _section("New facts, without doubt", [_fact(f) for f in survey.facts if not f.open])
    parts += _section("Overlays over changed code", [_changed(item) for item in survey.overlays])
    parts += _section("Surface", [_surface(d) for d in survey.surface])
    parts += _section(
        "Left before, and stays now", [f"`{n}` ({p})" for n, p in (survey.returned or {}).items()]
    )
    parts += _section("Dependencies", [_dependency(d) for d in survey.dependencies])
    rest = [p for p in survey.build_problems if not _is_told(p, survey)]
    parts += _section("What else stops the build", [_row(p, survey) for p in rest], most=None)
    if survey.proposed is not None:
        parts += _section("Left with the proposal", [_row(p, None) for p in survey.proposed.problems])
    parts += _details(survey.overlays)
    return "\n".join(parts).rstrip("\n") + "\n"


def summary(survey: Survey) -> list[str]:
    """The result in a few sentences."""
    lines = []
    if survey.history.known:
        lines.append(f"{counted(len(survey.history.commits), 'commit')} of upstream on the way.")
    else:
        lines.append(
            "No repository here has the history between the two upstreams, so no commit is named: "
            f"set `{MIRROR}` to a full clone."
        )
    broken = [item for item in survey.lost if item.problem]
    verb = "matches" if len(broken) == 1 else "match"
    quiet = len(survey.lost) - len(broken)
    more = f", and {quiet:,} that may match nothing" if quiet else ""
    lines.append(f"{counted(len(broken), 'statement')} of the manifest no longer {verb}{more}.")
    came = survey.arrivals
    covered, open_paths = sum(came.covered.values()), sum(len(g.paths) for g in came.groups)
    lines.append(
        f"{counted(covered + len(came.kept) + open_paths, 'new path')}: rules take {covered:,}, "
        f"{len(came.kept):,} stay without doubt, {open_paths:,} need a rule or a decision."
    )
    if came.covered:
        lines.append(
            "Taken: " + ", ".join(f"{batch} {count:,}" for batch, count in came.covered.items()) + "."
        )
    codes = sorted({p.code for p in survey.build_problems})
    if codes:
        lines.append(f"The build has {counted(len(survey.build_problems), 'problem')} ({', '.join(codes)}).")
    else:
        lines.append("The build passes every gate.")
    if survey.returned is None:
        lines.append(f"What left at {survey.old.spec} and stays now is not known: build it first (`dist`).")
    elif survey.returned:
        lines.append(
            f"{counted(len(survey.returned), 'definition')} left at {survey.old.spec} and would stay now."
        )
    if survey.proposed is not None:
        lines.append(
            f"The proposal makes {counted(len(survey.proposed.proposals), 'change')}; "
            f"with it, {counted(len(survey.proposed.problems), 'problem')} would be left."
        )
    lines.append(
        f"{counted(len(survey.questions), 'question')} to decide."
        if survey.questions
        else "Nothing else is to decide."
    )
    return lines


def exit_status(survey: Survey) -> int:
    """5: a rule is broken; 1: a gate fails; 3: questions are open; 0: the lift is done."""
    statuses = {p.exit_status for p in survey.problems}
    for status in (RULE_BROKEN, GATE_FAILED):
        if status in statuses:
            return status
    return max(statuses, default=0)


def record(survey: Survey) -> dict[str, Any]:
    """The survey as JSON data."""
    return {
        "from": _upstream(survey.old),
        "to": _upstream(survey.new),
        "manifest": {"file": survey.manifest.file, "digest": survey.manifest.digest},
        "history": survey.history.known,
        "commits": len(survey.history.commits),
        "exit_status": exit_status(survey),
        "summary": summary(survey),
        "questions": [{"id": q.id, **as_dict(q.problem)} for q in survey.questions],
        "decided": [{"id": q.id, "why": d.why} for q, d in survey.decided],
        "lost": [
            {
                "statement": item.statement.words,
                "batch": item.statement.batch,
                "mark": str(item.statement.mark),
                "optional": item.statement.optional,
                "problem": as_dict(item.problem) if item.problem else None,
                "commit": _commit(item.commit),
                "moved": list(item.moved),
            }
            for item in survey.lost
        ],
        "arrivals": {
            "covered": dict(survey.arrivals.covered),
            "kept": [
                {
                    "path": n.path,
                    "evidence": list(n.evidence),
                    "commit": _commit(n.arrival.commit if n.arrival else None),
                }
                for n in survey.arrivals.kept
            ],
            "open": [
                {
                    "pattern": g.pattern,
                    "paths": list(g.paths),
                    "undecided": g.undecided,
                    "verdict": g.verdict,
                    "batch": g.batch,
                    "evidence": list(g.evidence),
                    "came": g.came,
                }
                for g in survey.arrivals.groups
            ],
        },
        "facts": [
            {
                "kind": f.kind,
                "name": f.name,
                "path": f.path,
                "line": f.line,
                "uses": f.uses,
                "evidence": f.evidence,
                "open": f.open,
                "commit": _commit(f.commit),
            }
            for f in survey.facts
        ],
        "overlays": [
            {
                "what": c.what,
                "path": c.path,
                "conflicts": c.conflicts,
                "merged": c.merged is not None,
                "commits": [_commit(one) for one in c.commits],
                "diff": c.diff,
            }
            for c in survey.overlays
        ],
        "surface": [
            {"change": d.change, "kind": d.key.kind, "group": d.key.group, "name": d.key.name,
             "place": d.place, "detail": d.detail}
            for d in survey.surface
        ],
        "returned": survey.returned and dict(survey.returned),
        "dependencies": [
            {"change": d.change, "project": d.project, "name": d.name, "before": d.before,
             "after": d.after, "open": d.open}
            for d in survey.dependencies
        ],
        "problems": [
            {**as_dict(p), "commit": _commit(survey.causes.get(p))} for p in ordered(survey.build_problems)
        ],
        "left": None if survey.proposed is None else [as_dict(p) for p in ordered(survey.proposed.problems)],
    }  # fmt: skip


def named(upstream: Upstream) -> str:
    """An upstream by the name that the user gave, with its commit."""
    short = upstream.commit[:SHORT] if upstream.commit else ""
    asked = upstream.spec
    return short if short and upstream.commit and upstream.commit.startswith(asked) else f"{asked} ({short})"


def _section(title: str, rows: Sequence[str], most: int | None = _MAX_ROWS) -> Iterator[str]:
    if not rows:
        return
    yield f"## {title} ({len(rows):,})"
    yield ""
    shown = rows if most is None else rows[:most]
    yield from (f"- {clean(row)}" for row in shown)
    if len(rows) > len(shown):
        yield f"- ... and {len(rows) - len(shown):,} more in report.json"
    yield ""


def _question(problem: Problem) -> str:
    where = f" ({problem.place})" if problem.place else ""
    return f"**{problem.code}** {problem.message}{where} Propose {problem.hint}."


def _lost(item: Lost) -> str:
    statement = item.statement
    text = f"`{statement.words}` (batch {statement.batch}, {statement.mark})"
    if item.problem is None:
        text += " matched and does not any more"
    elif item.problem.code in ("R001", "R009"):
        text += " matches nothing any more"
    elif item.problem.code == "R004" and item.problem.nothing:
        text += " finds nothing any more"
    else:
        text += f": {item.problem.message.rstrip('.')}"
    text += f", since {cited(item.commit)}." if item.commit else "."
    if item.moved:
        text += f" It is now in {', '.join(f'`{name}`' for name in item.moved[:3])}"
        text += f" and {len(item.moved) - 3} more." if len(item.moved) > 3 else "."
    if statement.optional and item.problem is None:
        text += f" (It may match nothing: {statement.optional}.)"
    if item.problem is not None and item.problem.hint and not item.moved:
        text += f" ({item.problem.hint.rstrip('.')}.)"
    words = {"until": "say how long it matches", "moved": "the same for the new place"}
    proposed = [words[p.kind] for p in item.proposals if p.kind in words]
    return text + (f" Proposed: {' and '.join(proposed)}." if proposed else "")


def _proposal(group: Group) -> str:
    where = "at the top" if group.batch == "base" else f"in batch {group.batch}"
    came = f" They came with `{group.came}`." if group.came else ""
    return f"{came} Proposed: `{group.verdict}: {group.pattern}` {where}."


def _stays(item: New) -> str:
    commit = f", since `{item.arrival.commit}`" if item.arrival else ""
    return f"`{item.path}`: {'; '.join(item.evidence)}{commit}."


def _fact(fact: NewFact) -> str:
    commit = f", since `{fact.commit}`" if fact.commit else ""
    return f"`{fact.name}` ({fact.path}:{fact.line}, {uses(fact)} in the output{commit}): {fact.evidence}."


def _changed(item: Changed) -> str:
    by = f" ({counted(len(item.commits), 'commit')}: {', '.join(f'`{c}`' for c in item.commits[-4:])})"
    text = f"{item.what}, and upstream changed it{by if item.commits else ''}."
    if item.conflicts is None:
        return text
    if item.conflicts:
        return f"{text} A three-way merge has {counted(item.conflicts, 'conflict')}, shown below."
    effect = "changes the overlay" if item.merged is not None else "changes nothing"
    return f"{text} A three-way merge is clean and {effect}: proposed."


def _surface(difference: Any) -> str:
    detail = f": {difference.detail}" if difference.detail else ""
    return f"{difference.key} {difference.change} ({difference.place}){detail}"


def _dependency(row: Any) -> str:
    if row.change == "changed":
        return f"{row.project}: `{row.before}` is now `{row.after}`."
    if row.change == "went":
        return f"{row.project}: `{row.before}` is no longer asked for."
    return f"{row.project}: `{row.after}` is new" + (", and the output has it." if row.open else ".")


def _problem(problem: Problem) -> str:
    where = ", ".join(str(m) for m in (problem.mark, problem.place) if m)
    return f"**{problem.code}** {problem.message}" + (f" ({where})" if where else "")


def _row(problem: Problem, survey: Survey | None) -> str:
    text = _problem(problem)
    if problem.also:
        text += f" Also {also(problem)}."
    commits = {c: None for p in (problem, *problem.also) if survey and (c := survey.causes.get(p))}
    since = ", ".join(cited(c) for c in list(commits)[:3])
    return text + (f" Since {since}." if since else "")


def _is_told(problem: Problem, survey: Survey) -> bool:
    return problem.code == "R003" or any(item.problem == problem for item in survey.lost)


def _details(changed: Iterable[Changed]) -> Iterator[str]:
    for item in changed:
        yield f"## {item.path}: what upstream changed"
        yield ""
        yield from _block("diff", item.diff)
        if item.conflicts:
            yield f"### The merge with {item.overlay}"
            yield ""
            yield from _block("", item.shown)


def _block(kind: str, text: str) -> Iterator[str]:
    rows = [clean(row) for row in text.splitlines()]
    fence = "`" * max(3, 1 + max((len(r) - len(r.lstrip("`")) for r in rows), default=0))
    yield f"{fence}{kind}"
    yield from rows[:_MAX_LINES]
    if len(rows) > _MAX_LINES:
        yield f"... {len(rows) - _MAX_LINES:,} more lines"
    yield fence
    yield ""


def counted(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def cited(commit: Commit) -> str:
    """A commit with its subject, as code: in a pull request, a bare `#1` would link to another project's
    issue, and a bare `@name` would notify that person."""
    subject = commit.subject.removesuffix(f"(#{commit.number})").strip()
    return f"`{commit} {subject.replace('`', chr(39))}`"


def _commit(commit: Any) -> dict[str, Any] | None:
    return {"commit": commit.id, "subject": commit.subject, "number": commit.number} if commit else None


def _upstream(upstream: Upstream) -> dict[str, Any]:
    return {"spec": upstream.spec, "commit": upstream.commit, "tree": upstream.tree.id}
