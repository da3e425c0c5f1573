"""The one shape of all that a lift finds: a sentence for the report, data, a question, and proposals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from builder.errors import Mark, Problem
from builder.lift.insert import Proposal


@dataclass(frozen=True, slots=True)
class Question:
    """Something that stops the lift until a rule or a person decides it.

    `id` names it in decisions, and so does each of its `causes`, which several questions may share.
    `parts`: the ids of the things that it is about; decisions on all of them decide it too.
    """

    id: str
    problem: Problem
    parts: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()

    def decided(self, decisions: Mapping[str, str]) -> str | None:
        """The reason of the first decision on it, or on the first of its parts if all are decided; None if it
        is open."""

        def why(name: str) -> str | None:
            return next((why for pattern, why in decisions.items() if fnmatchcase(name, pattern)), None)

        own = next(filter(None, map(why, (self.id, *self.causes))), None)
        parts = [why(part) for part in self.parts]
        return own if own is not None or not parts or None in parts else parts[0]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is new, different or gone at the new upstream.

    `key`: its list in report.json, which has its `data`. `title`: the section of the report that has its
    `text`; where it is empty, the question alone says it. `problem`: that of the build which it explains.
    """

    key: str
    title: str
    text: str
    data: Mapping[str, Any]
    question: Question | None = None
    proposals: tuple[Proposal, ...] = ()
    problem: Problem | None = None


def ask(
    code: str,
    name: str,
    text: str,
    remedy: str,
    place: Mark,
    mark: Mark | None = None,
    **more: tuple[str, ...],
) -> Question:
    """A question with its problem; `remedy`: what answers it besides a decision."""
    return Question(name, Problem(code, text, mark, upstream=place, hint=_hint(remedy, name)), **more)


def _hint(remedy: str, name: str) -> str:
    return f"{remedy}, or `--decide '{name}'`"


def plain(word: str) -> str:
    """A word without what tells its spellings apart."""
    return word.lower().replace("-", "_")


def joined(questions: Iterable[Question]) -> list[Question]:
    """The questions, where those that share a cause, or are joined by others that do, have one cause."""
    asked = list(questions)
    groups: list[tuple[set[str], list[int]]] = []
    for number, question in enumerate(asked):
        causes, members = set(question.causes), [number]
        for group in [group for group in groups if not group[0].isdisjoint(causes)]:
            groups.remove(group)
            causes, members = causes | group[0], sorted([*group[1], *members])
        groups.append((causes, members))
    for _, (first, *others) in groups:
        for number in (first, *others):
            asked[number] = replace(asked[number], causes=asked[first].causes[:1])
    return asked


def merged(questions: Iterable[Question]) -> Iterator[Question]:
    """Yield the questions with those of one cause as one."""
    by_cause: dict[str, list[Question]] = {}
    for question in questions:
        by_cause.setdefault(next(iter(question.causes), question.id), []).append(question)
    for cause, (first, *others) in by_cause.items():
        if not others:
            yield first
            continue
        names = ", ".join(f"`{one.id.partition(':')[2]}`" for one in others)
        problem = replace(
            first.problem,
            message=f"{first.problem.message} So did {names}.",
            hint=_hint("state them under `facts`, or edit what has them", cause),
        )
        parts = dict.fromkeys(part for one in (first, *others) for part in (one.id, *one.parts))
        yield Question(cause, problem, tuple(parts))
