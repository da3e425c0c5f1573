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


def test_an_unchanged_project_has_no_findings() -> None:
    assert run({}) == []


def test_a_dependency_that_nothing_imports_any_more_is_found() -> None:
    found = run({"python/pkg/quant.py": None})
    assert [("gguf" in p.message, "extra trace" in p.message) for p in found] == [
        (True, False),
        (False, True),
    ]


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


def test_a_dependency_may_stay_for_a_reason() -> None:
    assert run({"python/pkg/quant.py": None}, ("gguf", "opentelemetry_sdk")) == []


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


def test_a_dependency_that_upstream_never_imports_needs_a_reason_too() -> None:
    same = world(snapshot(FILES), PACKAGES)
    (problem,) = packaging.check(same, same, manifest(), Removals())
    assert "the dependency 'ninja' is imported nowhere" in problem.message


def test_an_extra_of_the_project_itself_is_no_dependency() -> None:
    text = PYPROJECT.replace("[project.scripts]", 'dev = ["pkg[trace]"]\n[project.scripts]')
    assert run({"python/pyproject.toml": text}) == []


def test_an_import_by_a_constant_name_is_an_import() -> None:
    by_name = "import importlib\nm = importlib.import_module('gguf')\nfrom opentelemetry.sdk import t\n"
    assert run({"python/pkg/quant.py": by_name}) == []


def test_a_script_beside_the_package_counts_for_its_project() -> None:
    assert run({"python/pkg/quant.py": None, "python/tools/q.py": FILES["python/pkg/quant.py"]}) == []


def test_an_import_for_type_checkers_alone_is_none() -> None:
    typed = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import gguf\n"
    (problem,) = run({"python/pkg/quant.py": typed + "from opentelemetry.sdk import t\n"})
    assert "gguf" in problem.message


def test_what_our_own_files_import_must_be_provided() -> None:
    (problem,) = run(
        {"python/pkg/ours.py": "import json\nimport rich.table\n\n\ndef f():\n    import rich\n"}
    )
    assert problem.message == (
        "python/pkg/ours.py:2: rich.table is imported (and 1 more), "
        "and python/pyproject.toml depends on nothing that has it"
    )


def test_what_upstream_imports_without_a_dependency_may_stay_so() -> None:
    upstream = {**FILES, "python/pkg/opt.py": "import brings_itself\n"}
    assert run({"python/pkg/opt.py": "import brings_itself.more\n"}, upstream=upstream) == []


def test_an_import_whose_dependency_was_removed_is_found_with_its_line() -> None:
    (problem,) = run({"python/pyproject.toml": PYPROJECT.replace('"pyzmq>=25", ', "")})
    assert problem.message.startswith("python/pkg/main.py:1: zmq is imported")
    assert "pyzmq>=25" in problem.message


def test_an_import_that_may_fail_needs_no_dependency() -> None:
    tried = "try:\n    import zmq\nexcept ImportError:\n    zmq = None\nimport PIL\n\n\ndef go(): ...\n"
    less = PYPROJECT.replace('"pyzmq>=25", ', "")
    assert run({"python/pyproject.toml": less, "python/pkg/main.py": tried}) == []


def test_an_extra_of_which_nothing_is_imported_leaves_as_a_whole() -> None:
    more = PYPROJECT.replace('["opentelemetry-sdk"]', '["opentelemetry-sdk", "sentry"]')
    upstream = {**FILES, "python/pyproject.toml": more, "python/pkg/sentry.py": "import sentry\n"}
    gone = {"python/pkg/quant.py": None, "python/pkg/sentry.py": None}
    first, second = run(gone, (), upstream)
    assert "the dependency 'gguf' is imported nowhere" in first.message
    assert "dependencies 'opentelemetry-sdk', 'sentry' (extra trace) are imported nowhere" in second.message
    assert "{file: python/pyproject.toml, remove: project.optional-dependencies.trace}" in str(second.hint)
    (_, part) = run({"python/pkg/quant.py": None}, (), upstream)
    assert "trace, value: opentelemetry-sdk}" in str(part.hint)


def test_what_only_tests_imported_is_proposed_to_stay() -> None:
    upstream = {
        **FILES,
        "python/pkg/quant.py": "import opentelemetry.sdk\n",
        "python/tests/q.py": "import gguf\n",
    }
    (problem,) = run({"python/tests/q.py": None}, (), upstream)
    assert str(problem.hint).startswith(
        "no file of the packages imported it, only python/tests/q.py did: say "
    )


def test_a_console_script_must_exist() -> None:
    (problem,) = run({"python/pkg/main.py": "import zmq\nfrom PIL import Image\n"})
    assert "console script run names pkg.main:go" in problem.message
    assert "remove: project.scripts.run}" in str(problem.hint)


def test_a_package_that_makes_names_when_asked_does_not_make_the_module_of_a_script() -> None:
    upstream = {**FILES, "python/pkg/__init__.py": "def __getattr__(name): ...\n"}
    others = {"python/pkg/other.py": FILES["python/pkg/main.py"]}
    (problem,) = run({"python/pkg/main.py": None, **others}, (), upstream)
    assert "console script run names pkg.main:go" in problem.message


def test_a_data_file_that_code_names_must_be_packaged() -> None:
    changes: dict[str, str | None] = {
        "python/pkg/csrc/deep/new.cuh": '#include "k.cuh"\n',
        "python/pkg/csrc/deep/unused.cuh": "",
        "python/pkg/csrc/k.cuh": "#include <deep/new.cuh>\n",
    }
    (problem,) = run(changes)
    assert problem.message.startswith("python/pkg/csrc/deep/new.cuh is used at run time")


def test_a_file_that_only_a_test_names_need_not_be_packaged() -> None:
    named = {"python/pkg/csrc/deep/t.cuh": "", "python/pkg/unit_test.py": "x = 't.cuh'\n"}
    assert run({**named}) == []


def test_a_file_that_upstream_packs_must_stay_packed() -> None:
    (problem,) = run({"python/pyproject.toml": PYPROJECT.replace(', "configs/*/*.json"', "")})
    assert problem.message.startswith("python/pkg/configs/a/one.json is packed by upstream")


def test_a_package_data_pattern_that_lost_its_files_is_found() -> None:
    (problem,) = run({"python/pkg/configs/a/one.json": None})
    assert "'pkg: configs/*/*.json' matches nothing any more" in problem.message


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


def test_a_project_without_setuptools_decides_its_own_data() -> None:
    text = PYPROJECT[: PYPROJECT.index("[project.scripts")]
    assert run({"python/pyproject.toml": text, "python/pkg/csrc/k.cuh": '#include "x/k.cuh"'}) == []


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
