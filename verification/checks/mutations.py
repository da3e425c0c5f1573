"""The check of the checks: each mutation of the emitted tree is caught by one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from verification import corpus
from verification.checks import arguments, forward, imports, parts
from verification.declared import Declared
from verification.matrix import NUMBERS, Configuration
from verification.mutation import Copy, Mutation
from verification.probe_runner import ProbeRunner
from verification.results import FAILED, NOT_RUN, PASSED, Case, Check
from verification.subjects import Subject


@dataclass(frozen=True, slots=True)
class Trial:
    """A check that a broken tree goes through."""

    name: str
    run: Callable[[Subject], Check]


def check(
    asker: ProbeRunner,
    upstream: Subject,
    ours: Subject,
    mutations: Iterable[Mutation],
    declared: Declared,
    configurations: Iterable[Configuration],
    cache: Path,
    told: Callable[[Case], None],
) -> Check:
    """Break a copy of the tree in every way, and run checks until one fails. `told` gets each result."""
    asker = replace(asker, work=asker.work / "mutations")
    copy = Copy(ours, cache / "broken")
    trials = _trials(asker, upstream, declared, configurations)
    cases = []
    for mutation in mutations:
        cases.append(one(mutation, copy, _suited(mutation, trials)))
        told(cases[-1])
    return Check("mutations", tuple(cases))


def _suited(mutation: Mutation, trials: Sequence[Trial]) -> list[Trial]:
    """Trials in the order in which they are likely to catch it."""
    return sorted(trials, key=lambda trial: trial.name != "arguments" or mutation.path != "server_args.py")


def one(mutation: Mutation, copy: Copy, trials: Sequence[Trial]) -> Case:
    """Which trial catches a mutation first."""
    try:
        copy.break_(mutation)
    except ValueError as nothing:
        return Case(mutation.name, NOT_RUN, (str(nothing),))
    try:
        for trial in trials:
            found = trial.run(copy.subject)
            if found.verdict == FAILED:
                first = next((case for case in found.cases if case.verdict == FAILED), None)
                said = (first.name, *first.lines[:1]) if first else found.lines[:1]
                return Case(mutation.name, PASSED, (f"caught by {trial.name}: {': '.join(said)[:300]}",))
    finally:
        copy.mend(mutation)
    if mutation.survives:
        return Case(mutation.name, NOT_RUN, (f"no check catches it: {mutation.survives}",))
    return Case(mutation.name, FAILED, ("no check catches it",))


def _trials(
    asker: ProbeRunner, upstream: Subject, declared: Declared, configurations: Iterable[Configuration]
) -> list[Trial]:
    """The checks, those that find most for their time first."""

    def passes(configuration: Configuration) -> Trial:
        def run(broken: Subject) -> Check:
            return forward.check(asker, upstream, broken, [configuration], 1)

        return Trial("forward", run)

    in_order = sorted(configurations, key=lambda each: (not each.quick, each.mode != NUMBERS))
    return [
        Trial("parts", lambda broken: parts.check(asker, upstream, broken)),
        *(passes(each) for each in in_order if each.quick),
        Trial("arguments", lambda broken: arguments.check(asker, upstream, broken, corpus.read(), declared)),
        *(passes(each) for each in in_order if not each.quick),
        Trial("imports", lambda broken: imports.check(asker, upstream, broken)),
    ]
