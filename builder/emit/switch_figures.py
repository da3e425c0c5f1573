"""What other scopes give, measured by `benchmarks/batches.py` and kept in docs/scope.json."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from builder.manifest.model import Manifest
from builder.manifest.statements import BASE

FILE = "docs/scope.json"


@dataclass(frozen=True, slots=True)
class Switched:
    """One build of another scope. `off`: all batches that were off; `lines`: how many more lines of code than
    the default scope has; `codes`: the problems that stopped it, with their counts."""

    off: tuple[str, ...]
    lines: int
    codes: Mapping[str, int]


Measured = Mapping[str, Mapping[str, Switched]]  # pin -> what was tried -> what it gave


@dataclass(frozen=True, slots=True)
class Figures:
    """Everything measured: batches that are off alone, by id; pairs of them, and models that are kept
    beside the roots', by their names joined with `+`."""

    batches: Measured = field(default_factory=dict)
    pairs: Measured = field(default_factory=dict)
    models: Measured = field(default_factory=dict)


def read(data: bytes) -> Figures:
    """The figures in the file; none where it is not as `record` makes it."""
    try:
        loaded = json.loads(data)
        return Figures(*(_measured(loaded[key]) for key in ("batches", "pairs", "models")))
    except (ValueError, KeyError, TypeError, AttributeError):
        return Figures()


def _measured(data: Any) -> Measured:
    return {
        pin: {
            name: Switched(tuple(one["off"]), int(one["lines"]), dict(one["codes"]))
            for name, one in tried.items()
        }
        for pin, tried in data.items()
    }


def record(figures: Figures) -> dict[str, Any]:
    """The figures as data for the file."""
    return {key: _record(getattr(figures, key)) for key in ("batches", "pairs", "models")}


def _record(measured: Measured) -> dict[str, Any]:
    return {
        pin: {
            name: {"off": list(one.off), "lines": one.lines, "codes": dict(one.codes)}
            for name, one in sorted(tried.items())
        }
        for pin, tried in sorted(measured.items())
    }


def batch_rows(manifest: Manifest, measured: Measured) -> Iterator[Sequence[str]]:
    """Column heads, then a row for each batch: its id, its kind, what must be off with it, and what each pin
    gave."""
    pins = _pins(manifest, measured)
    yield ("batch", "kind", "needs off", "takes along", *pins)
    for batch in manifest.batches:
        if batch.id == BASE:
            continue
        needs = ", ".join(_link(name) for name, _ in batch.needs)
        followers = [one.id for one in manifest.batches if batch.id in dict(one.follows)]
        takes = ", ".join(map(_link, followers))
        cells = [_cell(measured[pin].get(batch.id)) for pin in pins]
        yield (_link(batch.id), batch.kind, needs, takes, *cells)


def pair_rows(manifest: Manifest, measured: Measured) -> Iterator[Sequence[str]]:
    """Column heads, then a row for each pair of batches: the two, what goes off with them, and each pin."""
    pins = _pins(manifest, measured)
    yield ("pair", "off with it", *pins)
    for name in sorted({name for pin in pins for name in measured[pin]}):
        found = [measured[pin].get(name) for pin in pins]
        pair = name.split("+")
        more = {one for each in found if each for one in each.off} - set(pair)
        also = ", ".join(_link(batch.id) for batch in manifest.batches if batch.id in more)
        yield (", ".join(map(_link, pair)), also, *map(_cell, found))


def model_rows(manifest: Manifest, measured: Measured) -> Iterator[Sequence[str]]:
    """Column heads, then a row for each choice of models: their names, and what each pin gave, with the
    batches that went off because one of the models stays."""
    pins = _pins(manifest, measured)
    yield ("models", *pins)
    for name in sorted({name for pin in pins for name in measured[pin]}):
        cells = []
        for one in (measured[pin].get(name) for pin in pins):
            off = f", {', '.join(map(_link, one.off))} off" if one and one.off and not one.codes else ""
            cells.append(_cell(one) + off)
        yield (", ".join(f"`{model}`" for model in name.split("+")), *cells)


def _pins(manifest: Manifest, measured: Measured) -> list[str]:
    return [pin for pin in manifest.upstream.pins if pin in measured]


def _cell(one: Switched | None) -> str:
    if one is None:
        return "not tried"
    if one.codes:
        return "does not build: " + ", ".join(f"{code} ({n})" for code, n in sorted(one.codes.items()))
    return f"builds, {one.lines:+,} lines" if one.lines else "builds, no line more"


def _link(name: str) -> str:
    return f"[{name}](#batch-{name})"
