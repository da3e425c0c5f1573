"""Compares what two trees gave with real kernels, knowing what upstream repeats."""

from __future__ import annotations

import hashlib
import json
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from verification.results import FAILED, NOT_RUN, PASSED, Case

#: Times and memory that differ by a smaller share are the same.
_MEASURED = 0.01
_PARTS = ("alone", "structured", "together", "mixed")
#: Upstream's own runs may differ by this much in a log-probability and still bound ours: what another
#: order of additions does to bfloat16.
_ROUNDING = 2.0**-4
_FURTHER = 2.0
KNOWN = "ours as in one of upstream's"
NEITHER = "both trees fail and neither declines: this is a fault of the harness or of the machine"


def engines(
    name: str, theirs: Sequence[Mapping[str, Any]], mine: Sequence[Mapping[str, Any]], prompts: int,
    other_kernels: str = "",
) -> Case:  # fmt: skip
    """Compare engines' answers, output by output, over every round of every process.

    An output of ours that is, bit for bit, one that upstream gave is no difference. Where upstream repeats
    an output in all its runs, any other one of ours is. Where it does not, ours is compared with a bound:
    the log-probabilities, up to the first other token, may differ from the nearest of upstream's runs by
    the most that these differ from each other in any output of the configuration.

    Where that is more than rounding it bounds nothing: how far a few runs happen to lie apart says little
    of one more. Ours fails there when it is twice as far, and passes only if each of its outputs is one
    that upstream gave. A variant that upstream does repeat has to show the rest.

    `other_kernels` says which of upstream's kernels ours does not have: what they give is told, not judged.
    """
    crashes = [answer for answer in theirs if "error" in answer]
    ours = [answer for answer in mine if "error" in answer]
    if crashes:
        end = crashes[0]["error"][-4:]
        if ours and not declined([*crashes, *ours]):
            return Case(name, FAILED, (NEITHER, *end))
        return Case(
            name, NOT_RUN, ("upstream cannot run it here", *end, "ours likewise" if ours else "ours runs")
        )
    if ours:
        return Case(name, FAILED, ("upstream runs it, ours fails", *ours[0]["error"]))
    arguments = _differing(theirs[0]["arguments"], mine[0]["arguments"])
    lines = list(arguments)
    parts: dict[str, Any] = {}
    runs = {part: (_runs(theirs, part), _runs(mine, part)) for part in _PARTS}
    apart = max(_spread(upstream) for upstream, _ in runs.values())
    for part, (upstream, emitted) in runs.items():
        wrong, parts[part] = _part(upstream, emitted, apart)
        lines += [f"{part}: {line}" for line in wrong]
    figures = {
        "prompts": prompts,
        "rounds": {side: sum(len(answer["rounds"]) for answer in answers)
                   for side, answers in (("upstream", theirs), ("ours", mine))},
        "apart": _number(apart),
        **parts,
        "digest": mine[0]["digest"],
        "arguments": mine[0]["arguments"],
        "cached tokens": {side: [answer.get("cached") for answer in answers]
                          for side, answers in (("upstream", theirs), ("ours", mine))},
        "acceptance": {"upstream": theirs[0].get("acceptance"), "ours": mine[0].get("acceptance")},
        "seconds": {side: [answer["seconds"] for answer in answers]
                    for side, answers in (("upstream", theirs), ("ours", mine))},
    }  # fmt: skip
    if other_kernels and lines and not arguments:
        return Case(name, NOT_RUN, (other_kernels, *lines), figures)
    known = all(one.get(KNOWN) == one.get("outputs") for one in parts.values())
    if apart > _ROUNDING and not lines and not known:
        said = f"upstream's own runs differ by {apart:.3g}, more than rounding: nothing follows for ours"
        told = (
            f"{part}: upstream repeats {one['upstream repeats']} of {one['outputs']}, ours is as in one of "
            f"its runs in {one[KNOWN]}, and at most {_short(one['ours by'])} from the nearest"
            for part, one in parts.items()
            if one["outputs"]
        )
        return Case(name, NOT_RUN, (said, *told), figures)
    return Case(name, FAILED if lines else PASSED, tuple(lines), figures)


