"""The schema of the manifest: closed, described, and valid itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema
from manifest_text import schema


def test_the_schema_is_draft_7_and_valid() -> None:
    jsonschema.Draft7Validator.check_schema(dict(schema()))


def _mappings(node: Any, where: str = "#") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(node, dict):
        yield where, node
        for key, child in node.items():
            yield from _mappings(child, f"{where}/{key}")
    elif isinstance(node, list):
        for index, child in enumerate(node):
            yield from _mappings(child, f"{where}/{index}")


def test_every_mapping_of_the_schema_is_closed() -> None:
    for where, node in _mappings(schema()):
        kinds = node.get("type", [])
        if "object" in ([kinds] if isinstance(kinds, str) else kinds):
            assert "additionalProperties" in node, where
            assert node["additionalProperties"] is not True, where


def test_every_field_of_the_schema_has_a_description() -> None:
    for where, node in _mappings(schema()):
        if not where.endswith("/properties"):
            continue
        for name, field in node.items():
            target: Any = schema() if "$ref" in field else field
            for step in field["$ref"].split("/")[1:] if "$ref" in field else ():
                target = target[step]
            assert target.get("description"), f"{where}/{name}"
