"""What is read from a tree: flags, routes, environment variables, registries, console scripts.

`surface.yaml` shows files of a package and their surface.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from gate_worlds import PACKAGES, package, snapshot
from test_gate_pages import path_of
from yaml_cases import cases

from builder.surface.extract import surface
from builder.surface.model import Expression
from builder.surface.scan import telling, telling_part


def plain(value: Any) -> Any:
    if isinstance(value, Expression):
        return {"code": value.text}
    return list(map(plain, value)) if isinstance(value, tuple) else value


@pytest.mark.parametrize("case", list(cases("surface.yaml")))
def test_the_surface_of_a_package_is_what_the_page_shows(case: Mapping[str, Any]) -> None:
    texts = {path: text.replace("THESE", case.get("these", "")) for path, text in case["files"].items()}
    items = surface(snapshot({path_of(path): text for path, text in texts.items()}), PACKAGES)
    by_name = {key.name: item for key, item in items.items()}
    details = {name: {k: plain(v) for k, v in item.details.items()} for name, item in by_name.items()}

    def names(kind: str) -> list[str]:
        return sorted(key.name for key in items if key.kind == kind)

    registries: dict[str, list[str]] = {}
    for key in items:
        if key.kind == "registry":
            registries.setdefault(key.group, []).append(key.name)
    places = {
        name: ", ".join(f"{place.qualified} {place.path}:{place.line}".strip() for place in item.places)
        for name, item in by_name.items()
    }
    conditions = {
        name: {each.test: each.holds for each in item.places[0].conditions} for name, item in by_name.items()
    }
    found = {
        "flags": {name: details[name] for name in names("flag")},
        "routes": {name: details[name].get("handler") for name in names("route")},
        "environment": names("environment"), "registries": registries, "conditions": conditions,
        "groups": {key.name: key.group for key in items},
    }  # fmt: skip
    some = {
        "details": details, "places": places,
        "origins": {name: {k: list(v) for k, v in item.origins.items()} for name, item in by_name.items()},
    }  # fmt: skip
    for part, value in case.items():
        assert found.get(part, value) == value
        for name, each in value.items() if part in some else ():
            assert some[part][name] == each


BLOCK = '''
"""Docstring.

def looks_like_code(): ...
"""
import os

PADDING = """
def inside_a_string(): ...
"""


class Long:
    def method(self):
        return """
unindented
"""


@decorate
@app.get(
    "/x"
)
def handler():
    return os.getenv("A")


try:
    import fast
except ImportError:
    B = os.getenv("B")
else:
    C = os.getenv(
        "C"
    )
''' + "\n".join(f"def filler_{i}():\n    return {i}\n\n" for i in range(40))


def test_reading_only_what_can_tell_gives_what_reading_all_gives() -> None:
    data = BLOCK.encode()
    part = telling_part(data, telling(data))
    assert len(part.strip()) < len(data) / 2
    quick = surface(package({"a.py": data}), PACKAGES)
    whole = surface(package({"a.py": data.replace(b"\n", b"\r\n")}), PACKAGES)  # these are not taken apart
    assert {k: (i.places[0].line, i.details) for k, i in quick.items()} == {
        k: (i.places[0].line, i.details) for k, i in whole.items()
    }
    assert {k.name for k in quick} == {"A", "B", "C", "GET /x"}


def test_what_looks_telling_inside_a_string_does_not_mislead() -> None:
    data = (BLOCK + '\nTEXT = """\nx = os.getenv(\'NOT_ONE\')\n"""\n').encode()
    assert telling_part(data, telling(data)) == data
    assert "NOT_ONE" not in {k.name for k in surface(package({"a.py": data}), PACKAGES)}