def declined(answers: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether answers of both trees failed because their code says no: nobody can run that here."""
    return all(answer.get("refused") for answer in answers)


_Run = Sequence[Mapping[str, Any]]  # the outputs of one round


def _differing(theirs: Mapping[str, Any], mine: Mapping[str, Any]) -> list[str]:
    """The arguments that both know and that came out otherwise: two configurations are not compared."""
    return [
        f"argument {name}: upstream {theirs[name]!r}, ours {mine[name]!r}"
        for name in sorted(theirs.keys() & mine.keys())
        if theirs[name] != mine[name]
    ]


def _runs(answers: Sequence[Mapping[str, Any]], part: str) -> list[_Run]:
    return [each[part] for answer in answers for each in answer["rounds"]]


def _spread(runs: Sequence[_Run]) -> float:
    """The most that any two runs differ in one output."""
    return max(
        (_apart(a, b) for one in runs for two in runs for a, b in zip(one, two, strict=False)), default=0.0
    )


def _part(theirs: Sequence[_Run], mine: Sequence[_Run], apart: float) -> tuple[list[str], dict[str, Any]]:
    """Differences, and figures, of one kind of request. `apart`: how much upstream's own runs differ."""
    lines: list[str] = []
    count = len(theirs[0])
    if any(len(run) != count for run in (*theirs, *mine)):
        return [f"{count} outputs of upstream, {[len(run) for run in mine]} of ours"], {}
    repeated = [all(run[index] == theirs[0][index] for run in theirs) for index in range(count)]
    equal = [all(run[index] == theirs[0][index] for run in mine) for index in range(count)]
    known = [all(any(run[index] == one[index] for one in theirs) for run in mine) for index in range(count)]
    worst = 0.0
    for index, run in ((index, run) for run in mine for index in range(count)):
        options = [one[index] for one in theirs]
        if run[index] in options:
            continue
        distance = min(_apart(one, run[index]) for one in options)
        worst = max(worst, distance)
        if not apart or (repeated[index] and apart <= _ROUNDING):
            lines.append(f"output {index}: {_difference(options[0], run[index])}")
        elif distance > apart * (1 if apart <= _ROUNDING else _FURTHER):
            lines.append(
                f"output {index}: {distance:.4g} from upstream's nearest, which differ by {apart:.4g}"
            )
    figures: dict[str, Any] = {"outputs": count, "upstream repeats": sum(repeated), "equal": sum(equal)}
    if apart or not all(repeated):
        figures |= {
            "upstream's own differ by": _number(_spread(theirs)), "ours by": _number(worst),
            KNOWN: sum(known),
        }  # fmt: skip
    return lines[:3], figures


def _apart(one: Mapping[str, Any], two: Mapping[str, Any]) -> float:
    """The largest difference of the log-probabilities, up to and with the first token that differs.

    Without bound where one is not a number, or where one output ends and the other goes on.
    """
    if one is two or one == two:
        return 0.0
    largest = 0.0
    for a, b, left, right in zip(one["ids"], two["ids"], one["logprobs"], two["logprobs"], strict=False):
        difference = abs(float.fromhex(left) - float.fromhex(right))
        if math.isnan(difference):
            return math.inf
        largest = max(largest, difference)
        if a != b:
            return largest
    lengths = {len(each[key]) for each in (one, two) for key in ("ids", "logprobs")}
    return largest if len(lengths) == 1 else math.inf


def _number(value: float) -> float | str:
    """As JSON can say it."""
    return value if math.isfinite(value) else "without bound"


def _difference(one: Mapping[str, Any], two: Mapping[str, Any]) -> str:
    what = next((key for key in ("ids", *one) if one[key] != two[key]), "")
    return f"{what}: upstream {_short(one[what])}, ours {_short(two[what])}"


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _short(value: Any) -> str:
    return json.dumps(value)[:300]


def replies(first: Mapping[str, Any], second: Mapping[str, Any], mine: Mapping[str, Any]) -> list[Case]:
    """One case for each request of the corpus."""
    found = []
    for name, said in first.items():
        if mine.get(name) in (said, second.get(name)):
            figures = {"status": said["status"], "digest": _digest(mine[name])}
            found.append(Case(f"reply {name}", PASSED, (), figures))
        elif said != second.get(name):
            found.append(Case(f"reply {name}", NOT_RUN, ("upstream does not repeat itself",)))
        else:
            lines = (f"upstream {json.dumps(said)[:600]}", f"ours {json.dumps(mine.get(name))[:600]}")
            found.append(Case(f"reply {name}", FAILED, lines))
    return found


def alike(one: Any, two: Any) -> bool:
    """Return whether replies are the same but for what rounding does to their numbers."""
    if isinstance(one, float) and isinstance(two, float):
        return abs(one - two) <= _ROUNDING
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(alike(one[key], two[key]) for key in one)
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(alike, one, two))
    return bool(one == two)


def gain(
    name: str, theirs: Sequence[float], mine: Sequence[float], smaller_is_better: bool = True,
    exact: bool = False,
) -> Case:  # fmt: skip
    """Medians and their ratio, ours to upstream's.

    Worse than the worst of upstream's, by more than a hundredth unless `exact`, is a failure: less is not
    measured. So is a value that only upstream has.
    """
    if not theirs or not mine:
        told = "measured of upstream alone" if theirs else "not measured"
        return Case(f"gain {name}", FAILED if theirs else NOT_RUN, (told,))
    one, two = statistics.median(theirs), statistics.median(mine)
    figures = {
        "upstream": list(theirs), "ours": list(mine), "median upstream": one, "median ours": two,
        "ratio": round(two / one, 4) if one else None,
    }  # fmt: skip
    worst = max(theirs) if smaller_is_better else min(theirs)
    allowed = 0.0 if exact else _MEASURED
    worse = two > worst * (1 + allowed) if smaller_is_better else two < worst * (1 - allowed)
    lines = (f"median {two} of ours, upstream's worst is {worst}",) if worse else ()
    return Case(f"gain {name}", FAILED if worse else PASSED, lines, figures)


def benched(answers: Sequence[Mapping[str, Any]]) -> Case:
    """Compare how many requests and tokens the same load ended with, upstream's first."""
    name, figures = "bench_serving", {"upstream and ours": list(answers)}
    if len(answers) < 2:
        return Case(name, NOT_RUN, ("there was no time left",), figures)
    return replace(completed(answers[:1], answers[1:]), name=name, figures=figures)


def completed(theirs: Sequence[Mapping[str, Any]], mine: Sequence[Mapping[str, Any]]) -> Case:
    """Return whether every load of both trees ended, with as many requests and tokens."""
    keys = ("completed", "total_input_tokens", "total_output_tokens")
    one, two = ([[each.get(key) for key in keys] for each in side] for side in (theirs, mine))
    told = [
        f"{role} {each}"
        for role, side in (("upstream", theirs), ("ours", mine))
        for each in side
        if "error" in each
    ]
    if not told and one != two:
        told = [f"upstream {one}, ours {two}"]
    return Case("bench_serving completed", FAILED if told else PASSED, tuple(told), {"each": one})
