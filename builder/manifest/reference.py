"""Generates the reference page of the manifest from the descriptions in its schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from builder.manifest.schema import TYPES

_HEAD = """\
# The manifest

<!-- Made by `python -m builder schema --reference` from schema/manifest.schema.json: edit that. -->

A manifest consists of several files in one folder:

| file | content |
| --- | --- |
| `manifest.yaml` | what a person decides: roots, what is removed and why, scopes, guarantees |
| `overlays/ID/facts.yaml` | [facts](#batch-facts) about upstream for the batch ID, with their versions |
| `overlays/ID/edits.yaml` | the [edits](#batch-edits) of the batch ID |
| `overlays/base/facts.yaml` | [facts](#base-facts) about upstream that hold whatever is decided |
| `docs/scope.yaml` | the rows of the page on the [scope](#scope), with what must be there for each |

A small project may write all of it in `manifest.yaml`: what stands in a part means the same there. To
change the scope, `manifest.yaml` alone is edited.

All are plain YAML without anchors, aliases, merge keys, tags or a second document. Editors that use the
YAML language server check them against their schemas while they are written.

Path rules apply in order: first the top-level `keep`, then for each batch its `remove`, `prune` and `keep`.
Of the rules that match a path, the last one decides. A list with parts in several files is joined: first
the manifest's own part, then that of the batch's files. No rule removes the files of `roots.models.keep`.

Inside the folders of `packages` no path needs a rule. A module stays when a root reaches it, over imports of
any kind, declared dynamic edges and strings that name it; one that registers architectures is removed
unless it is a kept model or one of those imports it. A data file follows the modules beside it. Rules
remove modules that are reached, and keep modules that are not. Elsewhere a path that no rule matches stops
the build, unless a batch that is switched off would remove it. A rule, edit, fact or overlay that matches
nothing also stops the build of a pin; at any other upstream it is listed. If it matches only some versions
of upstream, state `since: V` or `until: V` (both inclusive): it is applied wherever it matches, and must
match inside the range. At a pin outside the range it must not match, which keeps the range true. Releases
contain only `python/`; statements about anything else may match nothing there. Any other reason to match
nothing goes under `optional`. A statement that holds only where another batch is off says `without: BATCH`:
it is withdrawn while that batch is on.

In the tables, `a.b` is the key `b` of the mapping `a`, and `a[].b` that of each mapping in the list `a`.
"""


def markdown(schema: Mapping[str, Any]) -> str:
    """Return the page: a section for each mapping, with its keys, their types and what they mean."""
    definitions: Mapping[str, Any] = schema.get("definitions", {})
    parts = [_HEAD, schema.get("description", ""), "", *_table(schema, schema)]
    for name, definition in definitions.items():
        parts += ["", f"## {name}", "", definition.get("description", "")]
        if definition.get("properties"):
            parts += ["", *_table(definition, schema)]
    return "\n".join(parts).rstrip() + "\n"


def _table(part: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[str]:
    yield "| key | value | meaning |"
    yield "| --- | --- | --- |"
    yield from _rows(part, schema, "")


def _rows(part: Mapping[str, Any], schema: Mapping[str, Any], prefix: str) -> Iterator[str]:
    required = set(part.get("required", ()))
    for key, stated in part.get("properties", {}).items():
        value = _shared(stated, schema)
        needed = " (required)" if key in required else ""
        meaning = _meaning(value, schema.get("definitions", {})).replace("|", "\\|").replace("\n", " ")
        yield f"| `{prefix}{key}`{needed} | {_type(value)} | {meaning} |"
        inner = value.get("items", value)
        if value is stated and isinstance(inner, Mapping) and inner.get("properties"):
            yield from _rows(inner, schema, f"{prefix}{key}{'[]' if 'items' in value else ''}.")


def _shared(value: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the description of a value that refers to another key, which has no section of its own."""
    steps = str(value.get("$ref", "")).split("/")[1:]
    if not steps or (steps[0] == "definitions" and len(steps) == len(("definitions", "name"))):
        return value
    for step in steps:
        schema = schema[step]
    return schema


def _meaning(value: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """The description of a value, or of the definition that it refers to."""
    own = value.get("description")
    if own is None and "$ref" in value:
        own = definitions.get(_name(value), {}).get("description")
    return str(own or "")


def _name(schema: Mapping[str, Any]) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def _type(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return f"[{_name(schema)}](#{_name(schema).lower()})"
    if len(schema.get("allOf", ())) == 1:
        return _type(schema["allOf"][0])
    if "const" in schema:
        value = schema["const"]
        return f"`{str(value).lower() if isinstance(value, bool) else value}`"
    if "enum" in schema:
        return ", ".join(f"`{v}`" for v in schema["enum"])
    kind = schema.get("type")
    if kind == "array" and isinstance(schema.get("items"), Mapping):
        return f"list of {_type(schema['items'])}"
    if kind == "object":
        inner = schema.get("additionalProperties")
        return f"mapping to {_type(inner)}" if isinstance(inner, Mapping) else "mapping"
    if isinstance(kind, list):
        return " or ".join(_plain(k) for k in kind)
    return _plain(kind) if kind else "any"


def _plain(kind: str) -> str:
    return "null" if kind == "null" else TYPES[kind].removeprefix("a ")
