"""Compares what two trees gave with real kernels, knowing what upstream repeats."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from verification.results import FAILED, NOT_RUN, PASSED, Case

_PARTS = ("alone", "together", "structured")


def engines(
    name: str, first: Mapping[str, Any], second: Mapping[str, Any], mine: Mapping[str, Any], prompts: int
) -> Case:
    """Compare upstream's run, its second and ours. What upstream does not repeat proves nothing."""
    if "error" in first:
        also = "ours likewise" if "error" in mine else "ours runs"
        return Case(name, NOT_RUN, ("upstream cannot run it here", *first["error"][-4:], also))
    if "error" in mine:
        return Case(name, FAILED, ("upstream runs it, ours fails", *mine["error"]))
    lines, repeated = [], {}
    for part in _PARTS:
        stable = "error" not in second and first[part] == second[part]
        same = first[part] == mine[part]
        repeated[part] = {
            "upstream repeats itself": stable,
            "equal": same,
            **_tokens(first[part], mine[part]),
        }
        if stable and not same:
            lines.append(f"{part}: {_first(first[part], mine[part])}")
    figures = {
        "prompts": prompts,
        **repeated,
        "digest": mine["digest"],
        "arguments": mine["arguments"],
        "acceptance": [first.get("acceptance"), mine.get("acceptance")],
        "seconds": {"upstream": first["seconds"], "ours": mine["seconds"]},
    }
    if lines:
        return Case(name, FAILED, tuple(lines), figures)
    if not repeated["alone"]["upstream repeats itself"]:
        return Case(name, NOT_RUN, ("upstream does not repeat itself bit for bit",), figures)
    return Case(name, PASSED, (), figures)


def _tokens(one: Sequence[Any], two: Sequence[Any]) -> dict[str, int]:
    """How many outputs have the same token ids."""
    pairs = list(zip(one, two, strict=False))
    if not pairs or not isinstance(pairs[0][0], Mapping):
        return {}
    return {"same tokens": sum(a["ids"] == b["ids"] for a, b in pairs), "outputs": len(pairs)}


def _first(one: Sequence[Any], two: Sequence[Any]) -> str:
    for index, (a, b) in enumerate(zip(one, two, strict=False)):
        if a != b:
            what = next((key for key in a if a[key] != b[key]), "") if isinstance(a, Mapping) else ""
            return f"output {index} {what}: upstream {_short(a, what)}, ours {_short(b, what)}"
    return f"{len(one)} outputs of upstream, {len(two)} of ours"


def _short(value: Any, key: str) -> str:
    return json.dumps(value[key] if key else value)[:300]


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
    """Medians and their ratio, ours to upstream's; worse than the worst of upstream's is a failure."""
    if not theirs or not mine:
        return Case(f"gain {name}", NOT_RUN, ("not measured on both sides",))
    one, two = statistics.median(theirs), statistics.median(mine)
    figures = {
        "upstream": list(theirs), "ours": list(mine), "median upstream": one, "median ours": two,
        "ratio": round(two / one, 4) if one else None,
    }  # fmt: skip
    worst = max(theirs) if smaller_is_better else min(theirs)
    worse = two > worst if smaller_is_better else two < worst
    lines = (f"median {two} of ours, upstream's worst is {worst}",) if worse else ()
    return Case(f"gain {name}", FAILED if worse else PASSED, lines, figures)
