"""init: a first manifest from a tree. It keeps everything, builds green, and replaces no file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from gate_worlds import snapshot as tree
from manifest_text import schema
from small_files import FILES
from small_world import World, codes, commit_files
from upstream_repo import Repo

from builder.analysis.indexed_tree import world as world_of
from builder.errors import BuildError
from builder.manifest.load import parse
from builder.scaffold import project
from builder.scaffold.survey import Question, survey
from builder.scaffold.text import Source, manifest_text, quoted

PACKAGES = {"pkg": "pkg"}
SOURCE = Source("seed", {"commit": "0" * 40}, "https://example.org/up.git")


PROJECTS: dict[str, Any] = yaml.load(
    Path(__file__).with_name("projects.yaml").read_text("utf-8"), yaml.CSafeLoader
)


@pytest.mark.parametrize("case", PROJECTS)
def test_name_packages_and_entry_points_are_read_from_what_the_build_backend_is_told(case: str) -> None:
    stated = PROJECTS[case]
    found = project.find(tree({**stated["files"], **dict.fromkeys(stated["empty"], "")}))
    assert (found.name, found.packages) == (stated["name"], stated["packages"])
    assert list(found.entries) == stated.get("entries", [])


@pytest.mark.parametrize(
    "files", [{"a.py": ""}, {"pyproject.toml": '[project]\nname = "six"\n', "six.py": ""}]
)
def test_a_tree_without_a_package_is_refused(files: dict[str, str]) -> None:
    with pytest.raises(BuildError) as raised:
        project.find(tree(files))
    assert [problem.code for problem in raised.value.problems] == ["U001"]


@pytest.mark.parametrize(
    "text", ["[project\n", "[project]\nname = 3\nurls = 4\ndynamic = 5\n[project.scripts]\na = 1\n", "\0", ""]
)
def test_a_project_file_that_is_odd_is_no_reason_to_fail(text: str) -> None:
    files = {"setup.py": "setup(", "setup.cfg": "x\n[metadata", "pyproject.toml": text, "pkg/__init__.py": ""}
    with_name = {**files, "setup.py": "setup()\n"}
    assert project.find(tree(with_name), "pkg").packages == {"pkg": "pkg"}


def test_a_wheel_that_the_builder_cannot_make_is_left_to_the_build_backend() -> None:
    stated = '[build-system]\nbuild-backend = "setuptools.build_meta"\n[project]\nname = "pkg"\n'
    stated += '[tool.setuptools]\npackages = ["pkg"]\n'
    assert project.find(tree({"pyproject.toml": stated, "pkg/__init__.py": ""})).static
    stated += 'package-dir = {pkg = "source"}\n'
    assert not project.find(tree({"pyproject.toml": stated, "source/__init__.py": ""})).static


def test_the_address_of_the_source_is_preferred_to_the_homepage() -> None:
    urls = '[project.urls]\nHomepage = "https://h.org"\n"Source Code" = "https://s.org/x"\n'
    files = {"pyproject.toml": f'[project]\nname = "pkg"\n{urls}', "pkg/__init__.py": ""}
    assert project.find(tree(files)).repository == "https://s.org/x"
    files["pyproject.toml"] = '[tool.poetry]\nname = "pkg"\nhomepage = "https://h.org"\nversion = "1"\n'
    assert project.find(tree(files)).repository == "https://h.org"


ASKING = """\
import sys
import torch
import torch.version as tv
from typing import TYPE_CHECKING

from pkg.platform import is_npu, current

if TYPE_CHECKING:
    pass

def run(x):
    if is_npu() and not torch.version.hip:
        return 1
    if current.is_rocm() or is_npu():
        return 2
    if tv.hip is not None or sys.platform == "win32":
        return 3
    if sys.platform == x or x.is_rocm(1) or x.dtype == torch.half:
        return 4
    return [y for y in x if current.is_rocm()] if sys.platform == "linux" else None
