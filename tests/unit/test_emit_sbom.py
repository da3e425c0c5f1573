"""SBOM and provenance: only what is known, and the same for the same build."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from builder.emit.provenance import license_of, provenance, requirements, sbom, with_extra
from builder.manifest.model import Project, Upstream

REQUIRED = ["torch==2.9.1", "requests", "PyZMQ>=25", "tqdm==1.0; extra == 'x'", "tqdm==1.0", "yaml==1.*"]
ARGUMENTS = ("sample", "1.0+label", "1" * 40, "https://example.org/up.git", "2" * 40)
STATED = Upstream("https://up", {}, "seed", Project("sample", "python"))
BUILD: dict[str, Any] = {
    "builder": "0.1.0",
    "upstream": {"spec": "seed", "commit": "3" * 40, "tree": "2" * 40, "origin": "git", "version": "1.0"},
    "manifest": {"digest": "4" * 64, "statements": "7" * 64, "scope": "default", "with": [], "without": []},
    "output": {"tree": "1" * 40},
    "wheel": {"name": "sample.whl", "sha256": "5" * 64},
    "tools": {},
}


def test_only_a_version_that_is_named_is_listed() -> None:
    document = json.loads(sbom(*ARGUMENTS, REQUIRED))
    assert {part["purl"]: (part.get("version"), part["scope"]) for part in document["components"]} == {
        "pkg:pypi/pyzmq": (None, "required"),
        "pkg:pypi/requests": (None, "required"),
        "pkg:pypi/torch@2.9.1": ("2.9.1", "required"),
        "pkg:pypi/tqdm@1.0": ("1.0", "required"),
        "pkg:pypi/yaml": (None, "required"),
    }
    assert document["dependencies"][0]["dependsOn"] == [p["bom-ref"] for p in document["components"]]


def test_the_serial_number_follows_from_the_tree() -> None:
    assert sbom(*ARGUMENTS, REQUIRED) == sbom(*ARGUMENTS, REQUIRED[::-1])
    other = sbom("sample", "1.0+label", "9" * 40, *ARGUMENTS[3:], REQUIRED)
    serials = {json.loads(data)["serialNumber"] for data in (other, sbom(*ARGUMENTS, REQUIRED))}
    assert len(serials) == 2


def test_the_sbom_names_the_tree_it_came_from() -> None:
    component = json.loads(sbom(*ARGUMENTS, []))["metadata"]["component"]
    assert component["pedigree"]["ancestors"][0]["properties"] == [{"name": "git:tree", "value": "2" * 40}]
    assert component["purl"] == "pkg:pypi/sample@1.0%2Blabel"


def test_requirements_are_read_from_metadata_and_not_from_its_description() -> None:
    text = b"Name: x\nRequires-Dist: a>=1\nRequires-Dist: b; extra == 'c'\n\nRequires-Dist: not one\n"
    assert requirements(text) == ["a>=1", "b; extra == 'c'"]


def test_provenance_names_what_went_in_and_what_came_out() -> None:
    materials = {"overlays/b": "8" * 64, "manifest.yaml": "7" * 64}
    found = json.loads(provenance(BUILD, None, materials, STATED, {}, "9" * 64))
    assert found["_type"] == "https://in-toto.io/Statement/v1"
    assert found["subject"] == [
        {"name": "tree", "digest": {"gitTree": "1" * 40}},
        {"name": "sample.whl", "digest": {"sha256": "5" * 64}},
    ]
    definition = found["predicate"]["buildDefinition"]
    assert definition["resolvedDependencies"] == [
        {"uri": "git+https://up", "digest": {"gitTree": "2" * 40, "gitCommit": "3" * 40}},
        {"name": "manifest.yaml", "digest": {"sha256": "7" * 64}},
        {"name": "overlays/b", "digest": {"sha256": "8" * 64}},
    ]
    assert definition["externalParameters"] == {
        "upstream": "seed",
        "manifest": "4" * 64,
        "statements": "7" * 64,
        "scope": "default",
        "with": [],
        "without": [],
    }


def test_a_release_is_named_by_its_package_and_has_no_commit() -> None:
    release = {**BUILD["upstream"], "origin": "sdist", "version": "1.2"}
    record = {**BUILD, "upstream": release, "wheel": None}
    found = json.loads(provenance(record, None, {}, STATED, {}, "9" * 64))
    assert len(found["subject"]) == 1
    inputs = found["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert inputs == [{"uri": "pkg:pypi/sample@1.2", "digest": {"gitTree": "2" * 40}}]


def test_every_file_is_a_subject_and_the_builder_a_dependency_of_the_build() -> None:
    found = json.loads(provenance(BUILD, None, {}, STATED, {"b.json": b"x", "a.md": b"y"}, "9" * 64))
    assert [s["name"] for s in found["subject"]] == ["tree", "a.md", "b.json", "sample.whl"]
    assert found["subject"][2]["digest"] == {"sha256": hashlib.sha256(b"x").hexdigest()}
    assert found["predicate"]["runDetails"]["builder"]["builderDependencies"] == [
        {"name": "builder", "digest": {"sha256": "9" * 64}}
    ]


@pytest.mark.parametrize(
    ("project", "licence"),
    [
        ({"license": "BSD-3-Clause"}, "BSD-3-Clause"),
        ({"license": "MIT OR Apache-2.0"}, None),
        (
            {"license": {}, "classifiers": ["License :: OSI Approved :: Apache Software License"]},
            "Apache-2.0",
        ),
        ({"classifiers": ["License :: OSI Approved :: BSD License"]}, None),
        ({}, None),
    ],
)
def test_the_licence_is_the_one_that_upstream_states(project: dict[str, object], licence: str | None) -> None:
    assert license_of(project) == licence


def test_a_requirement_of_an_extra_has_it_in_its_marker() -> None:
    assert with_extra("a>=1", "") == "a>=1"
    assert with_extra("a>=1", "x") == 'a>=1; extra == "x"'
    assert with_extra("a; python_version < '3.9'", "x") == "a; (python_version < '3.9') and extra == \"x\""
