from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import Any

import pytest
from gate_worlds import PACKAGES, package, snapshot
from hypothesis import given
from hypothesis import strategies as st
from yaml_cases import cases

from builder.graph import modules
from builder.graph.modules import Summary, known_of, summaries, summarise
from builder.graph.names import module_of


def scan(text: str | bytes, path: str = "python/pkg/sub/mod.py") -> Summary:
    data = text.encode() if isinstance(text, str) else text
    return summarise(data, path, module_of(path, PACKAGES) or "", ("pkg",))


@pytest.mark.parametrize("case", list(cases("modules.yaml")))
def test_a_summary_says_what_the_page_shows(case: Mapping[str, Any]) -> None:
    body = "TABLE = {'a': 'pkg.a'}\ndef f(self, name):\n    "
    found = scan(case.get("text", f"{body}{case.get('body')}\n"), case.get("path", "python/pkg/sub/mod.py"))
    assert found.error is None
    said = {
        "kinds": {i.target: [i.kind, i.tried] for i in found.imports},
        "imports": [[i.target, i.name, i.line] for i in found.imports],
        "names": {name: d.kind for name, d in found.names.items()},
        "lines": {name: d.line for name, d in found.names.items()},
        "definitions": sorted(found.definitions),
        "members": {name: d.line for name, d in found.members.items()},
        "attributes": {name: sorted(stored) for name, stored in found.attributes.items()},
        "stores": sorted(found.stores),
        "bases": {name: list(bases) for name, bases in found.bases.items()},
        "exports": found.exports and list(found.exports),
        "dynamic": [[d.line, d.call, d.argument] for d in found.dynamic],
        "calls": sorted(d.call for d in found.dynamic),
        "references": [[r.name, r.line] for r in found.references],
        "open": found.open,
    }
    assert {key: value for key, value in said.items() if key in case} == {
        key: value for key, value in case.items() if key in said
    }


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("python/pkg/a/b.py", "pkg.a.b"),
        ("python/pkg/a/__init__.py", "pkg.a"),
        ("python/pkg/__init__.py", "pkg"),
        ("python/pkg/a/b.pyi", None),
        ("python/pkgs/a.py", None),
        ("setup.py", None),
    ],
)
def test_a_path_is_a_module_only_inside_a_package(path: str, module: str | None) -> None:
    assert module_of(path, PACKAGES) == module


@pytest.mark.parametrize("data", [b"def f(:\n", b"x = '\0'\n", b"\xff\xfe", b"(" * 5000 + b")" * 5000])
def test_bad_source_is_an_error_value_and_not_an_exception(data: bytes) -> None:
    found = scan(data)
    assert found.error is not None
    assert found.error[1]


@given(
    st.one_of(st.binary(max_size=60), st.text("def class x.:=(),'\\n\\t*@#\\\\", max_size=40).map(str.encode))
)
def test_no_bytes_make_summarise_raise(data: bytes) -> None:
    found = scan(data)
    assert (found.error is None) or found.names == {}


def test_invalid_escapes_of_upstream_do_not_warn() -> None:
    found = summaries(package({"a.py": "x = '\\d'\n"}), PACKAGES)
    assert found["python/pkg/a.py"].error is None


def test_summaries_survive_pickling() -> None:
    found = scan("from a import b\nclass C:\n    x = 1\n")
    assert pickle.loads(pickle.dumps(found)) == found


def test_known_summaries_are_not_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = package({"a.py": "x = 1\n", "b.py": "y = 1\n"})
    first = summaries(tree, PACKAGES)
    monkeypatch.setattr(modules, "summarise", lambda data, path, *more: pytest.fail(path))
    assert summaries(tree, PACKAGES, known=known_of(tree, first)) == first


def test_files_outside_the_packages_are_summarised_without_a_module() -> None:
    found = summaries(snapshot({"tools/run.py": "import pkg.a\n", "notes.txt": "x"}), PACKAGES)
    assert list(found) == ["tools/run.py"]
    assert found["tools/run.py"].module == ""
