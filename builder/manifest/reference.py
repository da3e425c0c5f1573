"""The reference page of the manifest, made from the descriptions in its schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_HEAD = """# The manifest

<!-- Made by `python -m builder schema --reference` from schema/manifest.schema.json: edit that. -->
"""


def markdown(schema: Mapping[str, Any]) -> str:
    """One section a mapping: its keys, their types and what they mean."""
    definitions: Mapping[str, Any] = schema.get("definitions", {})
    parts = [_HEAD, schema.get("description", ""), "", *_table(schema)]
    for name, definition in definitions.items():
        parts += ["", f"## {name}", "", definition.get("description", "")]
        if definition.get("properties"):
            parts += ["", *_table(definition)]
    return "\n".join(parts).rstrip() + "\n"


def _table(schema: Mapping[str, Any]) -> Iterator[str]:
    required = set(schema.get("required", ()))
    yield "| key | value | meaning |"
    yield "| --- | --- | --- |"
    for key, value in schema.get("properties", {}).items():
        needed = " (required)" if key in required else ""
        meaning = str(value.get("description", "")).replace("|", "\\|").replace("\n", " ")
        yield f"| `{key}`{needed} | {_type(value)} | {meaning} |"


def _type(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return ", ".join(f"`{v}`" for v in schema["enum"])
    kind = schema.get("type")
    if kind == "array" and isinstance(schema.get("items"), Mapping):
        return f"list of {_type(schema['items'])}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return f"mapping to {_type(schema['additionalProperties'])}"
    if isinstance(kind, list):
        return " or ".join(kind)
    return str(kind or "any")
