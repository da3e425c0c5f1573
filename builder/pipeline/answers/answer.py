"""One answer as a value, in sentences and as JSON data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from builder.emit.ledger import reason_record
from builder.graph.reach import Step
from builder.manifest.statements import Reason

Kind = Literal[
    "batch", "scope", "model", "flag", "route", "variable", "value", "requirement", "path", "folder",
    "symbol", "entry", "script", "package", "word", "fact",
]  # fmt: skip
#: mixed: some of what the word stands for is in the output, and some is not. stated: the manifest states it.
State = Literal["kept", "edited", "added", "removed", "mixed", "stated"]

#: How many of the statements, paths or names of one answer are printed; JSON has all of them.
MAX_LISTED = 10
#: Things of one name of which each gets a whole answer.
MAX_NAMESAKES = 3


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one thing, and why.

    headline  the answer in one sentence, without the full stop
    way       the shortest chain of imports from `start`; None: nothing reaches it, or it is no module
    why       the reason of the batch that decided
    also      what the same rule removes besides
    details   further lines, ready to print
    back      how to change the decision
    """

    kind: Kind
    name: str
    state: State
    headline: str
    reasons: tuple[Reason, ...] = ()
    path: str | None = None
    module: bool = False
    way: tuple[Step, ...] | None = None
    start: str = "a root"
    why: str | None = None
    also: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    back: str | None = None


def sentences(answer: Answer) -> list[str]:
    """The answer for a person: the headline, the way from a root, the statements, how to change it."""
    lines = [f"{answer.headline}."]
    if answer.module and answer.state != "removed":
        if answer.way:
            lines.append(f"  the shortest way from {answer.start}:")
        else:
            lines.append("  no root reaches it" if answer.way is None else f"  it is {answer.start}")
        for step in answer.way or ():
            edge = step.edge
            lines.append(f"    {edge.source} -> {edge.target}  ({edge.kind}, {step.path}:{edge.line})")
    stated = [
        f"  {reason.batch:<10} {reason.rule}" + (f"  ({reason.mark})" if reason.mark else "")
        for reason in answer.reasons
    ]
    lines += stated[:MAX_LISTED]
    if len(stated) > MAX_LISTED:
        lines.append(f"  and {len(stated) - MAX_LISTED:,} more statements (--format json lists all)")
    if answer.why is not None:
        lines.append(f"  {'why':<10} {answer.why}")
    lines += [f"  {line}" for line in answer.details]
    if answer.back is not None:
        lines.append(f"  {answer.back}")
    if answer.also:
        lines.append(f"  the same rule removes {len(answer.also):,} more:")
        lines += [f"    {path}" for path in answer.also[:MAX_LISTED]]
    if len(answer.also) > MAX_LISTED:
        lines.append(f"    ... and {len(answer.also) - MAX_LISTED:,} more")
    return lines


def record(answer: Answer) -> dict[str, Any]:
    """The answer as JSON data."""
    reasons = [reason_record(reason) for reason in answer.reasons]
    way = [(*step.edge, step.path) for step in answer.way or ()]
    steps = [
        {"from": source, "to": target, "kind": kind, "path": path, "line": line}
        for source, target, kind, line, path in way
    ]
    names = "kind", "name", "state", "headline", "path", "reasons", "why", "also", "details", "back", "way"
    values = {name: getattr(answer, name) for name in names}
    return values | {"reasons": reasons, "way": None if answer.way is None else steps}


def listed(names: Iterable[str], most: int = MAX_LISTED) -> str:
    """Return names in one line: the first ones, and how many more there are."""
    names = list(names)
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def plural(number: int, noun: str) -> str:
    """A number with its noun: `1 file`, `2 files`."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun[:-1]}ies" if noun.endswith("y") else f"{number:,} {noun}s"
