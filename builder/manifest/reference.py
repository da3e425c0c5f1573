"""Generates the reference page of the manifest from the descriptions in its schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from builder.manifest.schema import TYPES
from builder.report import table
from builder.templates import filled


def markdown(schema: Mapping[str, Any]) -> str:
    """Return the page: a section for each mapping, with its keys, their types and what they mean."""
    sections = ""
    for name, one in schema.get("definitions", {}).items():
        sections += f"\n## {name}\n\n{one.get('description', '')}\n"
        sections += f"\n{_table(one, schema)}" if one.get("properties") else ""
    values = {"description": schema.get("description", ""), "keys": _table(schema, schema)}
    return filled("manifest.md", **values, sections=sections).rstrip() + "\n"


def _table(part: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    return table(("key", "value", "meaning"), _rows(part, schema, ""))


def _rows(part: Mapping[str, Any], schema: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str, str]]:
    required = set(part.get("required", ()))
    for key, stated in part.get("properties", {}).items():
        value = _shared(stated, schema)
        needed = " (required)" if key in required else ""
        meaning = _meaning(value, schema.get("definitions", {})).replace("\n", " ")
        yield f"`{prefix}{key}`{needed}", _type(value), meaning
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
