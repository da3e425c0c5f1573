"""What differs from upstream on purpose: declared.yaml, and what surface.json accounts for."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from builder.surface.model import destination
from verification.corpus import MACHINES, Command
from verification.results import FAILED, NOT_RUN, Check

_PARSER = "sglang.srt.server_args"


@dataclass(frozen=True, slots=True)
class Where:
    """The commands that a declaration is about."""

    machines: tuple[str, ...] = tuple(MACHINES)
    models: str = ""  # a pattern, searched for in the model's name
    given: str = ""  # a flag that the command must have
    unless: tuple[str, ...] = ()  # flags that it must not have
    changed: str = ""  # a flag whose default must be another here than upstream

    def holds(self, command: Command, machine: str) -> bool:
        return (
            machine in self.machines
            and bool(re.search(self.models, command.model))
            and (not self.given or command.gives(self.given))
            and not any(command.gives(flag) for flag in self.unless)
        )


@dataclass(frozen=True, slots=True)
class Gets:
    """Flags that upstream is given for a command."""

    flags: tuple[str, ...]
    where: Where


@dataclass(frozen=True, slots=True)
class FieldDiffers:
    """A field of ServerArgs that has its own value here; None also stands for no such field."""

    field: str
    ours: Any
    where: Where


@dataclass(frozen=True, slots=True)
class Declared:
    upstream_gets: tuple[Gets, ...]
    fields: tuple[FieldDiffers, ...]
    lost_tests: Mapping[str, str]  # of upstream's own: test or class -> why it cannot pass here
    lost_with: Mapping[str, Sequence[str]]  # batch -> parts and programs that it takes where it is on
    lost_flags: Mapping[str, str] = field(default_factory=dict)  # flag -> field that it filled
    lost_choices: Mapping[str, frozenset[str]] = field(default_factory=dict)
    optional_flags: frozenset[str] = frozenset()  # that left with a batch of `lost_with`
    optional_paths: frozenset[str] = frozenset()  # of the HTTP server, likewise
    lost_variables: frozenset[str] = frozenset()  # of the environment: nothing here reads them
    defaults: Mapping[str, Any] = field(default_factory=dict)
    upstream_flags: frozenset[str] = frozenset()  # of its server; none: unknown

    def excused(self, check: Check, on: Collection[str]) -> Check:
        """The check, in which what asks for something that a batch of those `on` removes has not run."""
        taken = {name: batch for batch, names in self.lost_with.items() if batch in on for name in names}
        cases = (
            replace(case, verdict=NOT_RUN, lines=(f"batch {taken[case.name]} removes what it asks for",))
            if case.verdict == FAILED and case.name in taken
            else case
            for case in check.cases
        )
        return replace(check, cases=tuple(cases))

    def spelled(self, command: Command) -> Command:
        """The command with its flags by the names that this upstream has for them."""
        return replace(command, words=tuple(_spelled(word, self.upstream_flags) for word in command.words))

    def for_upstream(self, command: Command, machine: str) -> tuple[str, ...]:
        """The command's words, with the flags that upstream gets."""
        more = [gets.flags for gets in self.upstream_gets if gets.where.holds(command, machine)]
        return (*command.words, *(word for flags in more for word in flags))

    def allowed(self, command: Command, machine: str) -> dict[str, Any]:
        """field -> the value that it has here, for the fields that may differ. None: or no such field."""
        found: dict[str, Any] = dict.fromkeys(self.lost_flags.values())
        found |= {
            destination(flag): value for flag, value in self.defaults.items() if not command.gives(flag)
        }
        return found | {each.field: each.ours for each in self.fields if each.where.holds(command, machine)}

    def of(self, surface: Mapping[str, Any]) -> Declared:
        """These declarations, for the output that has this surface.json."""
        fills = {each["name"]: each.get("details", {}).get("dest") for each in surface["before"]}
        flags, choices, defaults = {}, defaultdict[str, set[str]](set), {}
        flags_before = frozenset(
            each["name"] for each in surface["before"] if (each["kind"], each["group"]) == ("flag", _PARSER)
        )
        optional: dict[str, set[str]] = {"flag": set(), "route": set()}
        for each in surface["differences"]:
            by = {cause["batch"] for cause in each.get("causes", ())}
            if each["change"] == "lost" and each["kind"] in optional and by.intersection(self.lost_with):
                optional[each["kind"]].add(each["name"].split(" ")[-1])
        # another application may have lost a path that the server still has
        optional["route"] -= {
            each["name"].split(" ")[-1] for each in surface["after"] if each["kind"] == "route"
        }
        variables = {
            each["name"]
            for each in surface["differences"]
            if (each["kind"], each["change"]) == ("environment", "lost")
        }
        for each in surface["differences"]:
            if (each["kind"], each["group"]) != ("flag", _PARSER):
                continue
            name, detail = each["name"], each.get("detail")
            if each["change"] == "lost":
                flags[name] = destination(name, fills.get(name))
            elif detail == "choices" and each.get("before") is not None:
                choices[name].add(each["before"])
            elif detail == "default":
                defaults[name] = each.get("after")

        def here(where: Where) -> Where:
            """Where a declaration holds, in the words of this upstream."""
            return replace(
                where,
                given=_spelled(where.given, flags_before),
                unless=tuple(_spelled(flag, flags_before) for flag in where.unless),
                changed=_spelled(where.changed, flags_before),
            )

        def holds(where: Where) -> bool:
            return not where.changed or here(where).changed in defaults

        return replace(
            self,
            upstream_gets=tuple(
                Gets(tuple(_spelled(word, flags_before) for word in each.flags), here(each.where))
                for each in self.upstream_gets
                if holds(each.where)
            ),
            fields=tuple(
                replace(each, field=_field(each.field, flags_before), where=here(each.where))
                for each in self.fields
                if holds(each.where)
            ),
            upstream_flags=flags_before,
            lost_flags=flags,
            lost_choices={name: frozenset(values) for name, values in choices.items()},
            defaults=defaults,
            optional_flags=frozenset(optional["flag"]).intersection(flags),
            optional_paths=frozenset(optional["route"]),
            lost_variables=frozenset(variables),
        )


def _spelled(word: str, flags: frozenset[str]) -> str:
    """A flag by the name that it has among `flags`: NSA became DSA, and lost its former name later."""
    later = word.replace("nsa", "dsa", 1)
    return later if word.startswith("--") and word not in flags and later in flags else word


def _field(name: str, flags: frozenset[str]) -> str:
    """A field of ServerArgs likewise."""
    return destination(_spelled(f"--{name.replace('_', '-')}", flags))


def _where(said: Mapping[str, Any]) -> Where:
    return Where(
        tuple(said.get("machines", MACHINES)),
        said.get("models", ""),
        said.get("with", ""),
        tuple(said.get("unless", ())),
        said.get("changed", ""),
    )


def parse(text: str) -> Declared:
    """Read declarations. Raises KeyError for a declaration without its parts or its reason."""
    import yaml

    said = yaml.safe_load(text)
    for each in (*said["upstream_gets"], *said["fields"]):
        each["why"]  # a reason is no ornament
    return Declared(
        tuple(Gets(tuple(each["flags"]), _where(each)) for each in said["upstream_gets"]),
        tuple(FieldDiffers(each["field"], each["ours"], _where(each)) for each in said["fields"]),
        said["lost_tests"],
        said["lost_with"],
    )


def read(out: Path | None = None) -> Declared:
    """The declarations of this repository, for the output in a folder."""
    stated = parse((Path(__file__).parent / "declared.yaml").read_text())
    return stated.of(json.loads((out / "surface.json").read_text())) if out else stated
