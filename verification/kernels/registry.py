"""What is implemented, by the name of the operator."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

_IMPLEMENTATIONS = (
    "attention", "layers", "marlin", "quantization", "routing", "sampling", "speculation", "transfer",
)  # fmt: skip

REFERENCES: dict[str, Callable[..., Any]] = {}
SHAPES: dict[str, Callable[..., Any]] = {}


def reference(name: str) -> Callable[[Function], Function]:
    """The function calculates what the operator `name` does."""

    def register(function: Function) -> Function:
        REFERENCES[name] = function
        return function

    return register


def shape(*names: str) -> Callable[[Function], Function]:
    """The function makes tensors as the operators `names` give, with nothing in them."""

    def register(function: Function) -> Function:
        for name in names:
            SHAPES[name] = function
        return function

    return register


def load() -> None:
    """Register everything that this package implements."""
    for name in _IMPLEMENTATIONS:
        importlib.import_module(f"verification.kernels.{name}")
