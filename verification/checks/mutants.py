"""Random mutants of the lines that the cheap checks execute, and which of them a check kills."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from verification import corpus, mutants
from verification.checks import arguments
from verification.matrix import CONFIGURATIONS, NUMBERS, Configuration
from verification.mutants import Mutant
from verification.probe_runner import ProbeRunner
from verification.results import NOT_RUN, PASSED, Case, Check
from verification.subjects import Subject

#: At least so much of those that ran is killed.
SHARE = 0.8
UNREAD = "nobody has looked at it"
REASONS = Path(__file__).parents[1] / "survivors.yaml"
_PACKAGE = "python/sglang/srt/"
_NAMED = ("parts", "arguments")  # whose trials have names of their own
_WORLD = {"mode": NUMBERS, "capability": [9, 0], "devices": 1}
_DRAWN = ("v3-numbers",)  # forward passes whose lines are mutated, besides those of parts and arguments
#: Those that only try what the others let pass: layouts over eight GPUs, FP8, a scheduler, and drafts.
_TRIED = (
    "v3-sm90-default", "v3-sm90-deepep", "v3-numbers-fp8-triton", "v3-numbers-requests", "v3-numbers-nextn"
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Survivor:
    """Why no check has to tell a mutant from the tree: `function` is a pattern, `before` what was edited.

    `equivalent`: nothing can tell them apart, so that the mutant does not count.
    """

    path: str
    function: str
    before: str
    why: str
    equivalent: bool = False

    def told(self, path: str, function: str, shown: str) -> bool:
        """Whether it covers a mutant of which evidence tells the edit, perhaps the beginning of it."""
        literal = self.before.partition("*")[0].replace("[[]", "[")
        beginning = " ".join(shown.partition(" -> ")[0].removesuffix("...").split())
        alike = literal.startswith(beginning) or beginning.startswith(literal)
        return path == self.path and fnmatchcase(function, self.function) and alike

    def covers(self, one: Mutant) -> bool:
        edited = " ".join(one.before.split())
        same = fnmatchcase(one.function, self.function) and fnmatchcase(edited, self.before)
        return one.path == _PACKAGE + self.path and same


def survivors(file: Path = REASONS) -> tuple[Survivor, ...]:
    """The reasons that are stated."""
    return tuple(Survivor(**one) for one in yaml.safe_load(file.read_text("utf-8")) or ())


def equivalent(one: Mutant) -> bool:
    """Whether a reason says that nothing can tell a mutant from the tree."""
    return any(each.equivalent and each.covers(one) for each in survivors())


def check(asker: ProbeRunner, ours: Subject, count: int, seed: int) -> Check:
    """Draw mutants of lines that parts, launch commands or a forward pass with numbers execute.

    Each is tried on the cheapest of them first, and what no other check kills on larger forward passes.
    """
    passes = {one.name: _asked(one) for one in CONFIGURATIONS if one.name in {*_DRAWN, *_TRIED}}
    worlds = {"parts": _WORLD, "arguments": _launched()} | {name: passes[name] for name in (*_DRAWN, *_TRIED)}
    lines: dict[str, Mapping[str, Any]] = {}
    for name, asked in worlds.items():
        said = asker.ask("mutants", ours, f"mutants-{name}-lines", {**asked, "record": True})
        if said.values is None:
            return Check("mutants", (), (f"{name} broke off", *said.lines))
        lines[name] = said.values["lines"]
    chosen = draw(ours, {name: found for name, found in lines.items() if name not in _TRIED}, count, seed)
    answers: dict[str, dict[str, Any]] = {}
    left = chosen
    for name, asked in worlds.items():
        said = asker.ask("mutants", ours, f"mutants-{name}", {**asked, "mutants": told(left, lines[name])})
        if said.values is None:
            return Check("mutants", (), (f"{name} broke off", *said.lines))
        answers[name] = said.values["mutants"]
        left = [one for one in left if "killed by" not in said.values["mutants"].get(one.name, {})]
    return judged(chosen, answers, survivors())


def _launched() -> dict[str, Any]:
    """The launch commands that one machine takes."""
    commands = [one for one in corpus.read() if not one.refused and "sm90" in one.machines]
    asked = arguments.question(commands, "sm90", None)
    return {"mode": NUMBERS, "arguments": asked}


def _asked(one: Configuration) -> dict[str, Any]:
    asked = one.question(False)
    return {**{name: asked[name] for name in _WORLD}, "environment": asked["environment"], "forward": asked}


def draw(ours: Subject, lines: Mapping[str, Mapping[str, Any]], count: int, seed: int) -> list[Mutant]:
    """The mutants of a tree. `lines`: world -> trial -> file -> lines that it executes."""
    executed: dict[str, set[int]] = {}
    for trials in lines.values():
        for files in trials.values():
            for path, numbers in files.items():
                if path.startswith(_PACKAGE):
                    executed.setdefault(path, set()).update(numbers)
    sources = {path: (ours.folder / path).read_text("utf-8") for path in executed}
    return mutants.drawn(sources, executed, count, seed, equivalent)


def told(chosen: Iterable[Mutant], lines: Mapping[str, Mapping[str, Sequence[int]]]) -> list[dict[str, Any]]:
    """What the probe is told of those that its trials execute."""
    found = []
    for one in chosen:
        # a statement of several lines is executed at its first
        trials = [name for name, files in lines.items() if one.line in files.get(one.path, ())]
        if trials:
            edit = {key: getattr(one, key) for key in ("path", "start", "end", "text")}
            found.append({"name": one.name, "trials": trials, **edit})
    return found


def judged(
    chosen: Sequence[Mutant], answers: Mapping[str, Mapping[str, Any]], stated: Sequence[Survivor]
) -> Check:
    """A mutant that is killed passes. One that survives, or is like the tree, has not run; too many fail."""
    cases = [_case(one, answers, stated) for one in chosen]
    killed = sum(case.verdict == PASSED for case in cases)
    same = sum(bool(case.figures.get("equivalent")) for case in cases)
    count = sum(bool(case.figures.get("tried")) for case in cases) - same
    said = f"{killed} of {count} mutants are killed{f', and {same} are equivalent' if same else ''}"
    few = bool(count) and killed < SHARE * count
    return Check("mutants", tuple(cases), (f"{said}: less than {SHARE:.0%}",) if few else ())


def _case(one: Mutant, answers: Mapping[str, Mapping[str, Any]], stated: Sequence[Survivor]) -> Case:
    name = one.name.removeprefix(_PACKAGE)
    about = {"function": one.function, "edit": one.shown}
    ran: list[str] = []
    for world, found in answers.items():
        said = found.get(one.name, {})
        if "killed by" in said:
            by = said["killed by"] if world in _NAMED else world
            line = f"{one.shown}: killed by {by}, {_how(said['how'])}"
            return Case(name, PASSED, (line,), {**about, "tried": True, "by": by})
        if said.get("survived"):
            ran += said["survived"] if world == "parts" else [world]
    if not ran:
        return Case(name, NOT_RUN, (f"{one.shown}: no live function has this code",), about)
    reason = next((each for each in stated if each.covers(one)), None)
    why = reason.why if reason else UNREAD
    same = bool(reason and reason.equivalent)
    line = (
        f"{one.shown} in {one.function}: {'is equivalent' if same else 'survives ' + ', '.join(ran)}: {why}"
    )
    return Case(name, NOT_RUN, (line,), {**about, "tried": True, "survived": ran, "equivalent": same})


def _how(said: Mapping[str, Any]) -> str:
    ended = said.get("ended")
    if ended:
        return "which takes too long" if ended[0] == "late" else f"which ends: {ended[1]}"[:160]
    if said.get("error"):
        return f"which fails: {said['error']}"[:160]
    return f"whose {', '.join(said['differs']) or 'values'} differ"[:160]
