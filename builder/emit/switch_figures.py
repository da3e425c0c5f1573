"""What switching a batch off gives, measured by `benchmarks/batches.py` and kept in docs/scope.json."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from builder.manifest.model import BASE, Manifest

FILE = "docs/scope.json"


@dataclass(frozen=True, slots=True)
class Switched:
    """One build without a batch. `off`: all batches that were off; `lines`: how many more lines of code than
    with all batches; `codes`: the problems that stopped it, with their counts."""

    off: tuple[str, ...]
    lines: int
    codes: Mapping[str, int]


Measured = Mapping[str, Mapping[str, Switched]]  # pin -> batch -> what switching it off gave


def read(data: bytes) -> Measured:
    """The figures in the file; none where it is not as `record` makes it."""
    try:
        return {
            pin: {
                name: Switched(tuple(one["off"]), int(one["lines"]), dict(one["codes"]))
                for name, one in batches.items()
            }
            for pin, batches in json.loads(data)["pins"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


def record(measured: Measured) -> dict[str, Any]:
    """The figures as data for the file."""
    return {
        "pins": {
            pin: {
                batch: {"off": list(one.off), "lines": one.lines, "codes": dict(one.codes)}
                for batch, one in sorted(batches.items())
            }
            for pin, batches in sorted(measured.items())
        }
    }


def rows(manifest: Manifest, measured: Measured) -> Iterator[Sequence[str]]:
    """A row for each batch: its id, its kind, what must be off with it, and what each pin gave."""
    for batch in manifest.batches:
        if batch.id == BASE:
            continue
        needs = ", ".join(_link(name) for name, _ in batch.needs)
        followers = [one.id for one in manifest.batches if batch.id in dict(one.follows)]
        takes = ", ".join(map(_link, followers))
        cells = [_cell(measured[pin].get(batch.id)) for pin in measured]
        yield (_link(batch.id), batch.kind, needs, takes, *cells)


def heads(measured: Measured) -> Sequence[str]:
    """The heads of the columns of `rows`."""
    return ("batch", "kind", "needs off", "takes along", *measured)


def _cell(one: Switched | None) -> str:
    if one is None:
        return "not tried"
    if one.codes:
        return "does not build: " + ", ".join(f"{code} ({n})" for code, n in sorted(one.codes.items()))
    return f"builds, {one.lines:+,} lines" if one.lines else "builds, no line more"


def _link(name: str) -> str:
    return f"[{name}](#batch-{name})"
