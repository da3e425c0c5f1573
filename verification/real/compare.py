"""Compares what two trees gave with real kernels, knowing what upstream repeats."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from verification.results import FAILED, NOT_RUN, PASSED, Case

#: Times and bytes that differ by a smaller share are the same.
_MEASURED = 0.01
_PARTS = ("alone", "structured", "together")
#: Upstream's own runs may differ by this much in a log-probability and still bound ours: what another
#: order of additions does to bfloat16.
_ROUNDING = 2.0**-4


def engines(
    name: str, theirs: Sequence[Mapping[str, Any]], mine: Sequence[Mapping[str, Any]], prompts: int
) -> Case:
    """Compare engines' answers, output by output, over every round of every process.

    Where upstream repeats itself, ours has to be the same bit for bit. A configuration in which upstream
    itself does not is compared with a bound: the log-probabilities of ours, up to the first other token,
    may differ from the nearest of upstream's runs by the most that these differ from each other.

    Where that is more than rounding, what upstream's few runs happened to differ by bounds nothing. If ours
    was one more of them, each would be the one farthest from the others equally often: of four and ours,
    ours in a fifth of the outputs. In more than half of them it fails; otherwise it cannot pass either.
    """
    crashes = [answer["error"] for answer in theirs if "error" in answer]
    ours = [answer["error"] for answer in mine if "error" in answer]
    if crashes:
        also = "ours likewise" if ours else "ours runs"
        return Case(name, NOT_RUN, ("upstream cannot run it here", *crashes[0][-4:], also))
    if ours:
        return Case(name, FAILED, ("upstream runs it, ours fails", *ours[0]))
    lines: list[str] = []
    parts: dict[str, Any] = {}
    runs = {part: (_runs(theirs, part), _runs(mine, part)) for part in _PARTS}
    apart = max(_spread(upstream) for upstream, _ in runs.values())
    for part, (upstream, emitted) in runs.items():
        wrong, parts[part] = _part(upstream, emitted, apart)
        lines += [f"{part}: {line}" for line in wrong]
    odd = [each for upstream, emitted in runs.values() for each in _odd(upstream, emitted)]
    if apart > _ROUNDING:
        parts["ours farthest"] = f"{sum(odd)} of {len(odd)}"
        if 2 * sum(odd) > len(odd):
            lines.append(f"ours is the one farthest from the others in {sum(odd)} of {len(odd)} outputs")
    figures = {
        "prompts": prompts,
        "rounds": {side: sum(len(answer["rounds"]) for answer in answers)
                   for side, answers in (("upstream", theirs), ("ours", mine))},
        "apart": apart,
        **parts,
        "digest": mine[0]["digest"],
        "arguments": mine[0]["arguments"],
        "acceptance": {"upstream": theirs[0].get("acceptance"), "ours": mine[0].get("acceptance")},
        "seconds": {side: [answer["seconds"] for answer in answers]
                    for side, answers in (("upstream", theirs), ("ours", mine))},
    }  # fmt: skip
    if apart > _ROUNDING and not lines:
        said = f"upstream's own runs differ by {apart:.3g}, more than rounding: nothing follows for ours"
        return Case(name, NOT_RUN, (said,), figures)
    return Case(name, FAILED if lines else PASSED, tuple(lines), figures)


_Run = Sequence[Mapping[str, Any]]  # the outputs of one round


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
    worst = 0.0
    for index, run in ((index, run) for run in mine for index in range(count)):
        if run[index] == theirs[0][index]:
            continue
        distance = min(_apart(one[index], run[index]) for one in theirs)
        worst = max(worst, distance)
        if not apart:
            lines.append(f"output {index}: {_difference(theirs[0][index], run[index])}")
        elif apart <= _ROUNDING and distance > apart:
            lines.append(
                f"output {index}: {distance:.4g} from upstream's nearest, which differ by {apart:.4g}"
            )
    figures: dict[str, Any] = {"outputs": count, "upstream repeats": sum(repeated), "equal": sum(equal)}
    if apart:
        figures |= {"upstream's own differ by": _spread(theirs), "ours by": worst}
    return lines[:3], figures


def _odd(theirs: Sequence[_Run], mine: Sequence[_Run]) -> list[bool]:
    """For each output of each run of ours: is it farther from upstream's than these from each other?"""
    found: list[bool] = []
    for index in range(min(len(run) for run in (*theirs, *mine))):
        upstream = [run[index] for run in theirs]
        own = max(
            min((_apart(one, two) for two in upstream if two is not one), default=0.0) for one in upstream
        )
        found += [min(_apart(one, run[index]) for one in upstream) > own for run in mine]
    return found


def _apart(one: Mapping[str, Any], two: Mapping[str, Any]) -> float:
    """The largest difference of the log-probabilities, up to and with the first token that differs."""
    if one is two:
        return 0.0
    largest = 0.0
    for a, b, left, right in zip(one["ids"], two["ids"], one["logprobs"], two["logprobs"], strict=False):
        largest = max(largest, abs(float.fromhex(left) - float.fromhex(right)))
        if a != b:
            break
    return largest


def _difference(one: Mapping[str, Any], two: Mapping[str, Any]) -> str:
    what = next((key for key in ("ids", *one) if one[key] != two[key]), "")
    return f"{what}: upstream {_short(one[what])}, ours {_short(two[what])}"


def _short(value: Any) -> str:
    return json.dumps(value)[:300]


def replies(first: Mapping[str, Any], second: Mapping[str, Any], mine: Mapping[str, Any]) -> list[Case]:
    """One case for each request of the corpus."""
    found = []
    for name, said in first.items():
        if said == mine.get(name):
            found.append(Case(f"reply {name}", PASSED, (), {"status": said["status"]}))
        elif said != second.get(name):
            found.append(Case(f"reply {name}", NOT_RUN, ("upstream does not repeat itself",)))
        else:
            lines = (f"upstream {json.dumps(said)[:600]}", f"ours {json.dumps(mine.get(name))[:600]}")
            found.append(Case(f"reply {name}", FAILED, lines))
    return found


def gain(name: str, theirs: Sequence[float], mine: Sequence[float], smaller_is_better: bool = True) -> Case:
    """Medians and their ratio, ours to upstream's.

    Worse than the worst of upstream's, by more than a hundredth, is a failure: less is not measured.
    """
    if not theirs or not mine:
        return Case(f"gain {name}", NOT_RUN, ("not measured on both sides",))
    one, two = statistics.median(theirs), statistics.median(mine)
    figures = {
        "upstream": list(theirs), "ours": list(mine), "median upstream": one, "median ours": two,
        "ratio": round(two / one, 4) if one else None,
    }  # fmt: skip
    worst = max(theirs) if smaller_is_better else min(theirs)
    worse = two > worst * (1 + _MEASURED) if smaller_is_better else two < worst * (1 - _MEASURED)
    lines = (f"median {two} of ours, upstream's worst is {worst}",) if worse else ()
    return Case(f"gain {name}", FAILED if worse else PASSED, lines, figures)