"""


def test_the_survey_counts_what_conditions_ask() -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/platform.py": "def is_npu():\n    return False\n\n\ncurrent = None\n",
        "pkg/run.py": ASKING,
        "pkg/broken.py": "if is_npu(\n",
        "tests/test_run.py": "from pkg.platform import is_npu\n" + "if is_npu():\n    x = 1\n" * 2,
    }
    seen = survey(world_of(tree(files), PACKAGES), PACKAGES)
    assert set(seen.questions) == {
        Question("predicate", "pkg.platform.is_npu", 2),
        Question("predicate", "*.is_rocm", 2),
        Question("value", "torch.version.hip", 2),
        Question("value", "sys.platform", 2),
    }


def test_the_survey_finds_registries_imports_by_value_and_the_main_parser() -> None:
    table = "\n".join(f"class C{n}:\n    pass\n" for n in range(4))
    rows = ", ".join(f'"c{n}": C{n}' for n in range(4))
    parser = "import argparse\n\np = argparse.ArgumentParser()\n"
    files = {
        "pkg/__init__.py": "",
        "pkg/table.py": f"{table}\n\nTABLE = {{{rows}}}\n",
        "pkg/load.py": "import importlib\n\n\ndef load(n):\n    return importlib.import_module(x + n)\n",
        "pkg/args.py": parser + 'p.add_argument("--a")\np.add_argument("--b")\n',
        "pkg/tool.py": parser + 'p.add_argument("--c")\n',
    }
    seen = survey(world_of(tree(files), PACKAGES), PACKAGES)
    assert seen.registries == (("pkg.table.TABLE", 4),)
    assert seen.dynamic == (("pkg.load", "import_module() in line 5"),)
    assert (seen.parser, seen.flags) == ("pkg.args", 2)


def test_a_module_that_runs_as_a_program_has_the_flags_of_a_tool_unless_an_entry_point_names_it() -> None:
    flags = 'import argparse\n\np = argparse.ArgumentParser()\np.add_argument("--a")\n'
    program = "\n\nif __name__ == '__main__':\n    print(p)\n"
    files = {"pkg/__init__.py": "", "pkg/demo.py": flags + program}
    seen = [survey(world_of(tree(files), PACKAGES), PACKAGES, entries) for entries in ([], ["pkg.demo"])]
    assert [one.parser for one in seen] == ["", "pkg.demo"]


@pytest.mark.parametrize(
    ("files", "extras", "feature"),
    [
        (
            {"pkg/jupyter.py": "", "pkg/docs.py": "", "pkg/all.py": "X = 1\n"},
            ["docs", "no", "jupyter"],
            "jupyter",
        ),
        (
            {"pkg/a/gguf/x.py": "", "pkg/b.py": "if is_gguf_available() or is_x_available():\n    pass\n"},
            [],
            "gguf",
        ),
        ({"pkg/gguf.py": "", "pkg/b.py": "if is_gguf_available():\n    pass\n" * 6}, [], ""),
        ({f"pkg/gguf/x{n}.py": "" for n in range(13)}, ["gguf"], ""),
        ({"pkg/file.py": "", "pkg/b.py": "def run(x):\n    return 1 if x.is_file() else 2\n"}, [], ""),
        ({"pkg/available.py": "", "pkg/pkg.py": ""}, ["pkg"], ""),
    ],
    ids=["extra", "question", "asked everywhere", "many files", "question to an object", "no feature"],
)
def test_the_example_is_a_feature_with_few_files(
    files: dict[str, str], extras: list[str], feature: str
) -> None:
    defined = (
        "def is_gguf_available():\n    return False\n\n\nis_x_available = is_available = is_gguf_available\n"
    )
    imports = "from pkg.uses import is_available, is_gguf_available, is_x_available\n"
    files = {
        "pkg/__init__.py": "",
        "pkg/uses.py": defined,
        "pkg/c.py": f"{imports}if is_available():\n    pass\n",
        **{path: imports + text if "is_" in text else text for path, text in files.items()},
    }
    snapshot = tree(files)
    seen = survey(world_of(snapshot, PACKAGES), PACKAGES, extras=extras)
    assert seen.feature == feature
    found = project.find(tree({**files, "pyproject.toml": '[project]\nname = "pkg"\n'}))
    text = manifest_text(found, seen, snapshot, SOURCE)
    assert ("For example" in text) == bool(feature) and (f"words: [{feature}]" in text) == bool(feature)
    assert ": false" not in text.replace("wheel: false", "")


ODD = {
    "pyproject.toml": '[project]\nname = "pkg"\n',
    "src/pkg/__init__.py": "import importlib\n\n\ndef load(n):\n    return importlib.import_module(x + n)\n",
    "src/pkg/data/x.json": "{}\n",
    "src/other.txt": "",
    "a b/[c]*?.md": "",
    "!odd": "",
    "# comment": "",
    " lead": "",
    "yes": "",
    "1.5": "",
    "\xe4\xb6.md": "",
}


def test_the_text_is_a_valid_manifest_whatever_the_paths_are_called() -> None:
    files = tree(ODD)
    found = project.find(files)
    text = manifest_text(found, survey(world_of(files, found.packages), found.packages), files, SOURCE)
    manifest = parse(text.encode(), "manifest.yaml", {}, schema())
    assert manifest.packages == {"pkg": "src/pkg"} and manifest.roots.models == ()
    assert [edge.source for edge in manifest.roots.dynamic] == ["pkg"]
    patterns = {rule.pattern for rule in manifest.batches[0].rules}
    assert {"src/pkg/", "src/other.txt", "/pyproject.toml", "/a b/", "/?odd"} <= patterns


@pytest.mark.parametrize(
    "text", ["yes", "1.5", "null", "a: b", "#x", "", " a", "a ", "it's", '"', "-", "a\nb"]
)
def test_a_text_that_yaml_would_read_as_something_else_is_quoted(text: str) -> None:
    assert quoted(text).startswith('"') or "'" in text
    assert yaml.safe_load(f"x: {quoted(text)}") == {"x": text}


@pytest.fixture
def world(tmp_path: Path) -> World:
    """The small upstream, with a folder in which there is no manifest."""
    repository = Repo(tmp_path / "upstream.git")
    files = {
        **FILES,
        **{f"python/{path}": text.encode() for path, text in ODD.items() if path != "pyproject.toml"},
    }
    commit = commit_files(repository, files, "refs/heads/main", "refs/tags/v1")
    (tmp_path / "home").mkdir()
    return World(repository, commit, tmp_path / "home")


def test_the_first_build_keeps_everything_and_every_gate_is_green(world: World) -> None:
    done = world.good("init", str(world.repository.path), "--format", "json", SGLANG_MIRROR=None)
    said = json.loads(done.stdout)
    assert said["same"] is True and said["packages"] == {"acme": "python/acme"}
    world.good("dist", "--mirror", str(world.repository.path), SGLANG_MIRROR=None)
    built = json.loads((world.home / "dist/build.json").read_bytes())
    assert built["output"]["tree"] == built["upstream"]["tree"] == said["tree"]
    assert (world.home / "dist/upstream.diff").read_bytes() == b""


def test_init_prints_the_next_steps_as_they_are_typed(world: World) -> None:
    done = world.good("init", f"{world.repository.path}@v1", "--out", "a b.yaml", SGLANG_MIRROR=None)
    assert "every gate accepts it" in done.stderr and "is upstream's tree" in done.stderr
    line = f"python -m builder dist --manifest 'a b.yaml' --mirror {world.repository.path}\n"
    assert line in done.stderr


def test_init_replaces_no_manifest(world: World) -> None:
    world.manifest.write_text("mine\n")
    done = world.run("init", str(world.repository.path))
    assert (done.returncode, codes(done.stderr)) == (2, ["C001"])
    assert world.manifest.read_text() == "mine\n"
    assert [path.name for path in world.home.iterdir()] == ["manifest.yaml"]


@pytest.mark.parametrize(
    ("source", "status", "code"),
    [
        (".", 6, "U001"),
        ("pypi:", 2, "U002"),
        ("pypi:thing==", 2, "U002"),
        ("pypi:thing==one", 2, "U002"),
        ("pypi:thing==1.0", 6, "U001"),
    ],
)
def test_a_source_that_is_none_is_told_in_words(world: World, source: str, status: int, code: str) -> None:
    done = world.run("init", source, "--offline")
    assert (done.returncode, codes(done.stderr)) == (status, [code])
    assert not world.manifest.exists()
    assert source != "." or "or a release: `init pypi:NAME==VERSION`" in done.stderr
