"""Launch commands mean the same, and the parser has the same flags, but for what is declared."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from verification import corpus
from verification.corpus import MACHINES, Command
from verification.declared import Declared
from verification.probe_runner import ProbeRunner
from verification.results import FAILED, NOT_RUN, PASSED, Case, Check
from verification.subjects import Subject

_DEVICES = 8


def check(
    asker: ProbeRunner, upstream: Subject, ours: Subject, commands: Sequence[Command], declared: Declared
) -> Check:
    """Parse every command with both trees on every machine that it is for."""
    commands = [declared.spelled(command) for command in commands]
    cases: list[Case] = []
    lines: list[str] = []
    met: set[str] = set()  # fields whose declared difference occurred
    held: set[str] = set()  # fields that upstream has: a flag may fill none
    for machine in MACHINES:
        mine_only = [command for command in commands if machine in command.machines]
        answers = [
            asker.ask("arguments", subject, f"arguments-{machine}", question(mine_only, machine, changed))
            for subject, changed in ((upstream, declared), (ours, None))
        ]
        for answer, role in zip(answers, ("upstream", "ours"), strict=True):
            if answer.values is None:
                lines += [f"parsing with {role} broke off on {machine}", *answer.lines]
        theirs, mine = (answer.values for answer in answers)
        if theirs is None or mine is None:
            continue
        for command in mine_only:
            allowed = declared.allowed(command, machine)
            one = compare(
                command,
                machine,
                _without(theirs["commands"][command.name], declared),
                mine["commands"][command.name],
                allowed,
                declared.lost_variables,
                frozenset(flag["dest"] for flag in theirs["flags"].values()),
            )
            held |= set(theirs["commands"][command.name].get("arguments", ()))
            met |= set(one.figures.get("declared", ()))
            cases.append(one)
        if machine == next(iter(MACHINES)):  # the parser does not depend on the machine
            cases += flags(theirs["flags"], mine["flags"], declared)
    stated = {each.field for each in declared.fields} | held.intersection(declared.lost_flags.values())
    unmet = sorted(stated - met) if not lines else []
    lines += [f"'{field}' is declared to differ, and never does" for field in unmet]
    return Check("arguments", tuple(cases), tuple(lines))


def question(commands: Sequence[Command], machine: str, declared: Declared | None) -> dict[str, Any]:
    words = {
        command.name: list(declared.for_upstream(command, machine) if declared else command.words)
        for command in commands
    }
    return {
        "capability": list(MACHINES[machine]),
        "devices": _DEVICES,
        "models": {command.model: corpus.model(command.model) for command in commands},
        "commands": words,
    }


def compare(
    command: Command,
    machine: str,
    theirs: Mapping[str, Any],
    mine: Mapping[str, Any],
    allowed: Mapping[str, Any],
    lost_variables: frozenset[str] = frozenset(),
    filled: frozenset[str] | None = None,
) -> Case:
    """Compare what one command gives. Of the environment, ours need not set what nothing in it reads; of the
    fields, ours need not have what no flag fills. `filled`: the fields that a flag of upstream fills.
    """
    name = f"{command.name}@{machine}"
    if command.refused:
        refused = "refused" in mine
        said = () if refused else (f"{command.refused} is not refused: {_said(mine)}",)
        return Case(name, PASSED if refused else FAILED, said)
    if "arguments" not in theirs:
        same = _reason(theirs) == _reason(mine)
        verdict = NOT_RUN if same else FAILED
        return Case(name, verdict, (f"upstream: {_said(theirs)}",) if same else _both(theirs, mine))
    if "arguments" not in mine:
        return Case(name, FAILED, _both(theirs, mine))
    lines, used = [], []
    for part in ("arguments", "environment"):
        one, two = theirs[part], mine[part]
        for field in sorted({*one, *two}):
            if one.get(field) == two.get(field) and (field in one) == (field in two):
                continue
            if part == "arguments" and field in allowed and two.get(field) == allowed[field]:
                used.append(field)
                continue
            if part == "arguments" and field not in two and filled is not None and field not in filled:
                continue
            if part == "environment" and field in lost_variables and field not in two:
                continue
            lines.append(f"{field}: upstream {json.dumps(one.get(field))}, ours {json.dumps(two.get(field))}")
    if theirs["attention"] != mine["attention"]:
        lines.append(f"attention (prefill, decode): upstream {theirs['attention']}, ours {mine['attention']}")
    figures = {"fields": len(mine["arguments"]), "declared": used}
    return Case(name, FAILED if lines else PASSED, tuple(lines), figures)


def _without(values: Mapping[str, Any], declared: Declared) -> Mapping[str, Any]:
    """Upstream's refusal as ours has it to be: without the values that are gone."""
    if "error" not in values:
        return values
    error = values["error"]
    for value in sorted(frozenset().union(*declared.lost_choices.values())):
        error = error.replace(f"'{value}', ", "").replace(f", '{value}'", "")
    return {**values, "error": error}


def _reason(values: Mapping[str, Any]) -> str:
    return str(values.get("error") or values.get("refused") or "")


def _said(values: Mapping[str, Any]) -> str:
    place = f" ({values['place']})" if values.get("place") else ""
    return f"{_reason(values) or 'accepted'}{place}"


def _both(theirs: Mapping[str, Any], mine: Mapping[str, Any]) -> tuple[str, ...]:
    return (f"upstream: {_said(theirs)}", f"ours: {_said(mine)}")


def flags(theirs: Mapping[str, Any], mine: Mapping[str, Any], declared: Declared) -> list[Case]:
    """One case for each flag of either parser."""
    return [
        Case(f"flag {name}", FAILED if lines else PASSED, tuple(lines))
        for name in sorted({*theirs, *mine})
        for lines in [_flag(name, theirs.get(name), mine.get(name), declared)]
    ]


def _flag(name: str, theirs: Any, mine: Any, declared: Declared) -> list[str]:
    lost = not declared.lost_flags.keys().isdisjoint(name.split())  # a flag and its other names
    if theirs is None:
        return ["upstream has no such flag"]
    if mine is None:
        return [] if lost else ["it is gone, and that is not declared"]
    lines = ["it is declared to be gone, and is there"] if lost else []
    lines += [
        f"{part}: upstream {theirs[part]!r}, ours {mine[part]!r}"
        for part in ("dest", "kind", "type", "nargs", "required")
        if theirs[part] != mine[part]
    ]
    default = declared.defaults.get(name, theirs["default"])
    if mine["default"] != default:
        lines.append(f"default: upstream {theirs['default']!r}, ours {mine['default']!r}")
    gone = sorted(set(theirs["choices"] or ()) - set(mine["choices"] or ()))
    more = sorted(set(mine["choices"] or ()) - set(theirs["choices"] or ()))
    if gone != sorted(declared.lost_choices.get(name, ())):
        lines.append(f"choices that are gone: {', '.join(gone) or 'none'}; declared are others")
    if more:
        lines.append(f"choices that upstream does not have: {', '.join(more)}")
    if mine["choices"] == [] and theirs["choices"]:
        lines.append("no value is left for it")
    return lines
