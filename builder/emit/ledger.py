"""The ledger: a line for every path of upstream and of the output, with what happened to it and why."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from builder.errors import BuildError, Problem
from builder.manifest.statements import Reason
from builder.tree import Tree

Verdict = Literal["kept", "edited", "removed", "added"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


@dataclass(frozen=True, slots=True)
class Row:
    """One path. `reason` decided; `also` are the other rules that changed an edited file."""

    path: str
    verdict: Verdict
    reason: Reason
    mode: str  # in the output, or upstream's for a removed path
    before: str | None  # upstream's blob
    after: str | None  # the output's blob
    lines_before: int | None = None  # None: not in upstream, or nothing that has lines
    lines_after: int | None = None
    mode_before: str | None = None  # only where the mode changed
    also: tuple[Reason, ...] = ()

    @property
    def batch(self) -> str:
        return self.reason.batch

    @property
    def lost(self) -> int:
        """Lines by which this path shrank; negative when it grew."""
        return (self.lines_before or 0) - (self.lines_after or 0)


def verdict(before: object, after: object) -> Verdict:
    """What happened to something, from what each side has of it; at least one has something."""
    if not after:
        return "removed"
    if not before:
        return "added"
    return "kept" if before == after else "edited"


def rows(
    upstream: Tree,
    output: Tree,
    reasons: Mapping[str, Sequence[Reason]],
    lines_before: Mapping[str, int],
    lines_after: Mapping[str, int],
) -> tuple[Row, ...]:
    """A row a path, sorted by path. `reasons` names at least one reason a path, the deciding one first.

    Raises BuildError (E070) with every path that has no reason.
    """
    result: list[Row] = []
    unexplained: list[Problem] = []
    for path in sorted(upstream.keys() | output.keys()):
        before, after = upstream.get(path), output.get(path)
        why = reasons.get(path, ())
        if not why:
            unexplained.append(Problem("E070", f"No rule or edit explains what happened to '{path}'."))
            continue
        changed = before is not None and after is not None and before.mode != after.mode
        result.append(
            Row(
                path=path,
                verdict=verdict(before, after),
                reason=why[0],
                mode=(output if after else upstream)[path].mode,
                before=before.blob if before else None,
                after=after.blob if after else None,
                lines_before=lines_before.get(path) if before else None,
                lines_after=lines_after.get(path) if after else None,
                mode_before=before.mode if changed and before else None,
                also=tuple(dict.fromkeys(r for r in why[1:] if r != why[0])),
            )
        )
    if unexplained:
        raise BuildError(unexplained)
    return tuple(result)


def to_bytes(rows: Iterable[Row]) -> bytes:
    """`ledger.jsonl`: compact JSON, one line a path, in the order of the rows (schema/ledger.schema.json)."""
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    text = "".join(encode(_record(row)) + "\n" for row in rows)
    # a name that is not UTF-8 stays one line of valid JSON: its odd bytes become \udcXX escapes
    return text.encode("utf-8", "backslashreplace")


def _record(row: Row) -> dict[str, object]:
    record: dict[str, object] = {
        "path": row.path,
        "verdict": row.verdict,
        **reason_record(row.reason),
        "mode": row.mode,
        "before": row.before,
        "after": row.after,
        "lines_before": row.lines_before,
        "lines_after": row.lines_after,
    }
    if row.mode_before:
        record["mode_before"] = row.mode_before
    if row.also:
        record["also"] = [reason_record(reason) for reason in row.also]
    return record


def reason_record(reason: Reason) -> dict[str, str | None]:
    """A reason as JSON data."""
    return {"batch": reason.batch, "rule": reason.rule, "mark": str(reason.mark) if reason.mark else None}
