"""The parts, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
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


def load() -> None:
    """Register every part."""
    from verification.parts import (
        asked,
        balance,
        batches,
        choices,
        configs,
        kernel_targets,
        memory,
        messages,
        prefixes,
        processors,
        quantization,
        routing,
        sampling,
        scheduling,
        sparse,
        streams,
        text,
    )

    assert asked and balance and batches and choices and configs and kernel_targets and memory and messages
    assert (
        prefixes
        and processors
        and quantization
        and routing
        and sampling
        and scheduling
        and sparse
        and streams
        and text
    )
