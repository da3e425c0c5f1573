from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest
from gate_worlds import PACKAGES, manifest, snapshot

from builder.analysis.indexed_tree import world
from builder.analysis.projects import projects, provided_by, requirement_name
from builder.analysis.removals import Removals
from builder.errors import Mark, Problem
from builder.gates import packaging
from builder.manifest.model import Guarantees, KeptDependency
from builder.manifest.statements import TomlEdit
from builder.pipeline.ranges import mistakes

HERE = Mark("manifest.yaml", 8, 5)

PYPROJECT = """
[project]
name = "pkg"
dependencies = ["pillow", "pyzmq>=25", "gguf", "ninja"]

[project.optional-dependencies]
trace = ["opentelemetry-sdk"]

[project.scripts]
run = "pkg.main:go"

[tool.setuptools.package-data]
pkg = ["csrc/*.cuh", "configs/*/*.json"]
"""

FILES = {
    "python/pyproject.toml": PYPROJECT,
    "python/pkg/main.py": "import zmq\nfrom PIL import Image\n\n\ndef go():\n    load('k.cuh')\n",
    "python/pkg/quant.py": "import gguf\nfrom opentelemetry.sdk.trace import T\n",
    "python/pkg/csrc/k.cuh": "",
    "python/pkg/configs/a/one.json": "{}",
}


def run(
    changes: dict[str, str | None],
    kept: tuple[str, ...] = (),
    upstream: dict[str, str] | None = None,
    given_back: tuple[TomlEdit, ...] = (),
) -> list[Problem]:
    """The findings when upstream (FILES by default) is changed; ninja and `kept` stay without an import."""
    before = snapshot(upstream or FILES)
    after = before.replace({p: None if d is None else d.encode() for p, d in changes.items()})
    reasons = tuple(KeptDependency(n, "compiles at run time", mark=HERE) for n in ("ninja", *kept))
    stated = replace(manifest(Guarantees(dependencies=reasons)), toml_given_back=given_back)
    return packaging.check(world(before, PACKAGES), world(after, PACKAGES), stated, Removals())


def edit(op: Literal["remove", "add"], key: str, value: str | None) -> TomlEdit:
    return TomlEdit("python/pyproject.toml", op, key, value, "packaging", "why", mark=HERE)


def test_a_dependency_that_a_batch_which_is_off_would_have_removed_may_stay() -> None:
    alone = edit("remove", "project.dependencies", "gguf")
    assert ["extra trace" in p.message for p in run({"python/pkg/quant.py": None}, (), None, (alone,))] == [
        True
    ]
    whole = edit("remove", "project.optional-dependencies.trace", None)
    assert run({"python/pkg/quant.py": None}, (), None, (alone, whole)) == []
    other = edit("remove", "project.optional-dependencies.trace", "gguf")
    assert len(run({"python/pkg/quant.py": None}, (), None, (other,))) == 2


def test_the_requirements_of_poetry_are_requirements() -> None:
    poetry = (
        '[tool.poetry]\nname = "pkg"\n[tool.poetry.dependencies]\npython = ">=3.10"\npillow = "*"\n'
        'pyzmq = "^25"\nninja = "*"\ngguf = {version = "*", optional = true}\nopentelemetry-sdk = "*"\n'
        '[tool.poetry.extras]\nquant = ["gguf"]\n'
    )
    upstream = {**FILES, "python/pyproject.toml": poetry}
    assert run({}, (), upstream) == []
    hints = [str(problem.hint) for problem in run({"python/pkg/quant.py": None}, (), upstream)]
    assert ["remove: tool.poetry.dependencies.gguf}" in hint for hint in hints] == [True, False, False]
    assert "remove: tool.poetry.extras.quant}" in hints[2]
    rows = ("dependencies.gguf", "dependencies.opentelemetry-sdk", "extras.quant")
    edits = tuple(edit("remove", f"tool.poetry.{row}", None) for row in rows)
    assert run({"python/pkg/quant.py": None}, (), upstream, edits) == []


def test_a_pattern_that_a_batch_which_is_off_would_have_added_is_not_asked_for() -> None:
    main = FILES["python/pkg/main.py"] + "\n\nload('z.cuh')\n"
    changes: dict[str, str | None] = {"python/pkg/main.py": main, "python/pkg/csrc/deep/z.cuh": ""}
    assert len(run(changes)) == 1
    key = "tool.setuptools.package-data.pkg"
    assert run(changes, (), None, (edit("add", key, "csrc/*/*.cuh"),)) == []
    assert len(run(changes, (), None, (edit("add", key, "csrc/*/*.h"),))) == 1


def test_a_reason_for_a_dependency_that_is_not_there_is_an_error_unless_it_is_optional() -> None:
    (problem,) = run({}, ("absent-dist",))
    assert problem.mark == HERE and "absent-dist" in problem.message
    some = Guarantees(
        dependencies=(
            KeptDependency("ninja", "w", mark=HERE),
            KeptDependency("x", "w", mark=HERE, optional="its batch may be off"),
        )
    )
    same = world(snapshot(FILES), PACKAGES)
    stated = manifest(some)
    assert mistakes(packaging.check(same, same, stated, Removals()), stated) == []


def test_globs_are_read_as_setuptools_reads_them() -> None:
    deep = "python/pkg/configs/a/b/two.json"
    tree = snapshot({**FILES, deep: "{}"})
    (project,) = projects(tree, PACKAGES)
    rows = packaging.package_files(project, tree)
    assert rows["pkg: configs/*/*.json"] == ["python/pkg/configs/a/one.json"]
    wide = snapshot(
        {**FILES, deep: "{}", "python/pyproject.toml": PYPROJECT.replace("*/*.json", "**/*.json")}
    )
    (project,) = projects(wide, PACKAGES)
    assert len(packaging.package_files(project, wide)["pkg: configs/**/*.json"]) == 2


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Torch_Memory.Saver==0.0.9", "torch-memory-saver"),
        ("llguidance>=0.7,<0.8", "llguidance"),
        ("vsa [x] ; sys_platform == 'linux'", "vsa"),
        ("st_attn ==0.0.7", "st-attn"),
        ("", ""),
    ],
)
def test_requirements_have_normalised_names(text: str, name: str) -> None:
    assert requirement_name(text) == name


@pytest.mark.parametrize(
    ("module", "distribution"),
    [
        ("PIL.Image", "pillow"),
        ("sklearn", "scikit-learn"),
        ("opentelemetry.sdk.trace", "opentelemetry-sdk"),
        ("opentelemetry.trace", "opentelemetry-api"),
        ("compressed_tensors.x", "compressed-tensors"),
        ("flashinfer", "flashinfer-python"),
    ],
)
def test_imports_know_their_distribution(module: str, distribution: str) -> None:
    assert distribution in provided_by(module)
