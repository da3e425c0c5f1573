"""Parts of a server on their own give the same in both trees, and what is known beforehand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

from verification.probe_runner import ProbeRunner
from verification.results import FAILED, NOT_RUN, PASSED, Case, Check
from verification.subjects import Subject

_MODELS = {"v3": (3, 58, 61), "v3-nvfp4": (3, 58, 61), "v3-draft": (3, 58, 61), "v32": (3, 58, 61),
           "v2": (1, 59, 60), "moe-16b": (1, 27, 28)}  # fmt: skip
_WIDTH = 200  # characters of a value that are shown
_CALL = {"name": "weather", "arguments": {"city": "Paris"}, "streamed arguments": {"city": "Paris"}}
_THOUGHTS = {"thoughts": "First this, then that.", "answer": "The answer is 4."}
#: What a part that asks for what a version does not have ends with.
_ABSENT = ("ImportError", "ModuleNotFoundError")
#: Facts that hold in any tree which works, by part. A fact that is true or false must be true besides.
EXPECTED: dict[str, dict[str, Any]] = {
    **{
        f"config-{name}": {"dense": dense, "moe": moe, "layers": layers}
        for name, (dense, moe, layers) in _MODELS.items()
    },
    **{f"tools-{name}": _CALL for name in ("v3", "v31", "v32")},
    **{f"thoughts-{name}": _THOUGHTS for name in ("r1", "v3")},
    "routing-v3": {"choices": 512},
    "routing-v3-shared": {"choices": 576},
    "routing-v2": {"choices": 384},
    "tokenizer": {"end": 1},
    "fp4-cache": {"bits a number": 4.0},
    "messages-of-v32": {"thoughts": "So it is.", "answer": "It is.", "called": "weather"},
    "words-from-a-file": {"of the file": 2, "a word comes before the file": 0.7},
    "budget-of-thoughts": {"drawn": [12, 11], "sent and read": "DeepSeekR1ThinkingBudgetLogitProcessor"},
    "no-repeated-words": {"banned": [[7], [], [5, 6], [], [], [], []]},
    "hooks": {
        "heard": ["a Linear", "b Linear", "b ReLU", "b Sequential"],
        "refused": ["ValueError", "AttributeError"],
    },
    "skipped-layers": {"skipped": [True, True, False]},
}


def check(
    asker: ProbeRunner, upstream: Subject, ours: Subject, mode: str = "numbers",
    lost: frozenset[str] = frozenset(),
) -> Check:  # fmt: skip
    """Ask both trees for every part, in a world with numbers.

    `lost`: choices that are declared to be gone; a value whose name begins with one is not compared.
    """
    question = {"mode": mode, "capability": [9, 0], "devices": 1}
    answers, lines = asker.both("parts", (upstream, ours), question, "the parts of")
    if lines:
        return Check("parts", (), lines)
    theirs, mine = (values["parts"] for values in answers)
    cases = [case(name, theirs.get(name), mine.get(name), lost) for name in sorted({*theirs, *mine})]
    return Check("parts", tuple(cases))


def case(
    name: str, theirs: Mapping[str, Any] | None, mine: Mapping[str, Any] | None,
    lost: frozenset[str] = frozenset(),
) -> Case:  # fmt: skip
    """Compare what one part gives: its facts, its values, or the error that it ends with."""
    if theirs is None or mine is None:
        return Case(name, FAILED, (f"{'upstream' if theirs is None else 'ours'} has no such part",))
    if "error" in theirs:
        same = theirs["error"] == mine.get("error")
        lines = (f"upstream: {_error(theirs)}", *(() if same else (f"ours: {_error(mine)}",)))
        if same and not theirs["place"] and not theirs["error"].startswith(_ABSENT):
            return Case(name, FAILED, (*lines, "no code of a tree was running: this part itself is wrong"))
        return Case(name, NOT_RUN if same else FAILED, lines)
    if "error" in mine:
        return Case(name, FAILED, ("upstream gives an answer", f"ours: {_error(mine)}"))
    wrong = [
        f"{what}.{key}{_apart(theirs[what].get(key), mine[what].get(key))}"
        for what in ("facts", "values")
        for key in sorted({*theirs[what], *mine[what]})
        if theirs[what].get(key) != mine[what].get(key) and key.partition(",")[0] not in lost
    ]
    known = EXPECTED.get(name, {})
    wrong += [
        f"{key}: {_short(value)}, and should be {_short(known.get(key, True))}"
        for key, value in mine["facts"].items()
        if value is False or value != known.get(key, value)
    ]
    wrong += [f"{key} is not told" for key in known if key not in mine["facts"]]
    return Case(name, FAILED if wrong else PASSED, tuple(wrong), {"facts": mine["facts"]})


def _apart(theirs: Any, mine: Any) -> str:
    """Two values that differ; of two that are too long to show, where they part."""
    if isinstance(theirs, list) and isinstance(mine, list) and max(map(_length, (theirs, mine))) > _WIDTH:
        pairs = zip_longest(theirs, mine)
        index, (one, two) = next((index, pair) for index, pair in enumerate(pairs) if pair[0] != pair[1])
        return f"[{index}]{_apart(one, two)}"
    return f": upstream {_short(theirs)}, ours {_short(mine)}"


def _length(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False))


def _error(said: Mapping[str, Any]) -> str:
    place = f" ({said['place']})" if said.get("place") else ""
    return f"{said['error']}{place}" if "error" in said else "an answer"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}..."
