"""Fills the tables of the module that tells users what was left out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from builder.gates.surface import Difference

Tables = Mapping[str, object]
#: The names that a template assigns, each on one line, for the builder to fill.
NAMES = ("DISTRIBUTION", "DECISIONS", "FLAGS", "CHOICES", "MODELS")


def tables(
    distribution: str, differences: Iterable[Difference], why: Mapping[str, str], parser: str, models: str
) -> Tables:
    """What left, by the way in which it is chosen.

    `why`: batch -> its reason; `parser`: the module whose options count; `models`: the model package.
    """
    flags: dict[str, str] = {}
    choices: dict[str, dict[str, str]] = {}
    architectures: dict[str, tuple[str, str]] = {}
    for found in differences:
        batch = next((c.batch for c in found.causes if c.batch in why), None)
        kind, group, name = found.key
        if batch is None or found.change == "added":
            continue
        if kind == "flag" and group == parser:
            if found.change == "lost":
                flags[name] = batch
            elif found.detail == "choices" and isinstance(found.before, str):
                choices.setdefault(name, {})[found.before] = batch
        elif kind == "registry" and group == models and found.change == "lost":
            architectures[name] = (found.place.module.rpartition(".")[2], batch)
    used = {*flags.values(), *(b for row in choices.values() for b in row.values())}
    used |= {batch for _, batch in architectures.values()}
    return {
        "DISTRIBUTION": distribution,
        "DECISIONS": {batch: why[batch] for batch in sorted(used)},
        "FLAGS": dict(sorted(flags.items())),
        "CHOICES": {flag: dict(sorted(row.items())) for flag, row in sorted(choices.items())},
        "MODELS": dict(sorted(architectures.items())),
    }


def missing(template: bytes) -> list[str]:
    """The names that a template does not assign on one line."""
    return [name for name in NAMES if not _assignment(name).search(template.decode())]


def filled(template: bytes, values: Tables) -> bytes:
    """The template with its tables."""
    text = template.decode()
    for name in NAMES:
        new = _text(values[name], 0)
        text = _assignment(name).sub(lambda found, new=new: found[1] + new, text, count=1)  # type: ignore[misc]
    return text.encode()


def _assignment(name: str) -> re.Pattern[str]:
    return re.compile(rf"^({name}(?:: [^=\n]+)? = )(?:\{{\}}|\"[^\"\n]*\")$", re.MULTILINE)


def _text(value: object, depth: int) -> str:
    """Source of a constant as a formatter leaves it: one member a line where there are several."""
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, tuple):
        return "(" + ", ".join(_text(v, depth) for v in value) + ")"
    assert isinstance(value, dict)
    if not value:
        return "{}"
    pad = "    " * (depth + 1)
    rows = [f"{pad}{_quoted(k)}: {_text(v, depth + 1)},\n" for k, v in value.items()]
    return "{\n" + "".join(rows) + "    " * depth + "}"


def _quoted(text: str) -> str:
    import json

    return json.dumps(text)
