"""The reference page of the manifest, made from the descriptions in its schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_HEAD = """\
# The manifest

<!-- Made by `python -m builder schema --reference` from schema/manifest.schema.json: edit that. -->

A manifest is one statement in several files, which lie beside each other:

| file | what stands in it |
| --- | --- |
| `manifest.yaml` | roots, what is kept and removed, facts, batches with their reasons, guarantees |
| `overlays/ID/edits.yaml` | what the batch ID [edits](#batch-edits); a batch may also hold its edits itself |
| `overlays/history.yaml` | [statements](#history) for past upstreams, added to those of the manifest |
| `docs/scope.yaml` | the rows of the page on the [scope](#scope), with what must be there for each |

Nobody opens the history to change the scope: nothing is decided in it.

All are plain YAML without anchors, aliases, merge keys, tags or a second document. Editors that speak the
YAML language server check them against their schemas while they are written.

The rules on paths are taken in the order in which they stand: first `keep` at the top, then for each batch
its `remove`, `prune` and `keep`. Of the rules that match a path the last one decides. What
stands under one key in several files counts as one list: first the manifest's own part, then that of the
batch's `edits.yaml`, then that of the history. The files of `roots.models.keep` stay whatever any rule says.

Inside the folders of `packages` no path needs a rule. A module stays when a root reaches it, over imports of
any kind, declared dynamic edges and strings that name it; one that registers architectures leaves unless it
is a kept model or one of those imports it. A data file follows the modules beside it. Rules name what leaves
although it is reached, and what stays although it is not. Elsewhere a path that no rule matches stops the
build, unless a batch that is switched off would remove it. So does a rule, an edit, a fact or an overlay that
applies nowhere. Where that is a matter of upstream's version, it says `since: V` or `until: V` (both
inclusive): it is applied wherever it matches, and these only say where it must. At a pin outside of the
range it must not match, so that the range stays true; where nobody knows the version, as of a commit that is
no pin, it may. What a release does not hold, which is everything but `python/`, is not asked of it. Any other
reason stands under `optional`.

In the tables, `a.b` is the key `b` of the mapping `a`, and `a[].b` that of each mapping in the list `a`.
"""


def markdown(schema: Mapping[str, Any]) -> str:
    """One section a mapping: its keys, their types and what they mean."""
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
    """A value that is described at another key, as described there; it has no section of its own."""
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
    return {
        "string": "text",
        "integer": "whole number",
        "boolean": "true or false",
        "object": "mapping",
        "array": "list",
    }.get(kind, kind)
