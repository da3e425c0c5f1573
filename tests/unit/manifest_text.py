"""Manifests as text, for tests: a small valid one, and ways to change it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from builder.errors import BuildError, Mark, Problem
from builder.manifest.load import parse
from builder.manifest.model import Kept, Manifest

REPOSITORY = Path(__file__).resolve().parents[2]

HEAD = """\
name: small
label: deepseek
upstream:
  repository: https://example.org/up.git
  default: seed
  pins:
    seed: {commit: 0123456789abcdef0123456789abcdef01234567}
packages: {pkg: python/pkg}
roots:
  modules: [pkg.main]
  models: {package: pkg.models, keep: [one]}
"""


@cache
def schema() -> Mapping[str, Any]:
    loaded: dict[str, Any] = json.loads((REPOSITORY / "schema/manifest.schema.json").read_bytes())
    return loaded


def manifest(
    rest: str = "batches: []\n", overlays: Mapping[str, bytes] | None = None, scope: str | None = None
) -> Manifest:
    """The manifest of HEAD and `rest`; `batches` must be in `rest`."""
    rows = None if scope is None else scope.encode()
    return parse((HEAD + rest).encode(), "manifest.yaml", overlays or {}, schema(), None, rows)


def kept(*models: str) -> tuple[Kept, ...]:
    """Models as the roots keep them."""
    return tuple(Kept(model, mark=Mark("manifest.yaml")) for model in models)


def problems(
    text: str,
    overlays: Mapping[str, bytes] | None = None,
    others: Mapping[str, str] | None = None,
    scope: str | None = None,
) -> tuple[Problem, ...]:
    """What is wrong with a whole manifest text and its parts."""
    rows = None if scope is None else scope.encode()
    try:
        parse(text.encode(), "manifest.yaml", overlays or {}, schema(), others, rows)
    except BuildError as error:
        return error.problems
    return ()


def places(
    text: str, overlays: Mapping[str, bytes] | None = None, others: Mapping[str, str] | None = None
) -> list[tuple[str, int, int]]:
    """Code, line and column of each problem."""
    return [
        (p.code, p.mark.line, p.mark.column) for p in problems(text, overlays, others) if p.mark is not None
    ]


#: HEAD has 11 lines: what follows it starts on line 12.
NEXT = HEAD.count("\n") + 1
BATCH = "batches:\n  - id: one\n    why: because\n"


def batch(lines: str) -> str:
    return HEAD + BATCH + "".join(f"    {line}\n" for line in lines.splitlines())


def at(column: int, line: int = 3) -> tuple[int, int]:
    return (NEXT + line, column)
