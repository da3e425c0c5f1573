"""The parts, by name."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Found:
    """What a part gives: facts with one right answer, and values that only need to be the same."""

    facts: dict[str, Any] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)


Part = Callable[[], Found]
PARTS: dict[str, Part] = {}


def part(name: str) -> Callable[[Part], Part]:
    """The function is the part `name`."""

    def register(function: Part) -> Part:
        PARTS[name] = function
        return function

    return register


def refused(call: Callable[[], Any], *errors: type[Exception]) -> bool:
    """Return whether a call ends with one of the errors."""
    try:
        call()
    except errors:
        return True
    return False


def load() -> None:
    """Register every part of the package's modules."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        importlib.import_module(f"verification.parts.{module.name}")
