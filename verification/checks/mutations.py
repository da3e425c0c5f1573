"""The check of the checks: each mutation of the emitted tree is caught by one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from verification import corpus
from verification.asking import Asker
from verification.checks import arguments, forward, imports, parts
from verification.declared import Declared
from verification.matrix import NUMBERS, Configuration
from verification.mutation import Copy, Mutation
from verification.results import FAILED, NOT_RUN, PASSED, Case, Check
from verification.subjects import Subject

_Trial = Callable[[Subject], Check]


def check(
    asker: Asker,
    upstream: Subject,
    ours: Subject,
    mutations: Iterable[Mutation],
    declared: Declared,
    configurations: Iterable[Configuration],
    cache: Path,
) -> Check:
    """Break a copy of the tree in every way, and run checks until one fails."""
    asker = replace(asker, work=asker.work / "mutations")
    copy = Copy(ours, cache / "broken")
    trials = _trials(asker, upstream, declared, configurations)
    cases = [one(mutation, copy, trials) for mutation in mutations]
    return Check("mutations", tuple(cases))


def one(mutation: Mutation, copy: Copy, trials: Sequence[tuple[str, _Trial]]) -> Case:
    """Which trial catches a mutation first."""
    try:
        copy.break_(mutation)
    except ValueError as nothing:
        return Case(mutation.name, NOT_RUN, (str(nothing),))
    try:
        for name, trial in trials:
            found = trial(copy.subject)
            if found.verdict == FAILED:
                first = next((case for case in found.cases if case.verdict == FAILED), None)
                said = (first.name, *first.lines[:1]) if first else found.lines[:1]
                return Case(mutation.name, PASSED, (f"caught by {name}: {': '.join(said)[:300]}",))
    finally:
        copy.mend(mutation)
    if mutation.survives:
        return Case(mutation.name, NOT_RUN, (f"no check catches it: {mutation.survives}",))
    return Case(mutation.name, FAILED, ("no check catches it",))


def _trials(
    asker: Asker, upstream: Subject, declared: Declared, configurations: Iterable[Configuration]
) -> list[tuple[str, _Trial]]:
    """The checks, those that find most for their time first."""

    def passes(configuration: Configuration) -> _Trial:
        return lambda broken: forward.check(asker, upstream, broken, [configuration], 1)

    in_order = sorted(configurations, key=lambda each: (not each.quick, each.mode != NUMBERS))
    found: list[tuple[str, _Trial]] = [("parts", lambda broken: parts.check(asker, upstream, broken))]
    found += [("forward", passes(each)) for each in in_order if each.quick]
    found += [
        (
            "arguments",
            lambda broken: arguments.check(asker, upstream, broken, corpus.read(), declared),
        )
    ]
    found += [("forward", passes(each)) for each in in_order if not each.quick]
    found += [("imports", lambda broken: imports.check(asker, upstream, broken))]
    return found
