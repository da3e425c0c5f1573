"""What differs from upstream on purpose: declared.yaml as facts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verification.corpus import MACHINES, Command


@dataclass(frozen=True, slots=True)
class Where:
    """The commands that a declaration is about."""

    machines: tuple[str, ...] = tuple(MACHINES)
    models: str = ""  # a pattern, searched for in the model's name
    given: str = ""  # a flag that the command must have
    unless: tuple[str, ...] = ()  # flags that it must not have

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
    lost_flags: frozenset[str]
    lost_choices: Mapping[str, frozenset[str]]
    defaults: Mapping[str, Any]
    lost_tests: Mapping[str, str]  # of upstream's own: test or class -> why it cannot pass here

    def for_upstream(self, command: Command, machine: str) -> tuple[str, ...]:
        """The command's words, with the flags that upstream gets."""
        more = [gets.flags for gets in self.upstream_gets if gets.where.holds(command, machine)]
        return (*command.words, *(word for flags in more for word in flags))

    def allowed(self, command: Command, machine: str) -> dict[str, Any]:
        """field -> the value that it has here, for the fields that may differ."""
        return {each.field: each.ours for each in self.fields if each.where.holds(command, machine)}


def _where(said: Mapping[str, Any]) -> Where:
    return Where(
        tuple(said.get("machines", MACHINES)),
        said.get("models", ""),
        said.get("with", ""),
        tuple(said.get("unless", ())),
    )


def parse(text: str) -> Declared:
    """Read declarations. Raises KeyError for a declaration without its parts or its reason."""
    import yaml

    said = yaml.safe_load(text)
    for each in (*said["upstream_gets"], *said["fields"]):
        each["why"]  # a reason is no ornament
    choices = {flag: frozenset(each["values"]) for each in said["lost_choices"] for flag in each["flags"]}
    return Declared(
        tuple(Gets(tuple(each["flags"]), _where(each)) for each in said["upstream_gets"]),
        tuple(FieldDiffers(each["field"], each["ours"], _where(each)) for each in said["fields"]),
        frozenset(said["lost_flags"]),
        choices,
        said["defaults"],
        said["lost_tests"],
    )


def read() -> Declared:
    """The declarations of this repository."""
    return parse((Path(__file__).parent / "declared.yaml").read_text())
