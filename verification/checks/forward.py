"""Prefill and decode in every configuration: the same operations on the same data, the same results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from verification.matrix import Configuration
from verification.probe_runner import Answer, ProbeRunner, side_by_side
from verification.results import FAILED, NOT_RUN, PASSED, Case, Check
from verification.subjects import Subject

_WIDTH = 400  # characters of an event that are shown


def check(
    asker: ProbeRunner, upstream: Subject, ours: Subject, configurations: Iterable[Configuration], jobs: int
) -> Check:
    """Run both trees in every configuration, `jobs` processes at a time."""

    def one(configuration: Configuration) -> Case:
        answers = [
            asker.ask("forward", subject, configuration.name, configuration.question(subject is upstream))
            for subject in (upstream, ours)
        ]
        return compare(configuration.name, *answers)

    with side_by_side(jobs) as pool:
        return Check("forward", tuple(pool.map(one, configurations)))


def compare(name: str, theirs: Answer, mine: Answer) -> Case:
    """Compare what two runs of one configuration said."""
    if theirs.values is None:
        also = "" if mine.values is None else "; ours can"
        return Case(name, NOT_RUN, (f"upstream cannot run it here{also}", *theirs.lines[-4:]))
    if mine.values is None:
        return Case(name, FAILED, ("upstream runs it, ours fails", *mine.lines))
    figures = {
        "events": len(mine.values["events"]),
        "digest": mine.values["digest"],
        "attention": mine.values["attention"],
        "seconds": {"upstream": theirs.seconds, "ours": mine.seconds},
        "not modelled": mine.values["unmodelled"],
        "unknown numbers read": len(mine.values["unknown"]),
    }
    if "layers" in mine.values["outcome"]:
        figures["layers"] = mine.values["outcome"]["layers"]
    lines = [*_outcomes(theirs.values, mine.values), *first_difference(theirs.values, mine.values)]
    if not lines and not _worked(mine.values):
        return Case(name, FAILED, ("nothing was recorded, or the numbers are not finite",), figures)
    return Case(name, FAILED if lines else PASSED, tuple(lines), figures)


def _worked(values: Mapping[str, Any]) -> bool:
    passes = values["outcome"].get("passes", ())
    finite = all(each.get("finite", True) for each in passes)
    return finite and len(values["events"]) > values["started"] > 0


def _outcomes(theirs: Mapping[str, Any], mine: Mapping[str, Any]) -> list[str]:
    return [
        f"{key}: upstream {_short(theirs['outcome'].get(key))}, ours {_short(mine['outcome'].get(key))}"
        for key in sorted({*theirs["outcome"], *mine["outcome"]})
        if theirs["outcome"].get(key) != mine["outcome"].get(key)
    ]


def first_difference(theirs: Mapping[str, Any], mine: Mapping[str, Any]) -> list[str]:
    """Where two lists of events part: the events, and the lines of both trees that caused them."""
    one, two = theirs["events"], mine["events"]
    for index, (a, b) in enumerate(zip(one, two, strict=False)):
        if a != b:
            return [
                f"event {index} of {len(one)} (upstream) and {len(two)} (ours) differs",
                f"upstream {theirs['sites'][index]}: {_short(a)}",
                f"ours     {mine['sites'][index]}: {_short(b)}",
            ]
    if len(one) == len(two):
        return []
    longer, role = (theirs, "upstream") if len(one) > len(two) else (mine, "ours")
    index = min(len(one), len(two))
    return [
        f"{role} goes on after {index} events, for {abs(len(one) - len(two))} more",
        f"{role} {longer['sites'][index]}: {_short(longer['events'][index])}",
    ]


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}..."
