"""Random mutants of our tree, each of which an engine has to tell from upstream's tree."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from verification import mutants
from verification.checks import mutants as judging
from verification.mutants import Mutant
from verification.real import compare, edited
from verification.real.engines import LATE, PROMPTS, Answer, Asker
from verification.real.matrix import Configuration
from verification.real.place import Place
from verification.results import FAILED, NOT_RUN, PASSED, Case, Check

_PACKAGE = "python/sglang/srt/"
#: From a batch that the scheduler made to the tokens that it gets.
_PATH = ("models/", "layers/", "mem_cache/", "model_executor/", "sampling/")
_MONITORS = hasattr(sys, "monitoring")  # since Python 3.12


class Draw(NamedTuple):
    """How many mutants are drawn, and of the lines of which configurations: of all but those `beside`."""

    count: int
    seed: int
    beside: frozenset[str] = frozenset()


def check(
    asker: Asker, places: Sequence[Place], configurations: Sequence[Configuration], work: Path, asked: Draw,
    keep: Callable[[Check], None],
) -> Check:  # fmt: skip
    """Draw mutants of lines that ours executes in these configurations, and ask an engine of each of them.

    What one configuration does not kill is tried in the next that executes the line. Ours as it is runs among
    them, and has to pass. What came of a trial is kept in `work`, so that another call goes on from there.
    """
    if not _MONITORS:
        return Check("mutants", (Case("mutants", NOT_RUN, ("it takes Python 3.12",)),))
    ours = places[1]
    usual, lines, wrong = _known(asker, places, configurations, work)
    chosen = draw(ours.tree, {name: lines[name] for name in lines.keys() - asked.beside}, asked)
    answers: dict[str, dict[str, Any]] = {name: {} for name in lines}

    def against(one: Configuration, answer: Answer) -> Case:
        return compare.engines(one.name, usual[one.name], (answer,), PROMPTS + one.long, one.other_kernels)

    def itself(one: Configuration) -> Case:
        return against(one, asker.ask(ours, one, "ours-among-mutants"))

    def tried(number: int, one: Mutant) -> None:
        file = work / "edits" / f"{number}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(_edit(one, ours.tree)))
        for each in configurations:
            if one.line not in lines.get(each.name, {}).get(one.path, ()):
                continue
            kept = work / "tried" / f"{each.name}-{hashlib.sha256(file.read_bytes()).hexdigest()[:32]}.json"
            if kept.exists():
                said = json.loads(kept.read_text())
            else:
                answer = asker.ask(ours, each, f"mutant-{number}", {edited.EDIT: str(file.resolve())})
                if answer.get("late"):
                    return
                said = judged(against(each, answer), answer, each.name)
                kept.parent.mkdir(exist_ok=True)
                kept.write_text(json.dumps(said))
            answers[each.name][one.name] = said
            print(one.name, said, flush=True)
            keep(_told(chosen, answers))
            if "killed by" in said:
                return

    with ThreadPoolExecutor(max(1, len(chosen))) as pool, ThreadPoolExecutor(max(1, len(lines))) as beside:
        controls = beside.map(itself, [each for each in configurations if each.name in lines])
        list(pool.map(tried, range(len(chosen)), chosen))
        wrong += [_control(each) for each in controls if each.verdict != PASSED]
    found = _told(chosen, answers)
    return Check(found.name, found.cases, (*found.lines, *wrong))


def _told(chosen: Sequence[Mutant], answers: Mapping[str, Mapping[str, Any]]) -> Check:
    """What is known of the mutants so far."""
    tried = [one for one in chosen if any(one.name in each for each in answers.values())]
    found = judging.judged(tried, answers, judging.survivors())
    left = [one.name.removeprefix(_PACKAGE) for one in chosen if one not in tried]
    return Check(found.name, (*found.cases, *(Case(name, NOT_RUN, (LATE,)) for name in left)), found.lines)


def _control(case: Case) -> str:
    return f"ours as it is, among mutants: {case.name} {case.verdict}: {' / '.join(case.lines)[:400]}"


def _known(
    asker: Asker, places: Sequence[Place], configurations: Sequence[Configuration], work: Path
) -> tuple[dict[str, list[Answer]], dict[str, Mapping[str, set[int]]], list[str]]:
    """What upstream says twice and which lines ours executes, by configuration; what could not be asked."""
    upstream, ours = places
    with ThreadPoolExecutor(3 * max(1, len(configurations))) as pool:
        theirs = {
            each.name: [pool.submit(asker.upstream, upstream, each, again) for again in (False, True)]
            for each in configurations
        }
        mine = {each.name: pool.submit(_recorded, asker, ours, each, work) for each in configurations}
    usual: dict[str, list[Answer]] = {}
    lines: dict[str, Mapping[str, set[int]]] = {}
    wrong = []
    for name, futures in theirs.items():
        said, (answer, found) = [each.result() for each in futures], mine[name].result()
        # how far an engine came whose lines are recorded does not matter
        broken = next((each for each in (*said, *(() if found else (answer,))) if "error" in each), None)
        if broken:
            wrong.append(f"{name}: {_last(broken['error'])}")
        else:
            usual[name], lines[name] = said, found
    return usual, lines, wrong


def _recorded(
    asker: Asker, ours: Place, one: Configuration, work: Path
) -> tuple[Answer, Mapping[str, set[int]]]:
    """What ours says in a configuration, and file -> lines of our tree that it executes."""
    folder = (work / "lines" / one.name).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder.with_suffix(".json")
    if kept.exists():
        answer = json.loads(kept.read_text())
    else:
        answer = asker.ask(ours, one, "ours-recorded", {edited.LINES: f"{ours.tree}{os.pathsep}{folder}"})
        if not answer.get("late"):
            kept.write_text(json.dumps(answer))
    found = edited.recorded(folder).items()
    return answer, {Path(path).relative_to(ours.tree).as_posix(): lines for path, lines in found}


def draw(tree: Path, lines: Mapping[str, Mapping[str, set[int]]], asked: Draw) -> list[Mutant]:
    """Mutants of a tree, of lines that any configuration executes on the path."""
    executed: dict[str, set[int]] = {}
    wanted = tuple(_PACKAGE + folder for folder in _PATH)
    for files in lines.values():
        for path, numbers in files.items():
            if path.startswith(wanted):
                executed.setdefault(path, set()).update(numbers)
    sources = {path: (tree / path).read_text("utf-8") for path in executed}
    return mutants.drawn(sources, executed, asked.count, asked.seed, judging.equivalent)


def _edit(one: Mutant, tree: Path) -> dict[str, Any]:
    return {"file": str(tree / one.path), "start": one.start, "end": one.end, "text": one.text}


def judged(case: Case, answer: Answer, name: str) -> dict[str, Any]:
    """Whether a configuration kills a mutant, as the check of mutants on a CPU has it."""
    if case.verdict != FAILED:
        return {"survived": [name]}
    if "error" in answer:
        return {"killed by": name, "how": {"ended": ["failed", _last(answer["error"])]}}
    differs = sorted({line.partition(":")[0] for line in case.lines})
    return {"killed by": name, "how": {"differs": differs}}


def _last(lines: Sequence[str]) -> str:
    """The line of a log that says most: the last error."""
    errors = [line.strip() for line in lines if "Error" in line or "ended after" in line]
    return errors[-1] if errors else lines[-1].strip() if lines else "without a word"
