"""The surface as values: what users choose by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

#: flag         one option of an argument parser
#: route        one method and path of an HTTP server
#: environment  one variable that is declared or read
#: registry     one name under which a class, function or member is chosen
#: script       one console script
Kind = Literal["flag", "route", "environment", "registry", "script"]
KINDS: tuple[Kind, ...] = ("flag", "route", "environment", "registry", "script")


class Expression(NamedTuple):
    """A value that only running the code would give; its source text, white space folded."""

    text: str


Value: TypeAlias = "bool | int | float | str | Expression | tuple[Value, ...] | None"


class Condition(NamedTuple):
    """The source of an expression, and the truth value that it needs for a place to be reached."""

    test: str
    holds: bool


@dataclass(frozen=True, slots=True)
class Place:
    """Where an item of the surface is stated."""

    path: str
    line: int
    module: str = ""  # "" for a file outside the packages
    scope: str = ""  # qualified name inside the module; "" for the module itself
    conditions: tuple[Condition, ...] = ()

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"

    @property
    def qualified(self) -> str:
        """The dotted name of the scope; for a file outside the packages it begins with the path."""
        return ".".join(part for part in (self.module or self.path, self.scope) if part)


class Key(NamedTuple):
    """The identity of one thing of the surface.

    kind         group                                   name
    flag         module of the parser                    `--model-path` (the first spelling)
    route        module of the application               `GET /health`
    environment                                          variable
    registry     qualified name of the registry          what is chosen by
    script       pyproject.toml                          command
    """

    kind: Kind
    group: str
    name: str

    def __str__(self) -> str:
        words = {"registry": f"entry {self.name!r} of", "environment": f"environment variable {self.name}"}
        text = words.get(self.kind, f"{self.kind} {self.name}")
        return f"{text} {self.group}" if self.kind == "registry" else text


@dataclass(frozen=True, slots=True)
class Item:
    """One item of the surface: its details, and every place that states it."""

    key: Key
    places: tuple[Place, ...]
    details: Mapping[str, Value] = field(default_factory=dict)
    origins: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # detail -> names it is read from


def destination(flag: str, stated: object = None) -> str:
    """The attribute to which argparse assigns the value of a flag; `stated`: its `dest`, if it is text."""
    return stated if isinstance(stated, str) else flag.lstrip("-").replace("-", "_")


Surface: TypeAlias = Mapping[Key, Item]
