"""Fills the tables of the module that reports removed features to users."""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Iterator, Mapping

from builder.analysis.surface_diff import Surfaces
from builder.errors import BuildError, Problem
from builder.manifest.model import Manifest
from builder.manifest.statements import BASE
from builder.manifest.switches import options
from builder.surface.model import Surface
from builder.tree import Snapshot

Tables = Mapping[str, object]
#: The names that a template assigns, each on one line, for the builder to fill.
NAMES = ("DISTRIBUTION", "DECISIONS", "FLAGS", "CHOICES", "MODELS")
#: Further names, filled where a template assigns them.
MORE_NAMES = ("ROUTES", "VARIABLES", "UNDO")
#: What a client asks for: it has no batch in the base, which cannot be switched off.
_ASKED = ("route", "environment")
#: The name of a module of a package that lists what was removed when it is run.
LISTING = "removed_features"


def with_tables(output: Snapshot, surfaces: Surfaces, manifest: Manifest) -> Snapshot:
    """The output with the tables of what left in the files of ours that ask for them; they quote the reasons
    of batches.

    Raises BuildError (R004) for a file of ours that has no place for one of the tables.
    """
    wanted = [f for b in manifest.batches for f in b.files if f.tables and f.path in output]
    if not wanted:
        return output
    problems = [
        Problem("R004", f"{f.overlay} is to be filled, and assigns no `{name} = ...` on one line.", f.mark)
        for f in wanted
        for name in missing(manifest.overlays[f.overlay])
    ]
    if problems:
        raise BuildError(problems)
    values = tables(surfaces, manifest)
    return output.replace({f.path: filled(manifest.overlays[f.overlay], values) for f in wanted})


def tables(surfaces: Surfaces, manifest: Manifest) -> Tables:
    """The removed features, by the way in which they are selected."""
    why = {batch.id: batch.why for batch in manifest.batches}
    models, parser = manifest.roots.model_package, manifest.roots.command_line
    lost: dict[str, dict[str, str]] = {"flag": {}, "route": {}, "environment": {}}
    offered = {(key.kind, key.name) for key in surfaces.after}
    choices: dict[str, dict[str, str]] = {}
    architectures: dict[str, tuple[str, str]] = {}
    for flag, value, batch in _free(surfaces.after, manifest):
        choices.setdefault(flag, {}).setdefault(value, batch)
    for one in surfaces.differences:
        batch = next((c.batch for c in one.causes if c.batch in why), "")
        kind, group, name = one.key
        if not batch or one.change == "added":
            continue
        if kind == "flag" and group == parser:
            if one.change == "lost":
                lost[kind][name] = batch
            elif one.detail == "choices" and isinstance(one.before, str):
                choices.setdefault(name, {})[one.before] = batch
        elif kind == "registry" and group == models and one.change == "lost":
            architectures[name] = (one.place.module.rpartition(".")[2], batch)
        elif kind in _ASKED and one.change == "lost" and batch != BASE and (kind, name) not in offered:
            lost[kind][name] = max(batch, lost[kind].get(name, ""))
    used = {batch for _, batch in architectures.values()}
    used.update(batch for row in (*lost.values(), *choices.values()) for batch in row.values())
    return {
        "DISTRIBUTION": manifest.name,
        "DECISIONS": {batch: why[batch] for batch in sorted(used)},
        "FLAGS": dict(sorted(lost["flag"].items())),
        "CHOICES": {flag: dict(sorted(row.items())) for flag, row in sorted(choices.items())},
        "MODELS": dict(sorted(architectures.items())),
        "ROUTES": dict(sorted(lost["route"].items())),
        "VARIABLES": dict(sorted(lost["environment"].items())),
        "UNDO": {batch: _undo(manifest, batch) for batch in sorted(used - {BASE})},
    }


def _undo(manifest: Manifest, batch: str) -> str:
    """With or without which options a build has what a batch leaves out."""
    if batch in manifest.switched_on:
        return f"without `--with {batch}`"
    return f"with `{options(manifest, [batch])}`"


def _free(after: Surface, manifest: Manifest) -> Iterator[tuple[str, str, str]]:
    """(option, value, batch): absent values of options that take any text.

    What the manifest says of every name (`*`) does not count: a path or a label may be spelt like it.
    """
    named = [o for b in manifest.batches for o in b.options if "*" not in o.names]
    for key, item in after.items():
        if key.kind != "flag" or key.group != manifest.roots.command_line or "choices" in item.details:
            continue
        if not key.name.startswith("--") or item.details.get("action", "store") != "store":
            continue
        name = key.name[2:].replace("-", "_")
        for option in named:
            if any(fnmatch.fnmatchcase(name, pattern) for pattern in option.names):
                yield from ((key.name, v, option.batch) for v in option.values if isinstance(v, str))


def listing(output: Snapshot, packages: Mapping[str, str]) -> str | None:
    """The module of the output that lists what was removed when it is run; None if there is none."""
    for name, folder in packages.items():
        if f"{folder}/{LISTING}.py" in output:
            return f"{name}.{LISTING}"
    return None


def missing(template: bytes) -> list[str]:
    """The names that a template does not assign on one line."""
    return [name for name in NAMES if not _assignment(name).search(template.decode())]


def filled(template: bytes, values: Tables) -> bytes:
    """The template with its tables."""
    text = template.decode()
    for name in (*NAMES, *MORE_NAMES):
        new = _text(values[name], 0)
        text = _assignment(name).sub(lambda match, new=new: match[1] + new, text, count=1)  # type: ignore[misc]
    return text.encode()


def _assignment(name: str) -> re.Pattern[str]:
    return re.compile(rf"^({name}(?:: [^=\n]+)? = )(?:\{{\}}|\"[^\"\n]*\")$", re.MULTILINE)


def _text(value: object, depth: int) -> str:
    """Source of a constant as a formatter leaves it: one member a line where there are several."""
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, tuple):
        return "(" + ", ".join(_text(v, depth) for v in value) + ")"
    assert isinstance(value, dict)
    if not value:
        return "{}"
    pad = "    " * (depth + 1)
    rows = [f"{pad}{json.dumps(k)}: {_text(v, depth + 1)},\n" for k, v in value.items()]
    return "{\n" + "".join(rows) + "    " * depth + "}"
