"""The parts, by name."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Found:
    """What a part gives: facts with one right answer, and values that only need to be the same."""

    facts: dict[str, Any] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)


_MODULES = (
    "asked", "balance", "batches", "choices", "communication", "configs", "drafts", "exchange",
    "expert_records", "grammars", "host_pages", "invariant", "kernel_targets", "linear", "loaders", "loading",
    "memory", "messages", "news", "positions", "prefixes", "processors", "quantization", "records", "routing",
    "sampling", "scheduling", "sparse", "streams", "templates", "text", "weights",
)  # fmt: skip

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
    for name in _MODULES:
        importlib.import_module(f"verification.parts.{name}")
